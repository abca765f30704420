//! Whether the client itself kept up.

use std::{
    io::{self, ErrorKind, Write},
    os::unix::net::UnixStream,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use records::{Client, Micros, Timing};

use crate::{
    cpu::{self, Meter, Usage},
    lag::Lag,
    verdict::Figures,
};

/// How often each thread is probed.
const PROBE: Duration = Duration::from_millis(10);
/// In a shorter run, starting and stopping are most of the CPU time.
const SHORTEST: Duration = Duration::from_millis(100);

/// What was seen so far.
pub(crate) struct Health {
    send: Lag,
    behind: Lag,
    latency: Lag,
    pace: Lag,
    threads: Vec<Thread>,
}

/// What was seen of a thread.
#[derive(Clone, Default)]
struct Thread {
    read: Arc<Lag>,
    meter: Arc<Meter>,
}

/// What a thread is probed by.
pub(crate) struct Probe {
    reader: UnixStream,
    origin: Instant,
    thread: Thread,
}

/// CPU time and wall time at the run's start.
#[derive(Debug, Clone)]
pub(crate) struct Baseline {
    cpu: Duration,
    threads: Vec<Usage>,
    /// The wall time, on the monotonic clock.
    pub(crate) wall: Instant,
}

impl Health {
    /// Nothing seen yet; and a probe for each of `threads`.
    ///
    /// A thread of its own writes the time into a socket of each probe; how long after that the event loop has come to
    /// reading it, is how late the bytes of an answer would have been read that came at that moment.
    pub(crate) fn new(threads: usize) -> io::Result<(Arc<Self>, Vec<Probe>)> {
        let threads = vec![(); threads].into_iter().map(|()| Thread::default()).collect();
        let health = Arc::new(Self {
            send: Lag::default(),
            behind: Lag::default(),
            latency: Lag::default(),
            pace: Lag::default(),
            threads,
        });
        let origin = Instant::now();
        let (mut writers, mut probes) = (Vec::new(), Vec::new());
        for thread in &health.threads {
            let (writer, reader) = UnixStream::pair()?;
            writer.set_nonblocking(true)?;
            reader.set_nonblocking(true)?;
            writers.push(writer);
            probes.push(Probe { reader, origin, thread: thread.clone() });
        }
        thread::Builder::new().name("probe".to_owned()).spawn(move || write_times(&writers, origin))?;
        Ok((health, probes))
    }

    /// From now on, what is seen counts.
    pub(crate) fn begin(&self) -> Baseline {
        self.threads.iter().for_each(|thread| thread.read.reset());
        let threads = self.threads.iter().map(|thread| thread.meter.read()).collect();
        Baseline { cpu: cpu::of_process(), threads, wall: Instant::now() }
    }

    /// A request was written this long after it was due, waiting for `--max-concurrency` and for its connection to
    /// open left out.
    pub(crate) fn sent_late(&self, lag: Duration) {
        self.send.record(lag);
    }

    /// A request was written this long after its schedule wanted it, whatever it waited for.
    pub(crate) fn behind_schedule(&self, lag: Duration) {
        self.behind.record(lag);
    }

    /// How far requests were behind their schedule, 99th percentile; none without one.
    pub(crate) fn behind(&self) -> Option<Duration> {
        Lag::merged([&self.behind]).at(0.99).map(Duration::from_micros)
    }

    /// A request succeeded, with these times.
    pub(crate) fn took(&self, row: &Timing) {
        let micros = |time: Micros| Duration::from_micros(time.us().max(0.0) as u64);
        let Some(latency) = row.e2e_us else { return };
        self.latency.record(micros(latency));
        let gaps = row.stream().output_times().count().saturating_sub(1) as f64;
        let after_first = row.ttft_us.map_or(latency, |first| latency - first);
        let pace = if gaps > 0.0 { Micros::new(after_first.us() / gaps) } else { latency };
        self.pace.record(micros(pace));
    }

    /// The client's part of `run_end`.
    pub(crate) fn report(&self, since: &Baseline, peak_in_flight: u64, connections: u64) -> Client {
        let wall = since.wall.elapsed();
        let share = |time: Duration| {
            (wall >= SHORTEST).then(|| (time.as_secs_f64() / wall.as_secs_f64() * 1000.0).round() / 10.0)
        };
        let spent: Vec<Usage> = self
            .threads
            .iter()
            .zip(&since.threads)
            .map(|(thread, before)| thread.meter.read() - *before)
            .collect();
        let send = Lag::merged([&self.send]);
        let read = Lag::merged(self.threads.iter().map(|thread| &*thread.read));
        let latency = Lag::merged([&self.latency]);
        let micros = |us: Option<u64>| us.map(|us| Micros::new(us as f64));
        let (verdict, reason) = Figures {
            send_us: send.at(0.99),
            read_us: read.at(0.99),
            latency_us: latency.at(0.5),
            pace_us: Lag::merged([&self.pace]).at(0.5),
            thread_cpu_pct: spent.iter().map(|spent| spent.cpu).max().and_then(share),
            thread_wait_pct: spent.iter().map(|spent| spent.waiting).max().and_then(share),
        }
        .verdict();
        Client {
            send_lag_p50_us: micros(send.at(0.5)),
            send_lag_p99_us: micros(send.at(0.99)),
            send_lag_max_us: micros(send.at(1.0)),
            read_lag_p50_us: micros(read.at(0.5)),
            read_lag_p99_us: micros(read.at(0.99)),
            read_lag_max_us: micros(read.at(1.0)),
            cpu_pct: share(cpu::of_process().saturating_sub(since.cpu)),
            threads: Some(self.threads.len() as u64),
            thread_cpu_pct: spent.iter().map(|spent| spent.cpu).max().and_then(share),
            thread_wait_pct: spent.iter().map(|spent| spent.waiting).max().and_then(share),
            peak_in_flight,
            connections,
            verdict,
            reason,
        }
    }
}

impl Probe {
    /// Where its thread notes how late it reads.
    pub(crate) fn read_lag(&self) -> Arc<Lag> {
        Arc::clone(&self.thread.read)
    }

    /// Reads the probe's times until dropped.
    pub(crate) async fn watch(self) {
        if let Ok(reader) = tokio::net::UnixStream::from_std(self.reader) {
            self.thread.meter.update();
            let mut times = [0; 8 * 64];
            while reader.readable().await.is_ok() {
                let read = reader.try_read(&mut times);
                let now = self.origin.elapsed();
                match read {
                    Ok(0) => break,
                    Ok(count) => {
                        for time in times[..count].as_chunks().0 {
                            let written = Duration::from_nanos(u64::from_ne_bytes(*time));
                            self.thread.read.record(now.saturating_sub(written));
                        }
                        self.thread.meter.update();
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(_) => break,
                }
            }
        }
        std::future::pending::<()>().await;
    }
}

/// Until the other ends are gone. A time that finds its socket full is left out: those before it are still waiting.
fn write_times(writers: &[UnixStream], origin: Instant) {
    loop {
        thread::sleep(PROBE);
        for mut writer in writers {
            let time = (origin.elapsed().as_nanos() as u64).to_ne_bytes();
            match writer.write_all(&time) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use records::ClientVerdict;

    use super::*;

    #[test]
    fn lateness_is_reported_however_large() {
        let health = Health::new(1).unwrap().0;
        let baseline = health.begin();
        health.sent_late(Duration::from_millis(66));
        health.sent_late(Duration::from_secs(30));
        let report = health.report(&baseline, 1, 1);
        let near = |us: Option<Micros>, expected: f64| (us.unwrap().us() / expected - 1.0).abs() < 0.001;
        assert!(near(report.send_lag_p50_us, 66e3) && near(report.send_lag_max_us, 30e6), "{report:?}");
        assert_eq!(report.verdict, ClientVerdict::ClientBound);
    }

    #[test]
    fn nothing_seen_is_null() {
        let health = Health::new(1).unwrap().0;
        let report = health.report(&health.begin(), 0, 0);
        assert_eq!((report.send_lag_p50_us, report.read_lag_max_us, report.cpu_pct), (None, None, None));
        assert_eq!(report.verdict, ClientVerdict::Ok);
    }

    #[test]
    fn a_thread_that_does_not_come_to_reading_is_noticed() {
        let (health, probes) = Health::new(1).unwrap();
        let baseline = health.begin();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let watch = tokio::spawn(probes.into_iter().next().unwrap().watch());
            tokio::time::sleep(Duration::from_millis(30)).await;
            thread::sleep(Duration::from_millis(300));
            tokio::time::sleep(Duration::from_millis(30)).await;
            watch.abort();
        });
        let report = health.report(&baseline, 0, 0);
        assert!(report.read_lag_max_us.unwrap().ms() > 200.0, "{report:?}");
        assert_eq!(report.verdict, ClientVerdict::ClientBound, "{report:?}");
    }
}
