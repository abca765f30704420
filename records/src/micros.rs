//! Times and durations on the wire.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Microseconds, as a duration or as an instant counted from the run's start on the monotonic clock.
///
/// Our tools write whole numbers, which jq, awk and JavaScript keep exact. Readers take fractions too, so that
/// records made from another tool's floating-point seconds lose nothing. Negative instants lie before the run's
/// start (warm-up requests).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Micros(f64);

impl Micros {
    /// No time at all.
    pub const ZERO: Self = Self(0.0);

    /// From a number of microseconds.
    #[must_use]
    pub const fn new(us: f64) -> Self {
        Self(us)
    }

    /// From a duration, rounded to the nearest microsecond.
    #[must_use]
    pub fn from_duration(duration: std::time::Duration) -> Self {
        Self(((duration.as_nanos() + 500) / 1000) as f64)
    }

    /// As a number of microseconds.
    #[must_use]
    pub const fn us(self) -> f64 {
        self.0
    }

    /// As milliseconds.
    #[must_use]
    pub fn ms(self) -> f64 {
        self.0 / 1e3
    }

    /// As seconds.
    #[must_use]
    pub fn secs(self) -> f64 {
        self.0 / 1e6
    }
}

impl std::ops::Add for Micros {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::ops::Sub for Micros {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
        if self.0.fract() == 0.0 && self.0.abs() <= EXACT {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Micros {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self)
    }
}

impl JsonSchema for Micros {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Micros".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }
}
