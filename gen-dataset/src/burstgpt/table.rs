//! The CSV of a `BurstGPT` trace.

use std::io::{Chain, Read};

use csv::{ErrorKind, Reader, StringRecord, Terminator, Trim};
use records::{Error, Result};

use crate::{BurstGptArgs, args::MOST_TOKENS, decimal};

/// What is taken of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Request {
    pub(super) input: u64,
    pub(super) output: u64,
    /// µs since the first request that is taken.
    pub(super) at: Option<u64>,
}

/// The lines of a trace that pass the filters.
pub(super) struct Table<'f, R> {
    file: &'f str,
    rows: Reader<Chain<R, &'static [u8]>>,
    header: StringRecord,
    record: StringRecord,
    timestamp: usize,
    input: usize,
    output: usize,
    filters: Vec<Filter>,
    arrivals: bool,
    first: Option<u64>,
    last: Option<u64>,
    /// Requests without tokens, so far.
    pub(super) skipped: u64,
    passed: u64,
    filtered: u64,
}

/// What the cells of a column have to be.
struct Filter {
    flag: &'static str,
    column: usize,
    value: String,
}

impl<'f, R: Read> Table<'f, R> {
    /// Reads the header. `file` is the name for errors.
    pub(super) fn new(file: &'f str, reader: R, args: &BurstGptArgs) -> Result<Self> {
        // Each line ends with a line feed, the last one too, so that it is known how many have been read.
        let mut rows = csv::ReaderBuilder::new()
            .terminator(Terminator::Any(b'\n'))
            .flexible(true)
            .trim(Trim::All)
            .from_reader(reader.chain(&b"\n"[..]));
        let header = rows.headers().map_err(|error| unreadable(file, 1, error))?.clone();
        let column = |name: &str| {
            header.iter().position(|column| column.trim_start_matches('\u{FEFF}') == name).ok_or_else(|| {
                Error::usage(format!(
                    "{file}: no column `{name}`; is it a BurstGPT trace? its first line is the header"
                ))
            })
        };
        let wanted = [("--model", "Model", &args.model), ("--log-type", "Log Type", &args.log_type)];
        let filters = wanted.into_iter().filter_map(|(flag, name, value)| Some((flag, name, value.clone()?)));
        let filters = filters.map(|(flag, name, value)| Ok(Filter { flag, column: column(name)?, value }));
        Ok(Self {
            timestamp: if args.arrivals { column("Timestamp")? } else { 0 },
            input: column("Request tokens")?,
            output: column("Response tokens")?,
            filters: filters.collect::<Result<_>>()?,
            arrivals: args.arrivals,
            file,
            rows,
            header: header.clone(),
            record: StringRecord::new(),
            first: None,
            last: None,
            skipped: 0,
            passed: 0,
            filtered: 0,
        })
    }

    /// The next request that passes; those without tokens are counted.
    pub(super) fn next(&mut self) -> Result<Option<Request>> {
        while self.read()? {
            if self.filters.iter().any(|filter| self.record[filter.column] != filter.value) {
                self.filtered += 1;
                continue;
            }
            self.passed += 1;
            let request =
                Request { input: self.count(self.input)?, output: self.count(self.output)?, at: None };
            if request.input == 0 || request.output == 0 {
                self.skipped += 1;
                continue;
            }
            let at = if self.arrivals { Some(self.arrival()?) } else { None };
            return Ok(Some(Request { at, ..request }));
        }
        Ok(None)
    }

    /// Reads the next line that is not blank.
    fn read(&mut self) -> Result<bool> {
        loop {
            let read = self.rows.read_record(&mut self.record);
            if !read.map_err(|error| unreadable(self.file, self.line(), error))? {
                return Ok(false);
            }
            let (columns, expected) = (self.record.len(), self.header.len());
            if columns == expected {
                return Ok(true);
            }
            if self.record.iter().any(|cell| !cell.is_empty()) {
                return Err(self.fault(format!(
                    "{columns} columns where the header has {expected}; complete the line or remove it"
                )));
            }
        }
    }

    /// The number of the line that was read last.
    fn line(&self) -> u64 {
        self.rows.position().line() - 1
    }

    fn count(&self, column: usize) -> Result<u64> {
        let cell = &self.record[column];
        match cell.parse() {
            Ok(count) if count <= MOST_TOKENS => Ok(count),
            Ok(count) => Err(self.wrong(column, &format!("{count} tokens are more than {MOST_TOKENS}"))),
            Err(_) => Err(self.wrong(column, &format!("`{cell}` is no number of tokens"))),
        }
    }

    /// The time since the first request that was taken.
    fn arrival(&mut self) -> Result<u64> {
        let cell = &self.record[self.timestamp];
        let time = decimal::scaled(cell, 6)
            .ok_or_else(|| self.wrong(self.timestamp, &format!("`{cell}` is no number of seconds")))?;
        if self.last.is_some_and(|last| time < last) {
            return Err(self.wrong(
                self.timestamp,
                &format!("{cell} is earlier than the line before; sort the file by it"),
            ));
        }
        self.last = Some(time);
        Ok(time - *self.first.get_or_insert(time))
    }

