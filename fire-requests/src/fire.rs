//! The run itself: rows in, requests out, each at its time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use records::{Error, Phase, StoppedBy, Timing};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::sleep_until,
};

use crate::{
    exchange::Client,
    feed::{Feed, Item, Row},
    health::Health,
    pacer::Pacer,
    progress::{self, Counters},
    shot::Shot,
    sink::Rows,
    stop::Stop,
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
    pub(crate) client: Arc<Client>,
    /// `--request-timeout`.
    pub(crate) timeout: Option<Duration>,
    /// How it is stopped.
    pub(crate) stop: Arc<Stop>,
    /// How far it is.
    pub(crate) counters: Counters,
    /// How well the client keeps up.
    pub(crate) health: Health,
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
    /// A run that begins at `start`.
    pub(crate) fn new(
        name: &str,
        start: Instant,
        client: Arc<Client>,
        timeout: Option<Duration>,
        stop: &Arc<Stop>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            start,
            client,
            timeout,
            stop: Arc::clone(stop),
            counters: Counters::default(),
            health: Health::new(),
        }
    }

    /// Probes the event loop and shows the progress, until aborted.
    pub(crate) async fn watch(self: Arc<Self>, quiet: bool) {
        tokio::join!(self.health.probe(), progress::show(&self.counters, self.start, quiet));
    }

    /// Sends every row of `feed` at its time. Returns when the last was sent; tasks hold clones of `rows` until their
    /// request has ended.
    ///
    /// The schedule is absolute, and the cap is waited for after it: requests of an open loop become late, never
    /// fewer, and their `scheduled_us` stays.
    pub(crate) async fn send_all(
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
                    let due = row.at.or_else(|| pacer.next_due()).map(|due| self.start + due.min(FAR));
                    let Some(turn) = self.stop.unless_draining(gate.turn(due)).await else {
                        break Sent { unsent: 1, ..Sent::by(StoppedBy::Signal) };
                    };
                    self.spawn(row, turn, rows.clone());
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

    fn spawn(self: &Arc<Self>, row: Row, turn: Turn, rows: Rows) {
        let run = Arc::clone(self);
        run.counters.began();
        tokio::spawn(async move {
            let mut shot = Shot::fire(&run.client, &row, run.timeout, &run.stop).await;
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
            drop(rows);
            if let Some(rest) = rest {
                run.client.finish(rest).await;
            }
        });
    }
}

/// Lets requests pass in order, each when it is due and `--max-concurrency` has room.
pub(crate) struct Gate {
    cap: Option<Arc<Semaphore>>,
    /// When the cap last let a request pass that had to wait for it.
    blocked_until: Option<Instant>,
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
        Self { cap, blocked_until: None }
    }

    async fn turn(&mut self, due: Option<Instant>) -> Turn {
        if let Some(due) = due {
            sleep_until(due.into()).await;
        }
        let permit = self.pass().await;
        let scheduled = due.unwrap_or_else(Instant::now);
        let ready = self.blocked_until.map_or(scheduled, |free| free.max(scheduled));
        Turn { scheduled, ready, permit }
    }

    async fn pass(&mut self) -> Option<OwnedSemaphorePermit> {
        let cap = self.cap.as_ref()?;
        if let Ok(permit) = Arc::clone(cap).try_acquire_owned() {
            return Some(permit);
        }
        let permit = Arc::clone(cap).acquire_owned().await.ok();
        self.blocked_until = Some(Instant::now());
        permit
    }
}

/// A warm-up request that has ended: its row, its result, and when its turn had come.
pub(crate) type Warmup = (Row, Shot, Instant);

/// Sends `row` `count` times, as many at once as the run will, and waits for all.
pub(crate) async fn warm_up(
    client: &Arc<Client>,
    row: &Row,
    count: u32,
    cap: Option<&Arc<Semaphore>>,
    timeout: Option<Duration>,
    stop: &Arc<Stop>,
) -> Vec<Warmup> {
    let mut tasks = JoinSet::new();
    for number in 0..count {
        let row = Row { id: format!("warmup-{number}"), request_id: None, ..row.clone() };
        let (client, cap, stop) = (Arc::clone(client), cap.cloned(), Arc::clone(stop));
        tasks.spawn(async move {
            let _permit = match cap {
                Some(cap) => stop.unless_draining(cap.acquire_owned()).await?.ok(),
                None => None,
            };
            let ready = Instant::now();
            let mut shot = Shot::fire(&client, &row, timeout, &stop).await;
            if let Some(rest) = shot.rest.take() {
                client.finish(rest).await;
            }
            Some((row, shot, ready))
        });
    }
    tasks.join_all().await.into_iter().flatten().collect()
}

/// The rows of the warm-ups, now that the run's clock has a start.
pub(crate) fn warmup_rows(warmups: Vec<Warmup>, run: &Run) -> impl Iterator<Item = Timing> {
    warmups.into_iter().map(|(row, shot, ready)| shot.timing(&run.name, row, Phase::Warmup, run.start, ready))
}
