//! The threads that send and receive, each with an event loop and connections of its own: what one of them reads, no
//! other has to be woken for.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use records::{Error, Result};
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

use crate::{exchange::Client, health::Probe};

/// One thread.
pub(crate) struct Worker {
    /// How it makes requests.
    pub(crate) client: Arc<Client>,
    handle: Handle,
    /// Tasks that it was given to send requests.
    busy: Arc<AtomicUsize>,
    _stop: oneshot::Sender<()>,
}

/// All of them.
pub(crate) struct Workers {
    workers: Vec<Worker>,
}

/// Counts a task for as long as it lives.
pub(crate) struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Workers {
    /// Starts `count` threads whose requests are made like those of `client`; each is probed by one of `probes`.
    pub(crate) fn start(client: Client, probes: Vec<Probe>) -> Result<Self> {
        let mut clients = vec![client];
        while clients.len() < probes.len() {
            clients.push(clients[0].sibling());
        }
        let workers = clients
            .into_iter()
            .zip(probes)
            .map(|(client, probe)| Worker::start(client.noting(probe.read_lag()), probe));
        Ok(Self { workers: workers.collect::<Result<_>>()? })
    }

    /// The one with the least to do, the first of several: so that few streams share few connections.
    pub(crate) fn next(&self) -> (&Worker, Busy) {
        let least =
            self.workers.iter().min_by_key(|worker| worker.busy.load(Relaxed)).unwrap_or(&self.workers[0]);
        least.busy.fetch_add(1, Relaxed);
        (least, Busy(Arc::clone(&least.busy)))
    }

    /// Each.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Worker> {
        self.workers.iter()
    }

    /// How many servers they send to.
    pub(crate) fn sites(&self) -> usize {
        self.workers[0].client.shape.sites.len()
    }

    /// Opens connections until each thread has its part of `count`.
    pub(crate) async fn open_ahead(&self, count: usize) {
        let (each, more) = (count / self.workers.len(), count % self.workers.len());
        let part = |(at, worker): (usize, &Worker)| worker.open_ahead(each + usize::from(at < more));
        let opening: Vec<_> = self.all().enumerate().map(part).collect();
        for opened in opening {
            let _ = opened.await;
        }
    }

    /// How many connections they have opened.
    pub(crate) fn connections(&self) -> u64 {
        self.all().map(|worker| worker.client.opened()).sum()
    }
}

impl Worker {
    fn start(client: Client, probe: Probe) -> Result<Self> {
        let failed = |error: std::io::Error| Error::usage(format!("cannot start threads: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = probe.watch() => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        };
        thread::Builder::new().name("worker".to_owned()).spawn(run).map_err(failed)?;
        Ok(Self { client: Arc::new(client), handle, busy: Arc::default(), _stop: stop })
    }

    /// Runs `task` on this thread.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.handle.spawn(task)
    }

    /// Opens connections until `count` are ready.
    pub(crate) fn open_ahead(&self, count: usize) -> tokio::task::JoinHandle<()> {
        let client = Arc::clone(&self.client);
        self.spawn(async move { client.open_ahead(count).await })
    }
}
