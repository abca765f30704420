//! When a request may pass.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::sleep_until,
};

use crate::worker::Busy;

/// Lets requests pass in order, each when it is due and `--max-concurrency` has room.
pub(crate) struct Gate {
    cap: Option<Arc<Semaphore>>,
    /// When the cap last let a request pass that had to wait for it.
    blocked_until: Option<Instant>,
    /// Requests without a schedule that have passed one after the other, none waiting for the cap.
    streak: u32,
}

/// Leave to send one request.
pub(crate) struct Leave {
    /// When the schedule wanted it sent, or else when it passed.
    pub(crate) scheduled: Instant,
    /// Whether it was due by a schedule.
    pub(crate) by_schedule: bool,
    /// From when on only the client itself kept it from being sent.
    pub(crate) ready: Instant,
    /// Its place under the cap.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    /// That its thread is busy with it.
    pub(crate) busy: Option<Busy>,
}

impl Gate {
    /// Nobody has passed yet.
    pub(crate) fn new(cap: Option<Arc<Semaphore>>) -> Self {
        Self { cap, blocked_until: None, streak: 0 }
    }

    /// Waits until `due`, then for the cap.
    pub(crate) async fn turn(&mut self, due: Option<Instant>) -> Leave {
        match due {
            Some(due) => until(due).await,
            None => self.pause(),
        }
        let permit = self.pass().await;
        let scheduled = due.unwrap_or_else(Instant::now);
        let ready = self.blocked_until.map_or(scheduled, |free| free.max(scheduled));
        Leave { scheduled, by_schedule: due.is_some(), ready, permit, busy: None }
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
    if let Some(soon) = due.checked_sub(COARSE).filter(|&soon| soon > Instant::now()) {
        sleep_until(soon.into()).await;
    }
    if let Some(rest) = due.checked_duration_since(Instant::now()) {
        thread::sleep(rest);
    }
}

/// Asks the system to end this thread's sleeps when they end; by default it may add 50 µs.
pub(crate) fn punctual() {
    #[cfg(target_os = "linux")]
    // SAFETY: the call takes plain numbers; a failure leaves the slack as it was.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}
