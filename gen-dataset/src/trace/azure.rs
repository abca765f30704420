//! Azure's CSV files (`Azure/AzurePublicDataset`, `AzureLLMInferenceTrace_*`).

use csv::{ReaderBuilder, StringRecord, Trim};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use super::request::Request;

/// The columns read; others may stand beside them.
pub(super) const COLUMNS: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

/// Where the three columns stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns([usize; 3]);

impl Columns {
    /// Finds them in a header.
    pub(super) fn of(header: &str) -> Result<Self, String> {
        let fields = split(header)?;
        let mut places = [0; 3];
        for (place, name) in places.iter_mut().zip(COLUMNS) {
            *place = fields.iter().position(|field| field == name).ok_or_else(|| {
                format!("no column `{name}`; the file must start with the header {}", COLUMNS.join(","))
            })?;
        }
        Ok(Self(places))
    }

    /// Reads a line below the header.
    pub(super) fn request(self, line: &str) -> Result<Request, String> {
        let fields = split(line)?;
        let field = |column: usize| {
            fields
                .get(self.0[column])
                .ok_or_else(|| format!("no `{}`; the line is too short", COLUMNS[column]))
        };
        let count = |column: usize| {
            let text = field(column)?;
            text.parse::<u64>().map_err(|_| {
                format!("`{}` is {text:?}; it must be a whole number of tokens", COLUMNS[column])
            })
        };
        Ok(Request { us: micros(field(0)?)?, input: count(1)?, output: count(2)?, ids: None })
    }
}

/// The fields of one line: the format has no line breaks within them.
fn split(line: &str) -> Result<StringRecord, String> {
    let mut fields = StringRecord::new();
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .trim(Trim::All)
        .buffer_capacity(line.len().max(1))
        .from_reader(line.as_bytes());
    reader.read_record(&mut fields).map_err(|error| format!("not CSV: {error}"))?;
    Ok(fields)
}

/// µs since 1970, half a one rounded up. Without an offset, the time is UTC.
fn micros(text: &str) -> Result<i64, String> {
    let utc = |time: DateTime| TimeZone::UTC.to_timestamp(time);
    let time: Timestamp = text.parse().or_else(|_| text.parse().and_then(utc)).map_err(|_| {
        format!("`TIMESTAMP` is {text:?}; it must be a time such as 2023-11-16 18:15:46.6805900")
    })?;
    Ok((time.as_nanosecond() + 500).div_euclid(1000) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_both_years_are_read() {
        for (text, us) in [
            ("1970-01-01 00:00:00", 0),
            ("1970-01-01 00:00:01.0000014", 1_000_001),
            ("1970-01-01 00:00:01.0000015", 1_000_002),
            ("1970-01-01 00:00:01.000001499", 1_000_001),
            ("1969-12-31 23:59:59.9999995", 0),
            ("2023-11-16 18:15:46.6805900", 1_700_158_546_680_590),
            ("2024-05-10 00:00:00.009930+00:00", 1_715_299_200_009_930),
            ("2024-05-10 02:00:00+02:00", 1_715_299_200_000_000),
            ("2024-05-10T00:00:00Z", 1_715_299_200_000_000),
        ] {
            assert_eq!(micros(text), Ok(us), "{text}");
        }
        for text in ["", "18:15", "1700158546", "2023-13-01 00:00:00", "2023-11-16 25:00:00"] {
            assert!(micros(text).is_err(), "{text}");
        }
    }

    #[test]
    fn columns_are_found_by_name() {
        let columns = Columns::of("GeneratedTokens,\"TIMESTAMP\", model ,ContextTokens").unwrap();
        let request = columns.request("52,1970-01-01 00:00:02,\"a,b\",6955").unwrap();
        assert_eq!(request, Request { us: 2_000_000, input: 6955, output: 52, ids: None });
        let error = Columns::of("Timestamp,Request tokens").unwrap_err();
        assert!(error.starts_with("no column `TIMESTAMP`"), "{error}");
    }

    #[test]
    fn problems_name_the_column() {
        let columns = Columns::of("TIMESTAMP,ContextTokens,GeneratedTokens").unwrap();
        for (line, problem) in [
            ("1970-01-01 00:00:02,5", "no `GeneratedTokens`"),
            ("yesterday,5,5", "`TIMESTAMP` is \"yesterday\""),
            ("1970-01-01 00:00:02,-5,5", "`ContextTokens` is \"-5\""),
            ("1970-01-01 00:00:02,5,", "`GeneratedTokens` is \"\""),
        ] {
            let error = columns.request(line).unwrap_err();
            assert!(error.starts_with(problem), "{line}: {error}");
        }
    }
}