    /// What to say if the filters, being exact, kept every request away.
    pub(super) fn none_left(&self) -> Option<String> {
        let flags: Vec<String> =
            self.filters.iter().map(|filter| format!("{} '{}'", filter.flag, filter.value)).collect();
        (self.passed == 0 && self.filtered > 0)
            .then(|| format!("{}: none of {} requests has {}", self.file, self.filtered, flags.join(" and ")))
    }

    fn wrong(&self, column: usize, problem: &str) -> Error {
        self.fault(format!("column `{}`: {problem}", &self.header[column]))
    }

    fn fault(&self, problem: String) -> Error {
        Error::Line { file: self.file.to_owned(), line: self.line(), problem }
    }
}

fn unreadable(file: &str, line: u64, error: csv::Error) -> Error {
    let problem = match error.into_kind() {
        ErrorKind::Io(source) => return Error::read(file, source),
        ErrorKind::Utf8 { .. } => "not UTF-8; convert it (iconv -t UTF-8)".to_owned(),
        other => format!("not CSV: {other:?}"),
    };
    Error::Line { file: file.to_owned(), line, problem }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{Args, Command, Dataset};

    const HEADER: &str = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type";

    /// All requests of a trace with these flags, and what is said if there are none.
    fn requests(flags: &[&str], text: &[u8]) -> Result<(Vec<Request>, Option<String>)> {
        let args = Args::parse_from(["gen-dataset", "burstgpt"].iter().chain(flags));
        let Command::Dataset(Dataset::Burstgpt(args)) = args.command else { panic!("not burstgpt") };
        let mut table = Table::new("f", text, &args)?;
        let all = std::iter::from_fn(|| table.next().transpose()).collect::<Result<_>>()?;
        Ok((all, table.none_left()))
    }

    #[test]
    fn columns_go_by_name_and_times_are_exact() {
        let header = "Log Type,Elapsed time,Response tokens,Session ID,Timestamp,Request tokens,Model";
        let text = format!(
            "\u{FEFF}{header}\r\nAPI log,3.2,9,,19440110.0,4,GPT-4\r\n\r\nAPI log,,0,,19440110.1,4,GPT-4\r\n\
             API log,1,8,,19440110.123457,5,GPT-4\r\n"
        );
        let (all, _) = requests(&["--arrivals"], text.as_bytes()).unwrap();
        let request = |input, output, at| Request { input, output, at: Some(at) };
        assert_eq!(all, [request(4, 9, 0), request(5, 8, 123_457)]);
    }

    #[test]
    fn filters_are_exact_and_say_so_if_nothing_is_left() {
        let text = format!("{HEADER}\n5,ChatGPT,3,4,7,Conversation log\n6,GPT-4,5,6,11,API log\n");
        for (flags, inputs, said) in [
            (&["--model", "GPT-4"][..], &[5][..], None),
            (&["--log-type", "Conversation log"], &[3], None),
            (&["--model", "gpt-4"], &[], Some("f: none of 2 requests has --model 'gpt-4'")),
            (
                &["--model", "GPT-4", "--log-type", "x"],
                &[],
                Some("f: none of 2 requests has --model 'GPT-4' and --log-type 'x'"),
            ),
        ] {
            let (all, none_left) = requests(flags, text.as_bytes()).unwrap();
            assert_eq!(all.iter().map(|request| request.input).collect::<Vec<_>>(), inputs, "{flags:?}");
            assert_eq!(none_left.as_deref(), said, "{flags:?}");
        }
    }

    #[test]
    fn faults_name_their_line() {
        for (line, message) in [
            (&b"\n5,ChatGPT,472,18"[..], "f:3: 4 columns where the header has 6"),
            (b"5,Chat\xff,4,9,13,x", "f:2: not UTF-8"),
            (
                b"5,x,99999999999,9,13,x",
                "f:2: column `Request tokens`: 99999999999 tokens are more than 16777216",
            ),
            (b"5,x,4,99999999999,13,x", "f:2: column `Response tokens`: 99999999999 tokens are more than"),
            (b"\n5,x,4,-1,13,x", "f:3: column `Response tokens`: `-1` is no number of tokens"),
            (b"soon,x,4,9,13,x", "f:2: column `Timestamp`: `soon` is no number of seconds"),
        ] {
            let text = [HEADER.as_bytes(), b"\n", line].concat();
            let marked: Vec<u8> = text
                .iter()
                .flat_map(|&byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] })
                .collect();
            for text in [[&text, &b"\n"[..]].concat(), marked, text] {
                let error = requests(&["--arrivals"], &text).unwrap_err().to_string();
                assert!(error.starts_with(message), "{error}");
            }
        }
    }
}
