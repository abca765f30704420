//! The busiest second, by vLLM's rule: whole seconds counted from the first start of a successful request.

use std::collections::BTreeMap;

use crate::{Peak, sample::Request};

/// Requests of one run, with where the run's clock starts on the common one, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed<'a> {
    /// Added to the times of each request.
    pub offset: f64,
    /// The requests.
    pub requests: &'a [Request],
    /// Their gaps, pooled.
    pub gaps: &'a [f64],
}

/// The busiest second's figures.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Peaks {
    /// Most tokens or events within a second; `None` if a request's output cannot be placed.
    pub output: Option<f64>,
    /// Most requests that overlapped a second, if only for an instant of it. It exceeds the requests ever in flight
    /// at once where they are shorter than a second.
    pub concurrency: Option<f64>,
}

impl Peaks {
    /// Over runs laid on one clock.
    pub(crate) fn of(runs: &[Placed<'_>], count: Peak) -> Self {
        let starts =
            runs.iter().flat_map(|run| run.requests.iter().filter_map(|r| Some(run.offset + r.sent?)));
        let Some(origin) = starts.min_by(f64::total_cmp) else { return Self::default() };
        Self { output: output(runs, origin, count), concurrency: concurrency(runs, origin) }
    }
}

fn output(runs: &[Placed<'_>], origin: f64, count: Peak) -> Option<f64> {
    let mut buckets = BTreeMap::<i64, f64>::new();
    for run in runs {
        let mut gaps = run.gaps;
        for request in run.requests {
            let (own, rest) = gaps.split_at(request.events.saturating_sub(1) as usize);
            gaps = rest;
            let weight = weight(request, count)?;
            let (Some(sent), Some(ttft)) = (request.sent, request.ttft) else { continue };
            let mut time = run.offset + sent + ttft;
            *buckets.entry(second(time, origin)).or_default() += weight;
            for gap in own {
                time += gap;
                *buckets.entry(second(time, origin)).or_default() += weight;
            }
        }
    }
    buckets.into_values().max_by(f64::total_cmp)
}

/// What one event adds; `None` if the request has tokens but no events to place them at.
fn weight(request: &Request, count: Peak) -> Option<f64> {
    match (count, request.events, request.tokens) {
        (Peak::Events, ..) => Some(1.0),
        (Peak::Tokens, _, 0) => Some(0.0),
        (Peak::Tokens, 0, _) => None,
        (Peak::Tokens, events, tokens) => Some(tokens as f64 / f64::from(events)),
    }
}

fn concurrency(runs: &[Placed<'_>], origin: f64) -> Option<f64> {
    let mut changes = BTreeMap::<i64, i64>::new();
    for run in runs {
        for request in run.requests {
            let (Some(sent), Some(e2el)) = (request.sent, request.e2el) else { continue };
            let start = run.offset + sent;
            *changes.entry(second(start, origin)).or_default() += 1;
            *changes.entry(second(start + e2el, origin).saturating_add(1)).or_default() -= 1;
        }
    }
    let mut open = 0;
    let levels = changes.into_values().map(|change| {
        open += change;
        open as f64
    });
    levels.max_by(f64::total_cmp)
}

fn second(time: f64, origin: f64) -> i64 {
    (time - origin) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(sent: f64, ttft: f64, e2el: f64, tokens: u64, events: u32) -> Request {
        Request { sent: Some(sent), ttft: Some(ttft), e2el: Some(e2el), tokens, events }
    }

    fn peaks(requests: &[Request], gaps: &[f64], count: Peak) -> (Option<f64>, Option<f64>) {
        let peaks = Peaks::of(&[Placed { offset: 0.0, requests, gaps }], count);
        (peaks.output, peaks.concurrency)
    }

    #[test]
    fn tokens_are_spread_over_the_events_that_brought_them() {
        let requests = [request(0.0, 0.5, 2.0, 16, 4)];
        assert_eq!(peaks(&requests, &[0.5; 3], Peak::Tokens), (Some(8.0), Some(1.0)));
        assert_eq!(peaks(&requests, &[0.5; 3], Peak::Events), (Some(2.0), Some(1.0)));
    }

    #[test]
    fn one_token_an_event_makes_both_counts_the_same() {
        let requests = [request(7.0, 0.1, 0.3, 3, 3), request(7.2, 0.1, 0.2, 2, 2)];
        let gaps = [0.1, 0.1, 0.1];
        assert_eq!(peaks(&requests, &gaps, Peak::Tokens), (Some(5.0), Some(2.0)));
        assert_eq!(peaks(&requests, &gaps, Peak::Events), (Some(5.0), Some(2.0)));
    }

    #[test]
    fn tokens_without_events_cannot_be_placed() {
        let requests = [request(0.0, 0.5, 2.0, 16, 0)];
        assert_eq!(peaks(&requests, &[], Peak::Tokens), (None, Some(1.0)));
        assert_eq!(peaks(&requests, &[], Peak::Events), (Some(1.0), Some(1.0)));
        assert_eq!(peaks(&[], &[], Peak::Tokens), (None, None));
    }

    #[test]
    fn seconds_count_from_the_first_start_on_the_common_clock() {
        let run = [request(0.6, 0.1, 0.5, 1, 1)];
        let at = |offset| Placed { offset, requests: &run, gaps: &[] };
        assert_eq!(Peaks::of(&[at(0.0), at(0.3)], Peak::Tokens).concurrency, Some(2.0));
        assert_eq!(Peaks::of(&[at(5.0), at(0.0)], Peak::Tokens).concurrency, Some(1.0));
    }

    #[test]
    fn a_request_counts_in_every_second_it_touches() {
        let requests = [request(0.0, 0.1, 1.05, 1, 1), request(1.9, 0.1, 0.05, 1, 1)];
        assert_eq!(peaks(&requests, &[], Peak::Events), (Some(1.0), Some(2.0)));
    }
}
