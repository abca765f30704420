//! The run itself: rows in, requests out, each at its time.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use records::{Error, Result, StoppedBy};
use tokio::{runtime::Runtime, sync::oneshot};

use crate::{
    body::Template,
    connection::Request,
    exchange::Shape,
    feed::{Feed, Item, Row},
    gate::{Gate, Leave, punctual},
    health::Health,
    pacer::{Due, Pacer},
    progress::{self, Counters},
    shard::Shard,
    sink::Rows,
    stop::Stop,
    warmup::Share,
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
    /// How bodies are made, of turns that must wait for the one before.
    pub(crate) template: Arc<Template>,
    /// How requests are made.
    pub(crate) shape: Arc<Shape>,
    /// Who makes them.
    pub(crate) workers: Workers,
    /// Connections that each thread keeps ready for requests that come by a schedule.
    pub(crate) spare: usize,
    /// The part of the rows that is sent.
    pub(crate) shard: Option<Shard>,
    /// `--request-timeout`.
    pub(crate) timeout: Option<Duration>,
    /// Whether there is a `--max-concurrency`.
    pub(crate) capped: bool,
    /// `--think-time`.
    pub(crate) think_time: Duration,
    /// `--max-failures`.
    pub(crate) max_failures: Option<u64>,
    /// Which requests are sent to warm the server.
    pub(crate) warmup: Share,
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
        let task = move || {
            punctual();
            let _ = done.send(runtime.block_on(run.send_all(feed, pacer, gate, rows)));
        };
        let failed = |why: &dyn std::fmt::Display| Error::usage(format!("cannot start threads: {why}"));
        thread::Builder::new().name("pacer".to_owned()).spawn(task).map_err(|error| failed(&error))?;
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
                Some(Item::Row(row)) if row.done => {}
                Some(Item::Row(row)) => {
                    let mut row = *row;
                    let due = row.at.map_or_else(|| pacer.next_due(), Due::At);
                    if self.shard.is_some_and(|shard| !shard.has(row.number)) {
                        continue;
                    }
                    self.counters.row_read(row.requests());
                    row.site = row.number as usize % self.shape.sites.len();
                    let request = self.shape.request(&row);
                    let due = match due {
                        Due::InTurn => None,
                        Due::At(time) => Some(self.start + time.min(FAR)),
                        Due::Never => {
                            break Sent { unsent: row.requests(), ..Sent::by(StoppedBy::ScheduleEnd) };
                        }
                    };
                    let Some(turn) = self.stop.unless_draining(gate.turn(due)).await else {
                        break Sent { unsent: row.requests(), ..self.stopped() };
                    };
                    self.spawn(row, request, turn, rows.clone());
                }
                Some(Item::End(hash)) => {
                    break Sent { dataset_sha256: Some(hash), ..Sent::by(StoppedBy::InputEnd) };
                }
                Some(Item::Bad(error)) => break Sent { error: Some(error), ..Sent::by(StoppedBy::BadInput) },
                None => break self.stopped(),
            }
        };
        self.counters.input_ended();
        sent.unsent += feed.close(self.shard);
        sent
    }

    fn stopped(&self) -> Sent {
        Sent::by(self.stop.reason().unwrap_or(StoppedBy::Signal))
    }

    fn spawn(self: &Arc<Self>, row: Row, request: Request, leave: Leave, rows: Rows) {
        self.counters.began();
        let (worker, busy) = self.workers.next();
        let leave = Leave { busy: Some(busy), ..leave };
        let is_short = worker.client.is_short_of(self.spare, &row);
        worker.spawn(Arc::clone(self).talk(Arc::clone(&worker.client), row, request, leave, rows));
        if is_short {
            drop(worker.open_ahead(self.spare));
        }
    }
}
