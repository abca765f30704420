//! The measured requests of one run and one workload, kept as compactly as exact percentiles allow.

use records::{Micros, Outcome, Phase, Timing, TokensFrom};

use crate::failures::Failures;

/// A fold over timing rows: `add` each, `merge` the parts.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// The successful requests.
    pub requests: Vec<Request>,
    /// Gaps between the output events of all of them, in seconds, pooled in the order of `requests`.
    pub gaps: Vec<f64>,
    /// The failed ones.
    pub failures: Failures,
    /// Sums over the successful requests.
    pub totals: Totals,
    /// Warm-up rows.
    pub warmups: u64,
}

/// A successful request. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Request {
    /// On its run's clock.
    pub sent: Option<f64>,
    /// Time to first token.
    pub ttft: Option<f64>,
    /// End-to-end latency.
    pub e2el: Option<f64>,
    /// Tokens generated; 0 where the row does not say.
    pub tokens: u64,
    /// Events that carried output; its gaps are one fewer.
    pub events: u32,
}

/// Sums over successful requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    /// Prompt tokens.
    pub input: u64,
    /// Tokens generated.
    pub output: u64,
    /// Prompt tokens from the prefix cache; `None` if no row says.
    pub cached: Option<u64>,
    /// Requests whose token count was estimated.
    pub estimated: u64,
    /// Requests that generated fewer tokens than asked for.
    pub short: u64,
    /// Requests that lack a token count, of the prompt or of the answer.
    pub uncounted: u64,
    /// Requests that lack their time of sending.
    pub unplaced: u64,
}

impl Request {
    /// Time per output token after the first, in seconds: vLLM's `(latency - ttft) / (tokens - 1)`.
    pub(crate) fn tpot(&self) -> Option<f64> {
        if self.tokens <= 1 {
            return None;
        }
        Some((self.e2el? - self.ttft?) / (self.tokens - 1) as f64)
    }

    fn of(timing: &Timing) -> Self {
        let stream = timing.stream();
        Self {
            sent: timing.sent_us.map(Micros::secs),
            ttft: timing.ttft_us.or_else(|| stream.first_output()).map(Micros::secs),
            e2el: timing.e2e_us.or_else(|| stream.last_output()).map(Micros::secs),
            tokens: timing.output_tokens.unwrap_or(0),
            events: stream.output_times().count() as u32,
        }
    }
}

impl Sample {
    /// Takes in one row.
    pub(crate) fn add(&mut self, timing: &Timing) {
        match (timing.phase, timing.outcome) {
            (Phase::Warmup, _) => self.warmups += 1,
            (Phase::Main, Outcome::Ok) => {
                self.requests.push(Request::of(timing));
                self.gaps.extend(timing.stream().gaps().map(Micros::secs));
                self.totals.add(timing);
            }
            (Phase::Main, _) => self.failures.add(timing),
        }
    }

    /// Takes in what another part of the input held.
    pub(crate) fn merge(&mut self, other: Self) {
        join(&mut self.requests, other.requests);
        join(&mut self.gaps, other.gaps);
        self.failures.merge(other.failures);
        self.totals.merge(other.totals);
        self.warmups += other.warmups;
    }
}

/// Appends; moves where nothing is there yet, so that the usual single run is never held twice.
fn join<T>(mine: &mut Vec<T>, mut other: Vec<T>) {
    if mine.is_empty() {
        *mine = other;
    } else {
        mine.append(&mut other);
    }
}

impl Totals {
    fn add(&mut self, timing: &Timing) {
        let short = timing.max_tokens.zip(timing.output_tokens).is_some_and(|(asked, got)| got < asked);
        let uncounted = timing.prompt_tokens.is_none() || timing.output_tokens.is_none();
        self.merge(Self {
            input: timing.prompt_tokens.unwrap_or(0),
            output: timing.output_tokens.unwrap_or(0),
            cached: timing.cached_tokens,
            estimated: u64::from(timing.tokens_from == Some(TokensFrom::Events)),
            short: u64::from(short),
            uncounted: u64::from(uncounted),
            unplaced: u64::from(timing.sent_us.is_none()),
        });
    }

    fn merge(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = match (self.cached, other.cached) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.estimated += other.estimated;
        self.short += other.short;
        self.uncounted += other.uncounted;
        self.unplaced += other.unplaced;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(ttft: f64, e2el: f64, tokens: u64) -> Request {
        Request { sent: Some(0.0), ttft: Some(ttft), e2el: Some(e2el), tokens, events: 0 }
    }

    #[test]
    fn tpot_leaves_out_the_first_token() {
        assert_eq!(request(1.0, 1.9, 10).tpot(), Some((1.9 - 1.0) / 9.0));
        assert_eq!(request(0.2, 0.2, 1).tpot(), None);
        assert_eq!(request(0.2, 0.2, 0).tpot(), None);
    }

    #[test]
    fn times_missing_from_the_row_come_from_its_events() {
        let timing = Timing {
            events_us: [5.0, 100.0, 120.0, 130.0].map(Micros::new).to_vec(),
            events: "rccu".to_owned(),
            ..Timing::default()
        };
        let request = Request::of(&timing);
        assert_eq!((request.ttft, request.e2el, request.events), (Some(100e-6), Some(120e-6), 2));
    }

    #[test]
    fn short_estimated_cached_and_uncounted_rows_are_counted() {
        let mut sample = Sample::default();
        let row = Timing { prompt_tokens: Some(7), output_tokens: Some(3), ..Timing::default() };
        for timing in [
            Timing { max_tokens: Some(4), cached_tokens: Some(5), ..row.clone() },
            Timing { max_tokens: Some(3), tokens_from: Some(TokensFrom::Events), ..row.clone() },
            Timing { sent_us: Some(Micros::ZERO), output_tokens: None, ..row.clone() },
            Timing { phase: Phase::Warmup, ..row.clone() },
            Timing { outcome: Outcome::Timeout, ..row },
        ] {
            sample.add(&timing);
        }
        let totals = Totals {
            input: 21,
            output: 6,
            cached: Some(5),
            estimated: 1,
            short: 1,
            uncounted: 1,
            unplaced: 2,
        };
        assert_eq!(sample.totals, totals);
        assert_eq!((sample.requests.len(), sample.failures.count(), sample.warmups), (3, 1, 1));
    }
}
