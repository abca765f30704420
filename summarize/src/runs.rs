//! The runs that rows belong to: their brackets, and how long each was under way.

use jiff::Timestamp;
use records::{Client, ClientVerdict, Micros, Phase, RunEnd, RunStart, StoppedBy, Timing};

/// One run: a fold over its brackets and over the times of its rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    start: Option<RunStart>,
    anchor: Option<Timestamp>,
    end: Option<RunEnd>,
    /// First start and last end of the measured rows, in seconds.
    measured: Option<Span>,
    measured_rows: u64,
    /// Warm-up rows lie on the run's clock, so its `elapsed_us` covers them too.
    warmups_inside: bool,
    renamed: bool,
}

/// From one instant to another, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    /// When it begins.
    pub from: f64,
    /// When it ends.
    pub to: f64,
}

impl Span {
    /// The shortest span that covers both.
    pub(crate) fn cover(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }

    /// Its length.
    pub(crate) fn secs(self) -> f64 {
        self.to - self.from
    }

    /// The same span on a clock that is ahead by `secs`.
    pub(crate) fn shift(self, secs: f64) -> Self {
        Self { from: self.from + secs, to: self.to + secs }
    }
}

impl Run {
    /// Takes in its first line.
    pub(crate) fn add_start(&mut self, start: RunStart) -> Result<(), String> {
        let anchor = start
            .started_at
            .parse()
            .map_err(|_| format!("`started_at` is not an RFC 3339 instant: '{}'", start.started_at))?;
        self.merge(Self { start: Some(start), anchor: Some(anchor), ..Self::default() });
        Ok(())
    }

    /// Takes in its last line.
    pub(crate) fn add_end(&mut self, end: RunEnd) {
        self.merge(Self { end: Some(end), ..Self::default() });
    }

    /// Takes in one of its rows.
    pub(crate) fn add_row(&mut self, timing: &Timing) {
        let sent = timing.sent_us.map(Micros::secs);
        if timing.phase == Phase::Warmup {
            self.warmups_inside |= sent.is_some_and(|sent| sent >= 0.0);
            return;
        }
        self.measured_rows += 1;
        if let Some(from) = sent {
            let latency = timing.e2e_us.or_else(|| timing.stream().last_output()).map_or(0.0, Micros::secs);
            let span = Span { from, to: from + latency };
            self.measured = Some(self.measured.map_or(span, |measured| measured.cover(span)));
        }
    }

    /// Takes in what another part of the input said of it.
    pub(crate) fn merge(&mut self, other: Self) {
        self.renamed |=
            other.renamed || self.start.is_some() && other.start.is_some() && self.start != other.start;
        self.start = self.start.take().or(other.start);
        self.anchor = self.anchor.or(other.anchor);
        self.end = self.end.take().or(other.end);
        self.measured = match (self.measured, other.measured) {
            (Some(a), Some(b)) => Some(a.cover(b)),
            (a, b) => a.or(b),
        };
        self.measured_rows += other.measured_rows;
        self.warmups_inside |= other.warmups_inside;
    }

    /// What was asked of it.
    pub(crate) fn start(&self) -> Option<&RunStart> {
        self.start.as_ref()
    }

    /// What became of it.
    pub(crate) fn end(&self) -> Option<&RunEnd> {
        self.end.as_ref()
    }

    /// The wall clock's instant of its second 0.
    pub(crate) fn anchor(&self) -> Option<Timestamp> {
        self.anchor
    }

    /// When it was under way, in seconds on its own clock: from its start to its last completion (vLLM's duration),
    /// else from the first start to the last end of its measured rows.
    pub(crate) fn span(&self) -> Option<Span> {
        match &self.end {
            Some(end) if !self.warmups_inside => Some(Span { from: 0.0, to: end.elapsed_us.secs() }),
            _ => self.measured,
        }
    }

    /// Whether its writer was killed: it was opened and never closed.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.start.is_some() && self.end.is_none()
    }

    /// What a reader of its figures must know.
    pub(crate) fn warnings(&self, name: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.is_cut_off() {
            warnings.push(format!("run {name} was cut off: it has a run_start line but no run_end line"));
        }
        if self.renamed {
            warnings.push(format!("several runs are named {name}, and are taken for one"));
        }
        let Some(end) = &self.end else { return warnings };
        match end.stopped_by {
            // Asked for.
            StoppedBy::InputEnd | StoppedBy::Duration | StoppedBy::ScheduleEnd => {}
            StoppedBy::MaxFailures => warnings.push(format!(
                "run {name} was stopped by --max-failures, with {} rows read but unsent",
                end.unsent
            )),
            StoppedBy::Signal => {
                warnings
                    .push(format!("run {name} was interrupted, with {} rows read but unsent", end.unsent));
            }
            StoppedBy::BadInput => warnings.push(format!("run {name} stopped early at a fault in its input")),
        }
        if self.measured_rows < end.sent {
            warnings.push(format!(
                "run {name} sent {} requests, but only {} rows of it are here: its rates are too low",
                end.sent, self.measured_rows
            ));
        }
        if let Some(client) =
            end.client.as_ref().filter(|client| client.verdict == ClientVerdict::ClientBound)
        {
            let reason = client.reason.as_deref().unwrap_or("no reason given");
            warnings.push(format!("run {name}: the client was the bottleneck: {reason}"));
        }
        warnings
    }
}

