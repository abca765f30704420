//! The end of a run: its last record, and what a person is told.

use std::time::Duration;

use records::{Micros, RunEnd, StoppedBy};

use crate::{
    fire::{Run, Sent},
    health::Baseline,
    sink::Tally,
};

/// Most distinct errors that are listed.
const LISTED: usize = 20;

/// A cap that delays requests by more makes another load than the one asked for.
const BEHIND: Duration = Duration::from_millis(100);

/// The last record.
pub(crate) fn run_end(run: &Run, sent: &Sent, tally: &Tally, since: &Baseline) -> RunEnd {
    let (peak, connections) = (run.counters.peak_in_flight(), run.workers.connections());
    RunEnd {
        run: run.name.clone(),
        elapsed_us: Micros::new(run.counters.last_end_us() as f64),
        sent: tally.ok + tally.failed,
        ok: tally.ok,
        failed: tally.failed,
        unsent: sent.unsent + run.counters.unsent(),
        stopped_by: stopped_by(run, sent),
        dataset_sha256: sent.dataset_sha256.clone(),
        client: Some(run.health.report(since, peak, connections)),
    }
}

/// What stopped the run counts even if it came when all rows were sent: it may have cut answers off.
fn stopped_by(run: &Run, sent: &Sent) -> StoppedBy {
    match (sent.stopped_by, run.stop.reason()) {
        (StoppedBy::InputEnd, Some(StoppedBy::Signal)) => StoppedBy::Signal,
        (other, _) => other,
    }
}

/// Each distinct error once with its count, what is wrong with the client, and unless `quiet` how it all went.
pub(crate) fn close(run: &Run, end: &RunEnd, tally: &Tally, quiet: bool) {
    let mut errors: Vec<_> = tally.errors.iter().collect();
    errors.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (error, count) in errors.iter().take(LISTED) {
        eprintln!("fire-requests: {count} × {error}");
    }
    if errors.len() > LISTED {
        eprintln!("fire-requests: and {} more kinds of errors", errors.len() - LISTED);
    }
    if let Some(reason) = end.client.as_ref().and_then(|client| client.reason.as_ref()) {
        eprintln!("fire-requests: warning: the client was the bottleneck: {reason}");
    }
    if let Some(behind) = run.health.behind().filter(|&behind| behind > BEHIND && run.capped) {
        eprintln!(
            "fire-requests: warning: requests were sent up to {:.1} s after their time (p99), waiting for --max-concurrency",
            behind.as_secs_f64()
        );
    }
    if !quiet && end.sent > 0 {
        eprintln!("fire-requests: {} ok, {} failed in {:.1} s", end.ok, end.failed, end.elapsed_us.secs());
    }
}
