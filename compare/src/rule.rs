//! `--fail-if`: what must not happen.

use std::str::FromStr;

use crate::{change::Change, metric::Metric};

/// `METRIC > THRESHOLD` or `METRIC < THRESHOLD`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    /// As given.
    pub(crate) text: String,
    /// What it looks at.
    pub(crate) metric: Metric,
    above: bool,
    threshold: Threshold,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Threshold {
    /// Of the change, in percent of the baseline.
    Percent(f64),
    /// Of the candidate's value.
    Value(f64),
}

const EXAMPLE: &str = "write METRIC>THRESHOLD or METRIC<THRESHOLD, such as 'p99_ttft_ms>+5%' or 'failed>0'";

impl FromStr for Rule {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let at = text.find(['>', '<']).ok_or_else(|| format!("there is no '>' or '<' in it; {EXAMPLE}"))?;
        let (metric, rest) = text.split_at(at);
        Ok(Self {
            text: text.to_owned(),
            metric: metric.parse()?,
            above: rest.starts_with('>'),
            threshold: rest[1..].trim().parse()?,
        })
    }
}

impl FromStr for Threshold {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(format!("the threshold '{text}' is not a number; {EXAMPLE}")),
        };
        let signed = text.starts_with(['+', '-']);
        match (signed, text.strip_suffix('%')) {
            (true, Some(percent)) => number(percent).map(Self::Percent),
            (false, None) => number(text).map(Self::Value),
            (false, Some(_)) => Err(format!("a change needs a sign: '+{text}' or '-{text}'; {EXAMPLE}")),
            (true, None) => Err(format!(
                "'{text}' has a sign: add '%' for a change, or leave the sign out for a value; {EXAMPLE}"
            )),
        }
    }
}

impl Rule {
    /// Whether going from `baseline` to `value` is what must not happen.
    pub(crate) fn is_broken_by(&self, baseline: f64, value: f64) -> bool {
        let (measured, limit) = match self.threshold {
            Threshold::Percent(limit) => (Change::new(baseline, value).ratio(), limit),
            Threshold::Value(limit) => (value, limit),
        };
        if self.above { measured > limit } else { measured < limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_broken_beyond_their_threshold() {
        for (rule, baseline, value, broken) in [
            ("p99_ttft_ms>+5%", 100.0, 105.0, false),
            ("p99_ttft_ms>+5%", 100.0, 105.1, true),
            ("p99_ttft_ms > 200", 500.0, 200.0, false),
            ("p99_ttft_ms > 200", 100.0, 200.5, true),
            ("request_throughput<-3%", 100.0, 97.0, false),
            ("request_throughput<-3%", 100.0, 96.0, true),
            ("request_throughput<-3%", 100.0, 200.0, false),
            ("failed>0", 5.0, 0.0, false),
            ("failed>0", 0.0, 1.0, true),
        ] {
            assert_eq!(rule.parse::<Rule>().unwrap().is_broken_by(baseline, value), broken, "{rule}");
        }
    }

    #[test]
    fn any_rise_from_zero_is_above_every_percentage() {
        let rule: Rule = "failed>+500%".parse().unwrap();
        assert!(rule.is_broken_by(0.0, 1.0));
        assert!(!rule.is_broken_by(0.0, 0.0));
    }

    #[test]
    fn bad_rules_are_refused_with_an_example() {
        for rule in [
            "p99_ttft_ms",
            "p99_ttft_ms=5",
            "p99_ttft_ms>",
            "p99_ttft_ms>5%",
            "p99_ttft_ms>+5",
            "p99_ttft_ms>=5",
            "p99_ttft_ms>+x%",
            "p99_ttft_ms>nan",
        ] {
            assert!(rule.parse::<Rule>().unwrap_err().contains(EXAMPLE), "{rule}");
        }
        assert!("p99_tftt_ms>5".parse::<Rule>().unwrap_err().contains("did you mean p99_ttft_ms"));
    }
}
