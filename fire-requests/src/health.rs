//! Whether the client itself kept up.

use std::{
    mem::MaybeUninit,
    sync::{Mutex, PoisonError},
    thread::available_parallelism,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use records::{Client, ClientVerdict, Micros};

/// Beyond this much lateness (99th percentile), figures in milliseconds are the client's more than the server's.
const LATE_US: u64 = 10_000;
/// TTFT is counted from the bytes' writing, so sending late bends the load and not the latencies: it may be this part
/// of the median latency besides.
const LATE_PART: f64 = 0.05;
/// A day; lateness beyond it is recorded as this much.
const LONGEST_US: u64 = 86_400_000_000;
/// Beyond this part of all cores, requests wait for the client's CPU.
const BUSY: f64 = 0.9;
/// In a shorter run, starting and stopping are most of the CPU time.
const SHORTEST: Duration = Duration::from_millis(100);
/// How often the event loop is probed.
const PROBE: Duration = Duration::from_millis(20);

/// Lateness seen so far, in µs.
pub(crate) struct Health {
    send: Mutex<Histogram<u64>>,
    read: Mutex<Histogram<u64>>,
    latency: Mutex<Histogram<u64>>,
}

/// CPU time and wall time at the run's start.
#[derive(Clone, Copy)]
pub(crate) struct Baseline {
    cpu: Duration,
    /// The wall time, on the monotonic clock.
    pub(crate) wall: Instant,
}

impl Baseline {
    /// Now.
    pub(crate) fn now() -> Self {
        Self { cpu: cpu_time(), wall: Instant::now() }
    }

    fn cpu_pct(self) -> Option<f64> {
        let wall = self.wall.elapsed();
        let cpu = cpu_time().saturating_sub(self.cpu);
        (wall >= SHORTEST).then(|| (cpu.as_secs_f64() / wall.as_secs_f64() * 1000.0).round() / 10.0)
    }
}

impl Health {
    /// Nothing seen yet.
    pub(crate) fn new() -> Self {
        let [send, read, latency] = std::array::from_fn(|_| Mutex::new(histogram()));
        Self { send, read, latency }
    }

    /// A request was written this long after it was due, waiting for `--max-concurrency` and for its connection to
    /// open left out.
    pub(crate) fn sent_late(&self, lag: Duration) {
        record(&self.send, lag.as_micros() as u64);
    }

    /// A request succeeded with this end-to-end latency.
    pub(crate) fn took(&self, latency: Micros) {
        record(&self.latency, latency.us() as u64);
    }

    /// Measures how late the event loop wakes, until dropped.
    pub(crate) async fn probe(&self) {
        loop {
            let due = Instant::now() + PROBE;
            tokio::time::sleep_until(due.into()).await;
            record(&self.read, due.elapsed().as_micros() as u64);
        }
    }

    /// The client's part of `run_end`.
    pub(crate) fn report(&self, since: Baseline, peak_in_flight: u64, connections: u64) -> Client {
        let send = self.send.lock().unwrap_or_else(PoisonError::into_inner);
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let latency = self.latency.lock().unwrap_or_else(PoisonError::into_inner);
        let cpu_pct = since.cpu_pct();
        let allowed = quantile(&latency, 0.5).map_or(0.0, |median| LATE_PART * median as f64) as u64;
        let reason = reason(quantile(&send, 0.99), allowed, quantile(&read, 0.99), cpu_pct);
        let micros = |us: Option<u64>| us.map(|us| Micros::new(us as f64));
        Client {
            send_lag_p50_us: micros(quantile(&send, 0.5)),
            send_lag_p99_us: micros(quantile(&send, 0.99)),
            send_lag_max_us: micros(quantile(&send, 1.0)),
            read_lag_p99_us: micros(quantile(&read, 0.99)),
            read_lag_max_us: micros(quantile(&read, 1.0)),
            cpu_pct,
            peak_in_flight,
            connections,
            verdict: if reason.is_some() { ClientVerdict::ClientBound } else { ClientVerdict::Ok },
            reason,
        }
    }
}

fn reason(
    send_us: Option<u64>,
    allowed_us: u64,
    read_us: Option<u64>,
    cpu_pct: Option<f64>,
) -> Option<String> {
    let late = |us: Option<u64>| us.filter(|&us| us > LATE_US).map(|us| us as f64 / 1e3);
    let send_us = send_us.filter(|&us| us > allowed_us);
    let full = available_parallelism().map_or(1, usize::from) as f64 * 100.0;
    if let Some(ms) = late(send_us) {
        return Some(format!("requests were written up to {ms:.1} ms late (p99)"));
    }
    if let Some(ms) = late(read_us) {
        return Some(format!("answers were read up to {ms:.1} ms late (p99)"));
    }
    cpu_pct.filter(|&cpu| cpu > BUSY * full).map(|cpu| format!("{cpu:.0} % CPU used of {full:.0} %"))
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST_US, 3).expect("3 significant digits are in the allowed range of 0 to 5")
}

fn record(histogram: &Mutex<Histogram<u64>>, us: u64) {
    histogram.lock().unwrap_or_else(PoisonError::into_inner).saturating_record(us);
}

fn quantile(histogram: &Histogram<u64>, quantile: f64) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile))
}

/// CPU time of this process, user and system.
fn cpu_time() -> Duration {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writing, and zeroes are a valid `rusage` if the call writes nothing.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |part: libc::timeval| Duration::new(part.tv_sec as u64, part.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_has_a_reason() {
        assert_eq!(reason(Some(9_000), 0, Some(100), Some(50.0)), None);
        assert_eq!(reason(None, 0, None, None), None);
        assert_eq!(reason(Some(66_000), 70_000, None, None), None);
        assert_eq!(
            reason(Some(12_500), 12_000, None, None).unwrap(),
            "requests were written up to 12.5 ms late (p99)"
        );
        assert_eq!(
            reason(Some(5), 0, Some(20_000), None).unwrap(),
            "answers were read up to 20.0 ms late (p99)"
        );
        assert!(reason(None, 0, None, Some(1e6)).unwrap().contains("CPU"));
    }

    #[test]
    fn lateness_is_recorded_however_large() {
        let health = Health::new();
        health.sent_late(Duration::from_millis(66));
        health.sent_late(Duration::from_secs(30));
        let report = health.report(Baseline::now(), 1, 1);
        let near = |us: Option<Micros>, expected: f64| (us.unwrap().us() / expected - 1.0).abs() < 0.001;
        assert!(near(report.send_lag_p50_us, 66e3) && near(report.send_lag_max_us, 30e6), "{report:?}");
        assert_eq!(report.verdict, ClientVerdict::ClientBound);
    }

    #[test]
    fn nothing_seen_is_null() {
        let report = Health::new().report(Baseline::now(), 0, 0);
        assert_eq!((report.send_lag_p50_us, report.read_lag_max_us, report.cpu_pct), (None, None, None));
        assert_eq!(report.verdict, ClientVerdict::Ok);
    }
}
