//! Azure's traces: `AzureLLMInferenceTrace_*.csv` of github.com/Azure/AzurePublicDataset, of 2023 and 2024.

use std::io::BufRead;

use csv::{Reader, StringRecord};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use records::{Error, Result};

use super::{Entries, Entry};

const COLUMNS: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

/// A table.
pub(super) struct Azure {
    file: String,
    rows: Reader<Box<dyn BufRead + Send>>,
    record: StringRecord,
    /// Places of [`COLUMNS`].
    places: [usize; 3],
}

impl Azure {
    /// Reads the header.
    pub(super) fn new(file: &str, reader: Box<dyn BufRead + Send>) -> Result<Self> {
        let mut rows = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(reader);
        let header = rows.headers().map_err(|error| unreadable(file, &error))?;
        let mut places = [0; 3];
        for (place, name) in places.iter_mut().zip(COLUMNS) {
            let found = header.iter().position(|column| column.trim_start_matches('\u{FEFF}') == name);
            *place = found.ok_or_else(|| {
                Error::usage(format!(
                    "{file}: no column `{name}`; an Azure trace has the header {}",
                    COLUMNS.join(",")
                ))
            })?;
        }
        Ok(Self { file: file.to_owned(), rows, record: StringRecord::new(), places })
    }

    /// A cell, read by `read`.
    fn cell<T>(&self, column: usize, read: impl Fn(&str) -> Option<T>) -> Result<T> {
        let cell = &self.record[self.places[column]];
        read(cell).ok_or_else(|| Error::Line {
            file: self.file.clone(),
            line: self.line(),
            problem: format!("column `{}`: `{cell}` cannot be read", COLUMNS[column]),
        })
    }

    fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }
}

impl Entries for Azure {
    fn next(&mut self) -> Result<Option<Entry>> {
        if !self.rows.read_record(&mut self.record).map_err(|error| unreadable(&self.file, &error))? {
            return Ok(None);
        }
        Ok(Some(Entry {
            line: self.line(),
            at: self.cell(0, nanos)?,
            input: self.cell(1, |cell| cell.parse().ok())?,
            output: self.cell(2, |cell| cell.parse().ok())?,
            hashes: Vec::new(),
        }))
    }
}

fn unreadable(file: &str, error: &csv::Error) -> Error {
    Error::usage(format!("{file}: {error}"))
}

/// A date and time, in UTC unless it says otherwise, in ns since 1970.
fn nanos(text: &str) -> Option<i64> {
    let time = match text.parse::<Timestamp>() {
        Ok(time) => time,
        Err(_) => TimeZone::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok()?,
    };
    i64::try_from(time.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_both_years_are_read() {
        let start = nanos("2023-11-16 18:15:46.6805900").unwrap();
        for (text, since) in [
            ("2023-11-16 18:15:46.680590", 0),
            ("2023-11-16 18:15:47", 319_410_000),
            ("2023-11-16 18:15:46.680591+00:00", 1_000),
            ("2023-11-16T19:15:46.6805907+01:00", 700),
        ] {
            assert_eq!(nanos(text).map(|time| time - start), Some(since), "{text}");
        }
        assert_eq!(nanos("yesterday"), None);
    }
}
