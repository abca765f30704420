//! How far the run is: counters, and a line on the terminal.

use std::{
    io::{IsTerminal, Write, stderr},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Counters of a run, added to by whoever does the work.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    read: AtomicU64,
    input_ended: AtomicBool,
    in_flight: AtomicU64,
    ok: AtomicU64,
    failed: AtomicU64,
    output_tokens: AtomicU64,
    peak_in_flight: AtomicU64,
    last_end_us: AtomicU64,
    unsent: AtomicU64,
}

impl Counters {
    /// A row was read, of so many requests.
    pub(crate) fn row_read(&self, requests: u64) {
        self.read.fetch_add(requests, Relaxed);
    }

    /// No more rows will come.
    pub(crate) fn input_ended(&self) {
        self.input_ended.store(true, Relaxed);
    }

    /// A request was begun.
    pub(crate) fn began(&self) {
        let in_flight = self.in_flight.fetch_add(1, Relaxed) + 1;
        self.peak_in_flight.fetch_max(in_flight, Relaxed);
    }

    /// A request is no longer in flight; what became of it is told to [`Self::ended`].
    pub(crate) fn landed(&self) {
        self.in_flight.fetch_sub(1, Relaxed);
    }

    /// A request ended, this long after the run's start.
    pub(crate) fn ended(&self, ok: bool, output_tokens: u64, at: Duration) {
        if ok { &self.ok } else { &self.failed }.fetch_add(1, Relaxed);
        self.output_tokens.fetch_add(output_tokens, Relaxed);
        self.last_end_us.fetch_max(at.as_micros() as u64, Relaxed);
    }

    /// How many have failed.
    pub(crate) fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// So many rows that were read will not be sent.
    pub(crate) fn left_unsent(&self, rows: u64) {
        self.unsent.fetch_add(rows, Relaxed);
    }

    /// Rows that were read and not sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.unsent.load(Relaxed)
    }

    /// Most requests in flight at once.
    pub(crate) fn peak_in_flight(&self) -> u64 {
        self.peak_in_flight.load(Relaxed)
    }

    /// When the last request ended, µs after the run's start.
    pub(crate) fn last_end_us(&self) -> u64 {
        self.last_end_us.load(Relaxed)
    }

    fn done(&self) -> u64 {
        self.ok.load(Relaxed) + self.failed.load(Relaxed)
    }

    fn line(&self, elapsed: Duration) -> String {
        let (done, read, ended) = (self.done(), self.read.load(Relaxed), self.input_ended.load(Relaxed));
        let seconds = elapsed.as_secs_f64().max(1e-3);
        let rate = done as f64 / seconds;
        let tokens = self.output_tokens.load(Relaxed) as f64 / seconds;
        let more = if ended { "" } else { "+" };
        let mut line = format!(
            "{done}/{read}{more} done, {} failed, {rate:.1} req/s, {tokens:.0} tok/s",
            self.failed.load(Relaxed)
        );
        if ended && done > 0 {
            line.push_str(&left(read.saturating_sub(done) as f64 / rate));
        }
        line
    }
}

/// Shows the counters on a terminal until dropped.
pub(crate) async fn show(counters: &Counters, start: Instant, quiet: bool) {
    const EVERY: Duration = Duration::from_millis(500);
    if quiet || !stderr().is_terminal() {
        return;
    }
    let _cleared = ClearLine;
    loop {
        tokio::time::sleep(EVERY).await;
        let _ = write!(stderr(), "\r\x1b[K{}", counters.line(start.elapsed()));
    }
}

fn left(seconds: f64) -> String {
    format!(", {seconds:.0} s left")
}

struct ClearLine;

impl Drop for ClearLine {
    fn drop(&mut self) {
        let _ = write!(stderr(), "\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_known() {
        let counters = Counters::default();
        for _ in 0..4 {
            counters.row_read(1);
            counters.began();
        }
        counters.ended(true, 100, Duration::from_secs(1));
        counters.ended(false, 0, Duration::from_secs(2));
        let two = Duration::from_secs(2);
        assert_eq!(counters.line(two), "2/4+ done, 1 failed, 1.0 req/s, 50 tok/s");
        counters.input_ended();
        assert_eq!(counters.line(two), "2/4 done, 1 failed, 1.0 req/s, 50 tok/s, 2 s left");
        assert_eq!((counters.peak_in_flight(), counters.last_end_us()), (4, 2_000_000));
    }
}
