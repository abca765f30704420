//! The run itself: rows in, requests out, each at its time.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use records::{Error, Phase, Result, StoppedBy, Timing};
use tokio::{
    runtime::Runtime,
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    task::JoinSet,
    time::sleep_until,
};

use crate::{
    connection::Request,
    exchange::Shape,
    feed::{Feed, Item, Row},
    health::Health,
    pacer::Pacer,
    progress::{self, Counters},
    shot::Shot,
    sink::Rows,
    stop::Stop,
    worker::Workers,
};

/// No run lasts longer: an instant beyond the clock's range cannot be waited for.
const FAR: Duration = Duration::from_secs(10 * 365 * 86_400);

/// What all requests of the run share.
pub(crate) struct Run {
    /// Its name.
    pub(crate) name: String,
    /// µs 0 of its clock.
    pub(crate) start: Instant,
    /// How requests are made.
    pub(crate) shape: Arc<Shape>,
    /// Who makes them.
    pub(crate) workers: Workers,
    /// Connections that each thread keeps ready for requests that come by a schedule.
    pub(crate) spare: usize,
    /// `--request-timeout`.
    pub(crate) timeout: Option<Duration>,
    /// How it is stopped.
    pub(crate) stop: Arc<Stop>,
    /// How far it is.
    pub(crate) counters: Counters,
    /// How well the client keeps up.
    pub(crate) health: Arc<Health>,
}

/// How sending came to its end.
#[derive(Debug)]
pub(crate) struct Sent {
    /// Rows read but not sent.
    pub(crate) unsent: u64,
    /// Why.
    pub(crate) stopped_by: StoppedBy,
    /// The hash over all rows, if all were read.
    pub(crate) dataset_sha256: Option<String>,
    /// What was wrong with the input.
    pub(crate) error: Option<Error>,
}

impl Sent {
    fn by(stopped_by: StoppedBy) -> Self {
        Self { unsent: 0, stopped_by, dataset_sha256: None, error: None }
    }
}

impl Run {
    /// Shows the progress, until aborted.
    pub(crate) async fn watch(self: Arc<Self>, quiet: bool) {
        progress::show(&self.counters, self.start, quiet).await;
    }

    /// Starts a thread that sends every row of `feed` at its time, and waits for it.
    pub(crate) async fn send_from_a_thread(
        self: &Arc<Self>,
        runtime: Runtime,
        feed: Feed,
        pacer: Pacer,
        gate: Gate,
        rows: Rows,
    ) -> Result<Sent> {
        let (run, (done, sent)) = (Arc::clone(self), oneshot::channel());
        let send = move || {
            punctual();
            let _ = done.send(runtime.block_on(run.send_all(feed, pacer, gate, rows)));
        };
        let failed = |why: &dyn std::fmt::Display| Error::usage(format!("cannot start threads: {why}"));
        thread::Builder::new().name("pacer".to_owned()).spawn(send).map_err(|error| failed(&error))?;
        sent.await.map_err(|error| failed(&error))
    }

    /// Sends every row of `feed` at its time. Returns when the last was sent; tasks hold clones of `rows` until their
    /// request has ended.
    ///
    /// The schedule is absolute, and the cap is waited for after it: requests of an open loop become late, never
    /// fewer, and their `scheduled_us` stays.
    async fn send_all(
        self: &Arc<Self>,
        mut feed: Feed,
        mut pacer: Pacer,
        mut gate: Gate,
        rows: Rows,
    ) -> Sent {
        let mut sent = loop {
            match self.stop.unless_draining(feed.next()).await.flatten() {
                Some(Item::Row(row)) => {
                    self.counters.row_read();
                    let request = self.shape.request(&row);
                    let due = row.at.or_else(|| pacer.next_due()).map(|due| self.start + due.min(FAR));
                    let Some(turn) = self.stop.unless_draining(gate.turn(due)).await else {
                        break Sent { unsent: 1, ..Sent::by(StoppedBy::Signal) };
                    };
                    self.spawn(row, request, turn, rows.clone());
                }
                Some(Item::End(hash)) => {
                    break Sent { dataset_sha256: Some(hash), ..Sent::by(StoppedBy::InputEnd) };
                }
                Some(Item::Bad(error)) => break Sent { error: Some(error), ..Sent::by(StoppedBy::BadInput) },
                None => break Sent::by(StoppedBy::Signal),
            }
        };
        self.counters.input_ended();
        sent.unsent += feed.close();
        sent
    }

