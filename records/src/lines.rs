//! Lines of input, each with its position.

use std::io::BufRead;

use crate::{AnyRecord, Error, Result};

/// Splits input at LF, and at nothing else: U+2028 and its kin may stand inside a JSON string.
///
/// Takes CRLF ends, skips blank lines and a byte order mark, and keeps one line in memory.
pub struct Lines {
    file: String,
    reader: Box<dyn BufRead + Send>,
    buffer: Vec<u8>,
    number: u64,
    peeked: bool,
}

/// A line that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from 1.
    pub number: u64,
    /// Without its end.
    pub text: &'a str,
    /// Whether a newline ended it. The last line of a file whose writer was killed has none.
    pub complete: bool,
}

impl Lines {
    /// Reads `reader`, calling it `file` in errors.
    pub fn new(file: impl Into<String>, reader: Box<dyn BufRead + Send>) -> Self {
        Self { file: file.into(), reader, buffer: Vec::new(), number: 0, peeked: false }
    }

    /// The name used in errors.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// An error at line `number`.
    pub fn error(&self, number: u64, problem: impl Into<String>) -> Error {
        Error::Line { file: self.file.clone(), line: number, problem: problem.into() }
    }

    /// The next line that is not blank; `None` at the end.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        let found = self.fill()?;
        self.peeked = false;
        if found { self.line().map(Some) } else { Ok(None) }
    }

    /// The line that [`Lines::next_line`] will give, without taking it: what kind of input is this?
    pub fn peek_line(&mut self) -> Result<Option<Line<'_>>> {
        self.peeked = self.fill()?;
        if self.peeked { self.line().map(Some) } else { Ok(None) }
    }

    /// Holds the next line that is not blank in the buffer; false at the end.
    fn fill(&mut self) -> Result<bool> {
        if self.peeked {
            return Ok(true);
        }
        loop {
            self.buffer.clear();
            let read = self.reader.read_until(b'\n', &mut self.buffer);
            if read.map_err(|source| Error::read(&self.file, source))? == 0 {
                return Ok(false);
            }
            self.number += 1;
            if !trimmed(&self.buffer, self.number).is_empty() {
                return Ok(true);
            }
        }
    }

    fn line(&self) -> Result<Line<'_>> {
        let (number, complete) = (self.number, self.buffer.ends_with(b"\n"));
        match std::str::from_utf8(trimmed(&self.buffer, number)) {
            Ok(text) => Ok(Line { number, text, complete }),
            Err(_) => Err(Error::Line {
                file: self.file.clone(),
                line: number,
                problem: "not UTF-8; convert it (iconv -t UTF-8)".to_owned(),
            }),
        }
    }

    /// The next record, with its line number; `None` at the end.
    ///
    /// A last line without a newline that cannot be read is what a killed writer leaves: it is dropped with a
    /// warning, pushed to `warnings`. Any other line that cannot be read is an error.
    pub fn next_record(&mut self, warnings: &mut Vec<String>) -> Result<Option<(u64, AnyRecord)>> {
        let Some(line) = self.next_line()? else { return Ok(None) };
        let (number, complete) = (line.number, line.complete);
        match AnyRecord::from_line(line.text) {
            Ok(record) => Ok(Some((number, record))),
            Err(_) if !complete => {
                warnings.push(format!("{}:{number}: the last line is torn and was left out", self.file));
                Ok(None)
            }
            Err(problem) => Err(self.error(number, problem)),
        }
    }
}

fn trimmed(line: &[u8], number: u64) -> &[u8] {
    let line = if number == 1 { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) } else { line };
    line.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &'static str) -> Lines {
        Lines::new("rows.jsonl", Box::new(text.as_bytes()))
    }

    #[test]
    fn splits_at_line_feeds_alone() {
        let mut lines = lines("\u{FEFF}{\"a\":\"x\u{2028}y\u{85}\"}\r\n\n  \n{\"b\":1}");
        let first = lines.next_line().unwrap().unwrap();
        assert_eq!(first, Line { number: 1, text: "{\"a\":\"x\u{2028}y\u{85}\"}", complete: true });
        let last = lines.next_line().unwrap().unwrap();
        assert_eq!(last, Line { number: 4, text: "{\"b\":1}", complete: false });
        assert_eq!(lines.next_line().unwrap(), None);
    }

    #[test]
    fn a_peeked_line_is_still_the_next() {
        let mut lines = lines("\n{\"a\":1}\n{\"b\":2}\n");
        for _ in 0..2 {
            assert_eq!(lines.peek_line().unwrap().unwrap().text, "{\"a\":1}");
        }
        let first = lines.next_line().unwrap().unwrap();
        assert_eq!((first.number, first.text), (2, "{\"a\":1}"));
        assert_eq!(lines.next_line().unwrap().unwrap().text, "{\"b\":2}");
        assert_eq!(lines.peek_line().unwrap(), None);
        assert_eq!(lines.next_line().unwrap(), None);
    }

    #[test]
    fn a_torn_last_line_is_a_warning() {
        let mut lines = lines("{\"kind\":\"timing\",\"outcome\":\"ok\"}\n{\"kind\":\"tim");
        let mut warnings = Vec::new();
        assert!(lines.next_record(&mut warnings).unwrap().is_some());
        assert!(lines.next_record(&mut warnings).unwrap().is_none());
        assert_eq!(warnings, ["rows.jsonl:2: the last line is torn and was left out"]);
    }

    #[test]
    fn a_broken_line_elsewhere_is_an_error_with_its_place() {
        for (text, problem) in [
            ("{\"kind\":\"tim\n", "rows.jsonl:1: not JSON: EOF while parsing a string (column 12)"),
            (
                "{\"kind\":\"timing\",\"outcome\":\"ok\"}{\"kind\":\"timing\"}\n",
                "rows.jsonl:1: more follows the first JSON value at column 33; put each object on a line of its own",
            ),
            ("[1]\n", "rows.jsonl:1: not a JSON object; each line must hold one"),
            (
                "{\"kind\":\"timing\",\"v\":7,\"outcome\":\"ok\"}\n",
                "rows.jsonl:1: `v` is 7, but this tool knows timing records up to version 1; use a newer release of it",
            ),
            (
                "{\"kind\":\"timing\",\"outcome\":\"ok\",\"events\":\"cc\",\"events_us\":[1]}\n",
                "rows.jsonl:1: `events` has 2 letters but `events_us` 1 times; one each an event",
            ),
            (
                "{\"kind\":\"timing\",\"outcome\":\"ok\",\"ttft_us\":-5}\n",
                "rows.jsonl:1: `ttft_us` is -5; a duration cannot be negative",
            ),
            (
                "{\"kind\":\"timing\",\"outcome\":\"ok\",\"ttft_us\":9,\"e2e_us\":5}\n",
                "rows.jsonl:1: `e2e_us` 5 is below `ttft_us` 9; the first token cannot follow the last",
            ),
            (
                "{\"kind\":\"timing\",\"outcome\":\"ok\",\"events\":\"cc\",\"events_us\":[9,5]}\n",
                "rows.jsonl:1: `events_us` goes back from 9 to 5; events are in the order of their arrival",
            ),
            (
                "{\"kind\":\"timing\",\"outcome\":\"ok\",\"ttft_us\":\"fast\"}\n",
                "rows.jsonl:1: invalid type: string \"fast\", expected f64 (column 48)",
            ),
        ] {
            assert_eq!(lines(text).next_record(&mut Vec::new()).unwrap_err().to_string(), problem);
        }
    }
}
