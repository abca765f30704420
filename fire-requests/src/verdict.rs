//! Whether a run's figures are the server's or the client's.

use std::time::Duration;

use records::ClientVerdict;

/// Beyond this much lateness (99th percentile), figures in milliseconds are the client's more than the server's.
const LATE: Duration = Duration::from_millis(10);
/// TTFT is counted from the bytes' writing, so sending late bends the load and not the latencies: it may be this part
/// of the median latency besides.
const LATE_PART: f64 = 0.05;
/// A thread that is busy for more of the time than this has none left for what comes next.
const BUSY_PCT: f64 = 95.0;
/// A thread that waits for a CPU for more of the time than this shares its CPU with something else …
const WAITING_PCT: f64 = 5.0;
/// … which matters once reads are late by this much (99th percentile) …
const HELD_UP: Duration = Duration::from_millis(1);
/// … and by this part of the time between two events.
const HELD_UP_PART: f64 = 0.1;

/// What a verdict is made from; what was not seen is none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    /// How late requests were written, 99th percentile, µs.
    pub(crate) send_us: Option<u64>,
    /// How late bytes were read, 99th percentile, µs.
    pub(crate) read_us: Option<u64>,
    /// Median end-to-end latency, µs.
    pub(crate) latency_us: Option<u64>,
    /// Median time from one event to the next, µs.
    pub(crate) pace_us: Option<u64>,
    /// CPU time of the busiest thread, % of the elapsed time.
    pub(crate) thread_cpu_pct: Option<f64>,
    /// Time that a thread waited for a CPU, of the one that waited longest, % of the elapsed time.
    pub(crate) thread_wait_pct: Option<f64>,
}

impl Figures {
    /// The verdict, and the reason if it is not `ok`.
    pub(crate) fn verdict(&self) -> (ClientVerdict, Option<String>) {
        match self.problem() {
            Some(problem) => (ClientVerdict::ClientBound, Some(problem)),
            None => (ClientVerdict::Ok, None),
        }
    }

    fn problem(&self) -> Option<String> {
        let ms = |us: u64| us as f64 / 1e3;
        let beyond = |limit: Duration| move |us: &u64| u128::from(*us) > limit.as_micros();
        let part = self.latency_us.map_or(0.0, |median| median as f64 * LATE_PART);
        if let Some(us) = self.send_us.filter(beyond(LATE)).filter(|&us| us as f64 > part) {
            return Some(format!("requests were written up to {:.1} ms late (p99)", ms(us)));
        }
        if let Some(us) = self.read_us.filter(beyond(LATE)) {
            return Some(format!("answers were read up to {:.1} ms late (p99)", ms(us)));
        }
        if let Some(pct) = self.thread_cpu_pct.filter(|&pct| pct > BUSY_PCT) {
            return Some(format!(
                "a thread was busy for {pct:.0} % of the time; give more --threads, or more CPUs"
            ));
        }
        let pace = self.pace_us.map_or(0.0, |pace| pace as f64 * HELD_UP_PART);
        let held_up = self.read_us.filter(beyond(HELD_UP)).filter(|&us| us as f64 > pace)?;
        let waiting = self.thread_wait_pct.filter(|&pct| pct > WAITING_PCT)?;
        Some(format!(
            "a thread waited for a CPU for {waiting:.0} % of the time, and answers were read up to {:.1} ms late \
             (p99); something else runs on its CPUs",
            ms(held_up)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_keeps_up_is_ok() {
        for figures in [
            Figures::default(),
            Figures { send_us: Some(9_000), read_us: Some(900), ..Figures::default() },
            Figures { send_us: Some(66_000), latency_us: Some(2_000_000), ..Figures::default() },
            Figures { read_us: Some(8_000), thread_cpu_pct: Some(90.0), ..Figures::default() },
            Figures { read_us: Some(8_000), thread_wait_pct: Some(4.0), ..Figures::default() },
            Figures { read_us: Some(500), thread_wait_pct: Some(40.0), ..Figures::default() },
            Figures {
                read_us: Some(3_000),
                pace_us: Some(40_000),
                thread_wait_pct: Some(40.0),
                ..Figures::default()
            },
        ] {
            assert_eq!(figures.verdict(), (ClientVerdict::Ok, None), "{figures:?}");
        }
    }

    #[test]
    fn one_that_does_not_is_told_why() {
        for (figures, part) in [
            (
                Figures { send_us: Some(12_500), latency_us: Some(200_000), ..Figures::default() },
                "written up to 12.5 ms late",
            ),
            (Figures { read_us: Some(20_000), ..Figures::default() }, "read up to 20.0 ms late"),
            (Figures { thread_cpu_pct: Some(99.0), ..Figures::default() }, "busy for 99 %"),
            (
                Figures { read_us: Some(3_000), thread_wait_pct: Some(30.0), ..Figures::default() },
                "waited for a CPU for 30 %",
            ),
        ] {
            let (verdict, reason) = figures.verdict();
            assert_eq!(verdict, ClientVerdict::ClientBound);
            assert!(reason.unwrap().contains(part), "{figures:?}");
        }
    }
}
