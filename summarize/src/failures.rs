//! What went wrong, and how often.

use std::{collections::BTreeMap, fmt::Write};

use indexmap::IndexMap;
use records::{Outcome, Timing};

/// Failed requests by outcome, and by what was said about them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Failures {
    outcomes: BTreeMap<Outcome, u64>,
    reasons: IndexMap<String, u64>,
}

/// Distinct reasons kept, so that messages with a number of their own in each do not fill the memory.
const MAX_REASONS: usize = 1000;
/// Characters of a message that are kept.
const MAX_MESSAGE: usize = 100;

impl Failures {
    /// Counts a failed request.
    pub(crate) fn add(&mut self, timing: &Timing) {
        *self.outcomes.entry(timing.outcome).or_default() += 1;
        self.add_reason(reason(timing), 1);
    }

    /// Adds what another part of the input counted.
    pub(crate) fn merge(&mut self, other: Self) {
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        for (reason, count) in other.reasons {
            self.add_reason(reason, count);
        }
    }

    fn add_reason(&mut self, reason: String, count: u64) {
        if self.reasons.len() < MAX_REASONS || self.reasons.contains_key(&reason) {
            *self.reasons.entry(reason).or_default() += count;
        }
    }

    /// All failures.
    pub(crate) fn count(&self) -> u64 {
        self.outcomes.values().sum()
    }

    /// Failures by the outcome's name on the wire.
    pub(crate) fn by_outcome(&self) -> IndexMap<String, u64> {
        self.outcomes.iter().map(|(outcome, &count)| (outcome.as_str().to_owned(), count)).collect()
    }

    /// The most frequent reasons, such as `http 503: no healthy upstream`.
    pub(crate) fn top(&self, at_most: usize) -> Vec<(String, u64)> {
        let mut reasons: Vec<_> =
            self.reasons.iter().map(|(reason, &count)| (reason.clone(), count)).collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        reasons.truncate(at_most);
        reasons
    }
}

/// Outcome, status and the first line of the message.
fn reason(timing: &Timing) -> String {
    let mut text = timing.outcome.as_str().to_owned();
    if let (Outcome::Http, Some(status)) = (timing.outcome, timing.status) {
        let _ = write!(text, " {status}");
    }
    let message = timing.error.as_deref().and_then(|error| error.trim().lines().next()).unwrap_or_default();
    if !message.is_empty() {
        text.push_str(": ");
        text.extend(message.chars().take(MAX_MESSAGE));
        if message.chars().nth(MAX_MESSAGE).is_some() {
            text.push('…');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(outcome: Outcome, status: Option<u16>, error: &str) -> Timing {
        Timing { outcome, status, error: Some(error.to_owned()), ..Timing::default() }
    }

    #[test]
    fn reasons_name_outcome_status_and_the_first_line() {
        for (timing, text) in [
            (failed(Outcome::Http, Some(503), "no healthy upstream\nmore"), "http 503: no healthy upstream"),
            (failed(Outcome::Truncated, Some(200), "connection reset"), "truncated: connection reset"),
            (failed(Outcome::Timeout, None, " "), "timeout"),
            (failed(Outcome::Http, Some(400), &"é".repeat(101)), &format!("http 400: {}…", "é".repeat(100))),
        ] {
            assert_eq!(reason(&timing), text);
        }
    }

    #[test]
    fn the_most_frequent_come_first() {
        let mut failures = Failures::default();
        let mut other = Failures::default();
        failures.add(&failed(Outcome::Timeout, None, ""));
        other.add(&failed(Outcome::Http, Some(503), "busy"));
        other.add(&failed(Outcome::Http, Some(503), "busy"));
        failures.merge(other);
        assert_eq!(failures.count(), 3);
        assert_eq!(failures.top(1), [("http 503: busy".to_owned(), 2)]);
        let outcomes: Vec<_> = failures.by_outcome().into_iter().collect();
        assert_eq!(outcomes, [("http".to_owned(), 2), ("timeout".to_owned(), 1)]);
    }
}