/// The worst of each figure.
pub(crate) fn worst(a: Client, b: Client) -> Client {
    let bound = a.verdict == ClientVerdict::ClientBound;
    let (verdict, reason) = if bound { (a.verdict, a.reason) } else { (b.verdict, b.reason) };
    Client {
        send_lag_p50_us: larger(a.send_lag_p50_us, b.send_lag_p50_us),
        send_lag_p99_us: larger(a.send_lag_p99_us, b.send_lag_p99_us),
        send_lag_max_us: larger(a.send_lag_max_us, b.send_lag_max_us),
        read_lag_p50_us: larger(a.read_lag_p50_us, b.read_lag_p50_us),
        read_lag_p99_us: larger(a.read_lag_p99_us, b.read_lag_p99_us),
        read_lag_max_us: larger(a.read_lag_max_us, b.read_lag_max_us),
        cpu_pct: larger(a.cpu_pct, b.cpu_pct),
        threads: larger(a.threads, b.threads),
        thread_cpu_pct: larger(a.thread_cpu_pct, b.thread_cpu_pct),
        thread_wait_pct: larger(a.thread_wait_pct, b.thread_wait_pct),
        peak_in_flight: a.peak_in_flight.max(b.peak_in_flight),
        connections: a.connections.max(b.connections),
        verdict,
        reason,
    }
}

fn larger<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
    // `None` is below every value.
    if a >= b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(phase: Phase, sent: f64, latency: f64) -> Timing {
        let us = |secs: f64| Some(Micros::new(secs * 1e6));
        Timing { phase, sent_us: us(sent), e2e_us: us(latency), ..Timing::default() }
    }

    fn end(elapsed: f64) -> RunEnd {
        RunEnd {
            run: String::new(),
            elapsed_us: Micros::new(elapsed * 1e6),
            sent: 2,
            ok: 2,
            failed: 0,
            unsent: 0,
            stopped_by: StoppedBy::InputEnd,
            dataset_sha256: None,
            client: None,
        }
    }

    #[test]
    fn a_run_lasts_as_long_as_it_says() {
        let mut run = Run::default();
        run.add_row(&row(Phase::Warmup, -3.0, 1.0));
        run.add_row(&row(Phase::Main, 1.0, 1.0));
        assert_eq!(run.span(), Some(Span { from: 1.0, to: 2.0 }));
        run.add_end(end(2.5));
        assert_eq!(run.span(), Some(Span { from: 0.0, to: 2.5 }));
    }

    #[test]
    fn warmups_on_the_runs_clock_are_cut_out_of_it() {
        let mut run = Run::default();
        run.add_end(end(20.0));
        run.add_row(&row(Phase::Warmup, 0.0, 5.0));
        run.add_row(&row(Phase::Main, 12.0, 8.0));
        run.add_row(&row(Phase::Main, 10.0, 1.0));
        assert_eq!(run.span(), Some(Span { from: 10.0, to: 20.0 }));
    }

    #[test]
    fn only_an_opened_run_can_be_cut_off() {
        let start = RunStart { started_at: "2026-12-01T00:00:00Z".to_owned(), ..RunStart::default() };
        let mut run = Run::default();
        assert!(!run.is_cut_off());
        run.add_start(start).unwrap();
        assert!(run.is_cut_off());
        run.add_end(end(1.0));
        assert!(!run.is_cut_off());
        assert!(run.add_start(RunStart::default()).unwrap_err().contains("`started_at`"));
    }

    #[test]
    fn of_several_clients_the_worst_figures_count() {
        let client = |lag: f64, verdict, reason: Option<&str>| Client {
            send_lag_p99_us: Some(Micros::new(lag)),
            cpu_pct: Some(100.0 - lag),
            verdict,
            reason: reason.map(str::to_owned),
            ..Client::default()
        };
        let worst = worst(
            client(10.0, ClientVerdict::ClientBound, Some("late")),
            client(20.0, ClientVerdict::Ok, None),
        );
        assert_eq!(worst.send_lag_p99_us, Some(Micros::new(20.0)));
        assert_eq!(worst.cpu_pct, Some(90.0));
        assert_eq!((worst.verdict, worst.reason.as_deref()), (ClientVerdict::ClientBound, Some("late")));
    }
}
