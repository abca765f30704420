//! The end of a run: its last record, and what a person is told.

use records::{Micros, RunEnd, StoppedBy};

use crate::{
    fire::{Run, Sent},
    health::Baseline,
    sink::Tally,
};

/// Most distinct errors that are listed.
const LISTED: usize = 20;

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

/// A signal counts even if it came when all rows were sent: it may have cut answers off.
fn stopped_by(run: &Run, sent: &Sent) -> StoppedBy {
    match sent.stopped_by {
        StoppedBy::InputEnd if run.stop.signal().is_some() => StoppedBy::Signal,
        other => other,
    }
}

/// Each distinct error once with its count, what is wrong with the client, and unless `quiet` how it all went.
pub(crate) fn close(end: &RunEnd, tally: &Tally, quiet: bool) {
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
    if !quiet && end.sent > 0 {
        eprintln!("fire-requests: {} ok, {} failed in {:.1} s", end.ok, end.failed, end.elapsed_us.secs());
    }
}
