//! Requests per second, which may be infinite.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A positive rate or shape parameter; infinity is written `"inf"`, as vLLM's result files do.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// No limit: everything at once.
    pub const INF: Self = Self(f64::INFINITY);

    /// The rate, if `value` is above zero (infinity included).
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (value > 0.0).then_some(Self(value))
    }

    /// The number; may be infinite.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Rate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number or 'inf'"))?;
        Self::new(value).ok_or_else(|| format!("must be above 0 (or 'inf'), not {text}"))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_infinite() { serializer.serialize_str("inf") } else { serializer.serialize_f64(self.0) }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Wire {
    Number(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Wire::deserialize(deserializer)? {
            Wire::Number(value) => {
                Self::new(value).ok_or_else(|| de::Error::custom("a rate must be above 0"))
            }
            Wire::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

impl JsonSchema for Rate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rate".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "number", "exclusiveMinimum": 0 }, { "const": "inf" }] })
    }
}
