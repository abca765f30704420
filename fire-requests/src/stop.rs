//! How a run is stopped before its input ends.

use std::{
    future::Future,
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI32, Ordering::Relaxed},
    },
    time::Duration,
};

use libc::{SIGINT, SIGTERM, c_int};
use records::StoppedBy;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

/// How far a run is from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Stage {
    Running,
    /// Nothing more is sent; what is in flight may finish.
    Draining,
    /// Nothing is waited for.
    Over,
}

/// Tells everybody when to stop.
#[derive(Debug)]
pub(crate) struct Stop {
    stage: watch::Sender<Stage>,
    signal: AtomicI32,
    reason: OnceLock<StoppedBy>,
}

impl Stop {
    /// A run that goes on.
    pub(crate) fn new() -> Self {
        Self { stage: watch::Sender::new(Stage::Running), signal: AtomicI32::new(0), reason: OnceLock::new() }
    }

    /// The output of `future`, or `None` once nothing more is to be sent.
    pub(crate) async fn unless_draining<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        self.unless(Stage::Draining, future).await
    }

    /// The output of `future`, or `None` once nothing is waited for.
    pub(crate) async fn unless_over<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        self.unless(Stage::Over, future).await
    }

    /// Lets nothing more be sent; what is in flight may finish.
    pub(crate) fn drain(&self, reason: StoppedBy) {
        let _ = self.reason.set(reason);
        self.stage.send_if_modified(|stage| {
            let running = *stage == Stage::Running;
            if running {
                *stage = Stage::Draining;
            }
            running
        });
    }

    /// Why nothing more is sent, if that is so.
    pub(crate) fn reason(&self) -> Option<StoppedBy> {
        self.reason.get().copied()
    }

    /// Ends the run at once: nobody reads its output any more.
    pub(crate) fn now(&self) {
        self.stage.send_replace(Stage::Over);
    }

    /// The signal that stopped the run.
    pub(crate) fn signal(&self) -> Option<c_int> {
        Some(self.signal.load(Relaxed)).filter(|&number| number != 0)
    }

    async fn unless<T>(&self, stage: Stage, future: impl Future<Output = T>) -> Option<T> {
        let mut watched = self.stage.subscribe();
        tokio::select! {
            biased;
            _ = watched.wait_for(|&now| now >= stage) => None,
            output = future => Some(output),
        }
    }
}

/// SIGINT and SIGTERM.
pub(crate) struct Signals {
    int: Signal,
    term: Signal,
}

impl Signals {
    /// From now on, they no longer end the process.
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Self { int: signal(SignalKind::interrupt())?, term: signal(SignalKind::terminate())? })
    }

    /// Stops the run: sending at the first signal, everything at the second or after `grace`.
    pub(crate) async fn obey(mut self, stop: Arc<Stop>, grace: Duration) {
        let number = self.next().await;
        stop.signal.store(number, Relaxed);
        stop.drain(StoppedBy::Signal);
        eprintln!(
            "fire-requests: stopping; requests in flight have {} s to finish, interrupt again to end at once",
            grace.as_secs_f64()
        );
        let _ = tokio::time::timeout(grace, self.next()).await;
        stop.now();
    }

    async fn next(&mut self) -> c_int {
        tokio::select! {
            _ = self.int.recv() => SIGINT,
            _ = self.term.recv() => SIGTERM,
        }
    }
}

/// Ends the process by the signal that stopped the run, so that a shell loop around it ends too.
pub(crate) fn die_by(signal: c_int) {
    // SAFETY: both calls take plain numbers; no handler of ours needs to run after this.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
