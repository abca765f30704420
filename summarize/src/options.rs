//! What is to be worked out, apart from how it is printed.

use std::{fmt, str::FromStr};

use crate::Goodput;

/// How to group the rows and what to work out for each group.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// One summary for each workload, in order of first appearance, instead of one for everything.
    pub by_workload: bool,
    /// Which percentiles of each metric.
    pub percentiles: Vec<Percentile>,
    /// Targets that make a request a good one.
    pub goodput: Option<Goodput>,
    /// What the peak output rate counts.
    pub peak: Peak,
}

impl Default for Options {
    fn default() -> Self {
        Self { by_workload: false, percentiles: vec![Percentile::P99], goodput: None, peak: Peak::default() }
    }
}

/// What `max_output_tokens_per_s` counts. The two agree where each event holds one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Peak {
    /// A request's tokens, spread evenly over its events that carried output: never below the average rate.
    #[default]
    Tokens,
    /// Events that carried output, one each: vLLM's own rule.
    Events,
}

/// A percentile, 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Percentile(f64);

impl Percentile {
    /// vLLM's default.
    pub const P99: Self = Self(99.0);

    /// The number, 0 to 100.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// How many values it takes until this percentile is more than a name for the largest; `None` for 100, which
    /// is the largest.
    #[must_use]
    pub fn values_needed(self) -> Option<u64> {
        // The nudge keeps 1 / (1 - 0.9) from being 10.000000000000002.
        (self.0 < 100.0).then(|| (100.0 / (100.0 - self.0) - 1e-9).ceil() as u64)
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Percentile {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().parse() {
            Ok(value) if (0.0..=100.0).contains(&value) => Ok(Self(value)),
            _ => Err("a percentile is a number from 0 to 100".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_named_as_vllm_names_them() {
        for (text, name) in [("99", "99"), ("99.0", "99"), (" 99.9", "99.9"), ("0", "0"), ("100", "100")] {
            assert_eq!(text.parse::<Percentile>().unwrap().to_string(), name);
        }
        for text in ["101", "-1", "nan", "p99", ""] {
            assert!(text.parse::<Percentile>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_values_a_percentile_needs() {
        for (p, needed) in [(0.0, 1), (50.0, 2), (90.0, 10), (95.0, 20), (99.0, 100), (99.9, 1000)] {
            assert_eq!(Percentile(p).values_needed(), Some(needed), "{p}");
        }
        assert_eq!(Percentile(100.0).values_needed(), None);
    }
}
