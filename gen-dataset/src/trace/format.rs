//! The formats of traces.

use clap::ValueEnum;
use records::{Lines, Result};

use super::{
    azure::{COLUMNS, Columns},
    mooncake,
    request::Request,
};

/// How a trace is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// JSON lines with `timestamp`, `input_length`, `output_length` and `hash_ids`
    Mooncake,
    /// CSV with `TIMESTAMP`, `ContextTokens` and `GeneratedTokens`
    Azure,
}

/// Reads lines of one format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// [`Format::Mooncake`]
    Mooncake,
    /// [`Format::Azure`], by its header.
    Azure(Columns),
}

impl Reader {
    /// By the first line, unless the format is `given`; takes a header from `lines`.
    pub(super) fn of(lines: &mut Lines, given: Option<Format>) -> Result<Self> {
        let Some(line) = lines.peek_line()? else { return Ok(Self::Mooncake) };
        let number = line.number;
        let reader = match given.or_else(|| told_by(line.text)) {
            Some(Format::Mooncake) => return Ok(Self::Mooncake),
            Some(Format::Azure) => Columns::of(line.text).map(Self::Azure),
            None => Err(format!(
                "neither a JSON object, as in Mooncake's traces, nor the header of Azure's ({}); if it is one of them, \
                 put that right",
                COLUMNS.join(",")
            )),
        };
        let reader = reader.map_err(|problem| lines.error(number, problem))?;
        lines.next_line()?;
        Ok(reader)
    }

    /// The request of a line.
    pub(super) fn request(self, line: &str) -> std::result::Result<Request, String> {
        match self {
            Self::Mooncake => mooncake::request(line),
            Self::Azure(columns) => columns.request(line),
        }
    }

    /// The field that holds the time, and a command that sorts by it.
    pub(super) fn time(self) -> (&'static str, &'static str) {
        match self {
            Self::Mooncake => ("timestamp", "jq -sc 'sort_by(.timestamp)[]'"),
            Self::Azure(_) => ("TIMESTAMP", "(read -r header; echo \"$header\"; sort)"),
        }
    }
}

fn told_by(first: &str) -> Option<Format> {
    if first.starts_with('{') {
        Some(Format::Mooncake)
    } else if COLUMNS.iter().any(|column| first.contains(column)) {
        Some(Format::Azure)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(text: &'static str, given: Option<Format>) -> Result<Reader> {
        Reader::of(&mut Lines::new("t", Box::new(text.as_bytes())), given)
    }

    #[test]
    fn the_first_line_tells() {
        let header = "\u{FEFF}TIMESTAMP,ContextTokens,GeneratedTokens\r\n";
        assert_eq!(reader("\n {\"timestamp\":0}\n", None).unwrap(), Reader::Mooncake);
        assert_eq!(reader("", None).unwrap(), Reader::Mooncake);
        assert!(matches!(reader(header, None).unwrap(), Reader::Azure(_)));
        assert_eq!(reader(header, Some(Format::Mooncake)).unwrap(), Reader::Mooncake);
        for (text, given, problem) in [
            ("Timestamp,Model\n", None, "t:1: neither a JSON object"),
            ("TIMESTAMP,ContextTokens\n", None, "t:1: no column `GeneratedTokens`"),
            ("{}\n", Some(Format::Azure), "t:1: no column `TIMESTAMP`"),
        ] {
            let error = reader(text, given).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
