//! Requests that warm the server and are not measured: before the run, or as its beginning.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use records::{Phase, Timing};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    feed::Row,
    fire::Run,
    shot::{Shot, Terms},
    stop::Stop,
    worker::Workers,
};

/// The part of a run that warms the server: nothing is waited for between it and what is measured.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Share {
    /// The first so many rows.
    pub(crate) requests: u64,
    /// What is scheduled before this time.
    pub(crate) time: Duration,
}

impl Share {
    /// The phase of row number `index`, which is scheduled at this time of the run.
    pub(crate) fn phase(&self, index: u64, scheduled: Duration) -> Phase {
        if index < self.requests || scheduled < self.time { Phase::Warmup } else { Phase::Main }
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
    let sites = workers.sites();
    for number in 0..count {
        let site = number as usize % sites;
        let row =
            Row { id: format!("warmup-{number}"), request_id: None, site, later: Vec::new(), ..row.clone() };
        let (worker, busy) = workers.next();
        let (client, cap, stop) = (Arc::clone(&worker.client), cap.cloned(), Arc::clone(stop));
        let request = client.shape.request(&row);
        tasks.spawn(worker.spawn(async move {
            let _permit = match cap {
                Some(cap) => stop.unless_draining(cap.acquire_owned()).await?.ok(),
                None => None,
            };
            let (ready, terms) = (Instant::now(), Terms { timeout, keep_text: false, stop: &stop });
            let mut shot = Shot::fire(&client, &row, &request, &terms).await;
            if let Some(rest) = shot.rest.take() {
                client.finish(rest, site).await;
            }
            drop(busy);
            Some((row, shot, ready))
        }));
    }
    tasks.join_all().await.into_iter().filter_map(|ended| ended.ok().flatten()).collect()
}

/// The rows of the warm-ups, now that the run's clock has a start.
pub(crate) fn warmup_rows(warmups: Vec<Warmup>, run: &Run) -> impl Iterator<Item = Timing> {
    warmups.into_iter().map(|(row, shot, ready)| shot.timing(&run.name, row, Phase::Warmup, run.start, ready))
}
