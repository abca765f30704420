//! Mooncake's traces: `FAST25-release/traces` and `mooncake_trace.jsonl` of github.com/kvcache-ai/Mooncake.

use records::{Lines, Result};
use serde::Deserialize;

use super::{Entries, Entry};

/// Nanoseconds in a millisecond.
const MS: f64 = 1e6;

/// JSON lines.
pub(super) struct Mooncake(Lines);

#[derive(Deserialize)]
struct Row {
    /// In ms.
    timestamp: f64,
    input_length: u64,
    output_length: u64,
    #[serde(default)]
    hash_ids: Vec<u64>,
}

impl Mooncake {
    pub(super) fn new(lines: Lines) -> Self {
        Self(lines)
    }
}

impl Entries for Mooncake {
    fn next(&mut self) -> Result<Option<Entry>> {
        let Some(line) = self.0.next_line()? else { return Ok(None) };
        let number = line.number;
        match entry(number, line.text) {
            Ok(entry) => Ok(Some(entry)),
            Err(problem) => Err(self.0.error(number, problem)),
        }
    }
}

fn entry(line: u64, text: &str) -> std::result::Result<Entry, String> {
    let row: Row = serde_json::from_str(text).map_err(|error| {
        format!("not a row of a Mooncake trace: {error}; for another format, see --format")
    })?;
    if !(0.0..1e12).contains(&row.timestamp) {
        return Err(format!("`timestamp` is {}, no time in ms", row.timestamp));
    }
    Ok(Entry {
        line,
        at: (row.timestamp * MS).round() as i64,
        input: row.input_length,
        output: row.output_length,
        hashes: row.hash_ids,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_ms() {
        let row =
            r#"{"timestamp": 27482.25, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}"#;
        let read = entry(3, row).unwrap();
        let hashes = vec![46, 47];
        assert_eq!(read, Entry { line: 3, at: 27_482_250_000, input: 6955, output: 52, hashes });
        assert!(entry(1, r#"{"timestamp":0,"input_length":1,"output_length":1}"#).unwrap().hashes.is_empty());
        for (row, part) in [
            (r#"{"timestamp":0,"output_length":1}"#, "missing field `input_length`"),
            (r#"{"timestamp":-1,"input_length":1,"output_length":1}"#, "`timestamp` is -1"),
            ("[]", "not a row of a Mooncake trace"),
        ] {
            let problem = entry(1, row).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
