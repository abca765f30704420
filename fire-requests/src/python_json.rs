//! JSON as Python's `json.dumps` writes it: spaces after `,` and `:`, and ASCII alone. A request is then the same
//! bytes, and as many of them, as one from a client written in Python.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::{
    Error, Serializer,
    ser::{CompactFormatter, Formatter},
};

/// `value` as JSON.
pub(crate) fn to_vec(value: &impl Serialize) -> std::result::Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, PythonJson)).map(|()| bytes)
}

struct PythonJson;

impl Formatter for PythonJson {
    fn begin_array_value<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.begin_array_value(writer, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(b": ")
    }

    /// Rust chooses the same digits and the same form, and only writes the exponent otherwise.
    fn write_f64<W: Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> Result<()> {
        let text = format!("{value:?}");
        match text.split_once('e').map(|(digits, power)| (digits, power.parse::<i32>())) {
            Some((digits, Ok(power))) => write!(writer, "{digits}e{power:+03}"),
            _ => writer.write_all(text.as_bytes()),
        }
    }

    fn write_string_fragment<W: Write + ?Sized>(&mut self, writer: &mut W, text: &str) -> Result<()> {
        for part in text.split_inclusive(|letter: char| !matches!(letter, '\0'..'\x7f')) {
            let plain = part.trim_end_matches(|letter: char| !matches!(letter, '\0'..'\x7f'));
            CompactFormatter.write_string_fragment(writer, plain)?;
            for unit in part[plain.len()..].encode_utf16() {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// The right side is what `json.dumps(json.loads(left))` returns.
    #[test]
    fn values_are_written_as_python_writes_them() {
        for (json, written) in [
            (
                r#"{"a":[1,2.0,{"b":null}],"c":{},"d":[]}"#,
                r#"{"a": [1, 2.0, {"b": null}], "c": {}, "d": []}"#,
            ),
            (r#""é x\u007f\u0001\n\"\\/""#, r#""\u00e9 x\u007f\u0001\n\"\\/""#),
            (r#""日本x😀""#, r#""\u65e5\u672cx\ud83d\ude00""#),
            (
                "[1e16,1e15,0.0001,0.00001,-2.5e-7,1e100,0.1,-0.0]",
                "[1e+16, 1000000000000000.0, 0.0001, 1e-05, -2.5e-07, 1e+100, 0.1, -0.0]",
            ),
        ] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(String::from_utf8(to_vec(&value).unwrap()).unwrap(), written);
        }
    }
}
