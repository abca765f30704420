//! Mooncake's JSON lines (`kvcache-ai/Mooncake`, `FAST25-release/traces`).

use serde_json::{Map, Value};

use super::request::Request;

/// Fields beyond these may change what a row means: in traces that have a `chat_id`, say, times are in seconds.
const FIELDS: [&str; 4] = ["timestamp", "input_length", "output_length", "hash_ids"];

/// Reads a line.
pub(super) fn request(line: &str) -> Result<Request, String> {
    let fields: Map<String, Value> =
        serde_json::from_str(line).map_err(|error| format!("not a JSON object: {error}"))?;
    if let Some(unknown) = fields.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(format!(
            "`{unknown}` is no field of Mooncake's traces ({}); make sure that the times are in ms, and delete it",
            FIELDS.join(", ")
        ));
    }
    Ok(Request {
        us: micros(field(&fields, "timestamp")?)?,
        input: count(&fields, "input_length")?,
        output: count(&fields, "output_length")?,
        ids: fields.get("hash_ids").map(ids).transpose()?,
    })
}

fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a Value, String> {
    fields.get(name).ok_or_else(|| format!("no `{name}`; each row needs one"))
}

fn count(fields: &Map<String, Value>, name: &str) -> Result<u64, String> {
    let value = field(fields, name)?;
    value.as_u64().ok_or_else(|| format!("`{name}` is {value}; it must be a whole number of tokens"))
}

/// From ms, a whole number or a fraction, to the nearest µs.
fn micros(value: &Value) -> Result<i64, String> {
    let whole = value.as_i64().and_then(|ms| ms.checked_mul(1000));
    let us = whole.or_else(|| value.as_f64().map(|ms| (ms * 1e3 + 0.5).floor() as i64));
    us.filter(|us| us.unsigned_abs() < 1 << 53)
        .ok_or_else(|| format!("`timestamp` is {value}; it must be a number of ms"))
}

fn ids(value: &Value) -> Result<Vec<u64>, String> {
    let all = value.as_array().and_then(|ids| ids.iter().map(Value::as_u64).collect());
    all.ok_or_else(|| format!("`hash_ids` is {value}; it must be a list of whole numbers, 0 or more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read() {
        let row =
            r#"{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 2353]}"#;
        let expected = Request { us: 27_482_000, input: 6955, output: 52, ids: Some(vec![46, 47, 2353]) };
        assert_eq!(request(row).unwrap(), expected);
        let bare = request(r#"{"timestamp":0.5,"input_length":1,"output_length":0}"#).unwrap();
        assert_eq!(bare, Request { us: 500, input: 1, output: 0, ids: None });
    }

    #[test]
    fn times_are_milliseconds() {
        for (text, us) in [
            ("0", 0),
            ("3", 3000),
            ("0.001", 1),
            ("1.2344", 1234),
            ("1.2346", 1235),
            ("0.0625", 63),
            ("-0.5", -500),
            ("1700000000000.123", 1_700_000_000_000_123),
        ] {
            assert_eq!(micros(&serde_json::from_str(text).unwrap()), Ok(us), "{text}");
        }
    }

    #[test]
    fn problems_name_the_field() {
        for (line, problem) in [
            (r#"{"input_length":1,"output_length":1}"#, "no `timestamp`"),
            (r#"{"timestamp":"x","input_length":1,"output_length":1}"#, "`timestamp` is \"x\""),
            (r#"{"timestamp":1e300,"input_length":1,"output_length":1}"#, "`timestamp` is 1e+300"),
            (r#"{"timestamp":1,"output_length":1}"#, "no `input_length`"),
            (r#"{"timestamp":1,"input_length":-1,"output_length":1}"#, "`input_length` is -1"),
            (r#"{"timestamp":1,"input_length":1,"output_length":1.5}"#, "`output_length` is 1.5"),
            (r#"{"timestamp":1,"input_length":1,"output_length":1,"hash_ids":[-1]}"#, "`hash_ids` is [-1]"),
            (r#"{"timestamp":1,"input_length":1,"output_length":1,"hash_ids":null}"#, "`hash_ids` is null"),
            (r#"{"timestamp":1,"input_length":1,"output_length":1,"chat_id":3}"#, "`chat_id` is no field"),
            (r#"{"timestamp":1"#, "not a JSON object: EOF"),
            ("[1]", "not a JSON object: invalid type"),
        ] {
            let error = request(line).unwrap_err();
            assert!(error.starts_with(problem), "{line}: {error}");
        }
    }
}
