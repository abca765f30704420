//! One clock for several runs.

use crate::runs::{Run, Span};

/// Where the clock of each run starts on a common one.
///
/// Runs whose wall-clock start is known lie where they were, so that shards of several hosts overlap and repeats
/// follow each other. The others are laid end to end behind them.
#[derive(Debug, PartialEq)]
pub(crate) struct Clock {
    /// Seconds to be added to the times of each run.
    pub offsets: Vec<f64>,
    /// Seconds during which at least one run was under way; `None` if no run says when it was.
    pub duration: Option<f64>,
}

impl Clock {
    /// Lays the runs on one clock.
    pub(crate) fn lay(runs: &[&Run]) -> Self {
        let origin = runs.iter().filter_map(|run| run.anchor()).min();
        let mut offsets = vec![0.0; runs.len()];
        let mut known = Vec::new();
        let mut unknown = Vec::new();
        for (at, run) in runs.iter().enumerate() {
            match (run.anchor().zip(origin), run.span()) {
                (Some((anchor, origin)), span) => {
                    offsets[at] = anchor.duration_since(origin).as_secs_f64();
                    known.extend(span.map(|span| span.shift(offsets[at])));
                }
                (None, Some(span)) => unknown.push((at, span)),
                (None, None) => {}
            }
        }
        let mut next = known.iter().map(|span| span.to).reduce(f64::max).map_or(0.0, next_second);
        for (at, span) in &unknown {
            offsets[*at] = next - span.from;
            next = next_second(next + span.secs());
        }
        let measured = !known.is_empty() || !unknown.is_empty();
        let one_by_one: f64 = unknown.iter().map(|(_, span)| span.secs()).sum();
        Self { offsets, duration: measured.then(|| covered(known) + one_by_one) }
    }
}

/// A whole second that `time` does not reach into, so that runs laid end to end share no one-second bucket.
fn next_second(time: f64) -> f64 {
    time.floor() + 1.0
}

/// The length of the union.
fn covered(mut spans: Vec<Span>) -> f64 {
    spans.sort_by(|a, b| a.from.total_cmp(&b.from));
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.from <= last.to => *last = last.cover(span),
            _ => joined.push(span),
        }
    }
    joined.into_iter().map(Span::secs).sum()
}

#[cfg(test)]
mod tests {
    use records::{Micros, RunStart, Timing};

    use super::*;

    /// A run with one row, anchored at a second of the minute if `at` is given.
    fn run(at: Option<u32>, sent: f64, latency: f64) -> Run {
        let mut run = Run::default();
        if let Some(second) = at {
            let started_at = format!("2026-12-01T00:00:{second:02}.25Z");
            run.add_start(RunStart { started_at, ..RunStart::default() }).unwrap();
        }
        run.add_row(&Timing {
            sent_us: Some(Micros::new(sent * 1e6)),
            e2e_us: Some(Micros::new(latency * 1e6)),
            ..Timing::default()
        });
        run
    }

    fn lay(runs: &[Run]) -> (Vec<f64>, Option<f64>) {
        let Clock { offsets, duration } = Clock::lay(&runs.iter().collect::<Vec<_>>());
        (offsets, duration)
    }

    #[test]
    fn shards_overlap_and_repeats_add_up() {
        assert_eq!(lay(&[run(Some(0), 0.0, 10.0), run(Some(4), 0.0, 10.0)]), (vec![0.0, 4.0], Some(14.0)));
        assert_eq!(lay(&[run(Some(30), 0.0, 10.0), run(Some(0), 0.0, 10.0)]), (vec![30.0, 0.0], Some(20.0)));
        assert_eq!(lay(&[run(Some(0), 0.0, 10.0), run(Some(2), 0.0, 1.0)]), (vec![0.0, 2.0], Some(10.0)));
    }

    #[test]
    fn runs_without_an_anchor_follow_one_another() {
        assert_eq!(lay(&[run(None, 5.0, 2.0), run(None, 1.0, 3.0)]), (vec![-5.0, 2.0], Some(5.0)));
        assert_eq!(lay(&[run(None, 5.0, 2.0), run(Some(1), 1.0, 3.0)]), (vec![0.0, 0.0], Some(5.0)));
    }

    #[test]
    fn no_times_no_duration() {
        assert_eq!(lay(&[Run::default()]), (vec![0.0], None));
        assert_eq!(lay(&[]), (vec![], None));
    }
}