    fn spawn(self: &Arc<Self>, row: Row, request: Request, turn: Turn, rows: Rows) {
        let run = Arc::clone(self);
        run.counters.began();
        let worker = self.workers.next();
        let client = Arc::clone(&worker.client);
        worker.spawn(async move {
            let mut shot = Shot::fire(&client, &row, &request, run.timeout, &run.stop).await;
            // The slot is free before anything is written about the request.
            run.counters.landed();
            drop(turn.permit);
            let rest = shot.rest.take();
            if let Some(lag) = shot.lag(turn.ready) {
                run.health.sent_late(lag);
            }
            let (ok, at) = (shot.is_ok(), shot.ended - run.start);
            let timing = shot.timing(&run.name, row, Phase::Main, run.start, turn.scheduled);
            if let Some(latency) = timing.e2e_us.filter(|_| ok) {
                run.health.took(latency);
            }
            run.counters.ended(ok, timing.output_tokens.unwrap_or(0), at);
            let _ = rows.send(timing);
            drop((rows, run));
            if let Some(rest) = rest {
                client.finish(rest).await;
            }
        });
        if worker.client.pool.is_short_of(self.spare) {
            drop(worker.open_ahead(self.spare));
        }
    }
}

/// Asks the system to end this thread's sleeps when they end; by default it may add 50 µs.
fn punctual() {
    #[cfg(target_os = "linux")]
    // SAFETY: the call takes plain numbers; a failure leaves the slack as it was.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}

/// Lets requests pass in order, each when it is due and `--max-concurrency` has room.
pub(crate) struct Gate {
    cap: Option<Arc<Semaphore>>,
    /// When the cap last let a request pass that had to wait for it.
    blocked_until: Option<Instant>,
    /// Requests without a schedule that have passed one after the other, none waiting for the cap.
    streak: u32,
}

/// Leave to send one request.
struct Turn {
    /// When the schedule wanted it sent, or else when it passed.
    scheduled: Instant,
    /// From when on only the client itself kept it from being sent.
    ready: Instant,
    permit: Option<OwnedSemaphorePermit>,
}

impl Gate {
    /// Nobody has passed yet.
    pub(crate) fn new(cap: Option<Arc<Semaphore>>) -> Self {
        Self { cap, blocked_until: None, streak: 0 }
    }

    async fn turn(&mut self, due: Option<Instant>) -> Turn {
        match due {
            Some(due) => until(due).await,
            None => self.pause(),
        }
        let permit = self.pass().await;
        let scheduled = due.unwrap_or_else(Instant::now);
        let ready = self.blocked_until.map_or(scheduled, |free| free.max(scheduled));
        Turn { scheduled, ready, permit }
    }

    /// Lets the server come to reading what was sent. A burst written faster than any server reads it would count, as
    /// time to first token, the time that requests lie in the socket.
    fn pause(&mut self) {
        const FEW: u32 = 16;
        const PAUSE: Duration = Duration::from_micros(700);
        self.streak += 1;
        if self.streak.is_multiple_of(FEW) {
            thread::sleep(PAUSE);
        }
    }

    async fn pass(&mut self) -> Option<OwnedSemaphorePermit> {
        let cap = self.cap.as_ref()?;
        if let Ok(permit) = Arc::clone(cap).try_acquire_owned() {
            return Some(permit);
        }
        let permit = Arc::clone(cap).acquire_owned().await.ok();
        self.blocked_until = Some(Instant::now());
        self.streak = 0;
        permit
    }
}

/// Waits until `due`, exactly: the timer's steps are of a millisecond, so the last two are slept by the thread, on
/// which nothing else runs.
async fn until(due: Instant) {
    const COARSE: Duration = Duration::from_millis(2);
    if due.saturating_duration_since(Instant::now()) > COARSE {
        sleep_until((due - COARSE).into()).await;
    }
    if let Some(rest) = due.checked_duration_since(Instant::now()) {
        thread::sleep(rest);
    }
}

/// A warm-up request that has ended: its row, its result, and when its turn had come.
pub(crate) type Warmup = (Row, Shot, Instant);

/// Sends `row` `count` times, as many at once as the run will, and waits for all.
pub(crate) async fn warm_up(
    workers: &Workers,
    row: &Row,
    count: u32,
    cap: Option<&Arc<Semaphore>>,
    timeout: Option<Duration>,
    stop: &Arc<Stop>,
) -> Vec<Warmup> {
    let mut tasks = JoinSet::new();
    for number in 0..count {
        let row = Row { id: format!("warmup-{number}"), request_id: None, ..row.clone() };
        let worker = workers.next();
        let (client, cap, stop) = (Arc::clone(&worker.client), cap.cloned(), Arc::clone(stop));
        let request = client.shape.request(&row);
        tasks.spawn(worker.spawn(async move {
            let _permit = match cap {
                Some(cap) => stop.unless_draining(cap.acquire_owned()).await?.ok(),
                None => None,
            };
            let ready = Instant::now();
            let mut shot = Shot::fire(&client, &row, &request, timeout, &stop).await;
            if let Some(rest) = shot.rest.take() {
                client.finish(rest).await;
            }
            Some((row, shot, ready))
        }));
    }
    tasks.join_all().await.into_iter().filter_map(|ended| ended.ok().flatten()).collect()
}

/// The rows of the warm-ups, now that the run's clock has a start.
pub(crate) fn warmup_rows(warmups: Vec<Warmup>, run: &Run) -> impl Iterator<Item = Timing> {
    warmups.into_iter().map(|(row, shot, ready)| shot.timing(&run.name, row, Phase::Warmup, run.start, ready))
}
