//! Connections of one thread, opened ahead of their requests and kept for reuse. A request never waits for another's.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use records::Outcome;
use rustls::ClientConfig;
use tokio::sync::OnceCell;

use crate::{connection::Connection, failure::Failure, target::Target};

/// Servers drop idle connections after 5 s (uvicorn, llama.cpp) or more; ours are older than that never.
const IDLE_LIMIT: Duration = Duration::from_secs(4);

/// Connections opened at once, and the pause after them: thousands at a stroke overflow a server's queue of those to
/// be accepted, and each that is dropped there tries again a second later.
const BATCH: usize = 32;
pub(crate) const PAUSE: Duration = Duration::from_millis(2);

/// Connections to one server.
pub(crate) struct Pool {
    target: Target,
    tls: Arc<ClientConfig>,
    addresses: Arc<OnceCell<Vec<SocketAddr>>>,
    idle: Mutex<Vec<Connection>>,
    opening: AtomicUsize,
    opened: AtomicU64,
}

impl Pool {
    /// An empty pool.
    pub(crate) fn new(target: Target, tls: Arc<ClientConfig>) -> Self {
        Self {
            target,
            tls,
            addresses: Arc::default(),
            idle: Mutex::default(),
            opening: AtomicUsize::new(0),
            opened: AtomicU64::new(0),
        }
    }

    /// An empty pool for another thread.
    pub(crate) fn sibling(&self) -> Self {
        let addresses = Arc::clone(&self.addresses);
        Self { addresses, ..Self::new(self.target.clone(), Arc::clone(&self.tls)) }
    }

    /// The idle connection used last, if one is still open.
    pub(crate) fn take(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(mut connection) = idle.pop() {
            if connection.idle_since.elapsed() > IDLE_LIMIT {
                // Those below it have been idle even longer.
                idle.clear();
            } else if connection.is_open() {
                return Some(connection);
            }
        }
        None
    }

    /// Opens a connection.
    pub(crate) async fn open(&self) -> Result<Connection, Failure> {
        let addresses = self.addresses.get_or_try_init(|| self.resolve()).await?;
        let connection = Connection::open(&self.target, addresses, &self.tls).await?;
        self.opened.fetch_add(1, Relaxed);
        Ok(connection)
    }

    /// Says that connections are being opened until `count` are ready; returns how many are to be opened at once now.
    pub(crate) fn reserve(&self, count: usize) -> usize {
        let missing = count.saturating_sub(self.ready()).min(BATCH);
        self.opening.fetch_add(missing, Relaxed);
        missing
    }

    /// Opens one of those reserved. False if that failed: the requests will find out why.
    pub(crate) async fn open_reserved(&self) -> bool {
        let opened = self.open().await;
        self.opening.fetch_sub(1, Relaxed);
        opened.map(|connection| self.put(connection)).is_ok()
    }

    /// Whether fewer than `count` are idle or about to be.
    pub(crate) fn is_short_of(&self, count: usize) -> bool {
        self.ready() < count
    }

    fn ready(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).len() + self.opening.load(Relaxed)
    }

    /// Keeps a connection whose last answer was read to its end.
    pub(crate) fn keep(&self, mut connection: Connection) {
        connection.used = true;
        if connection.is_open() {
            connection.idle_since = Instant::now();
            self.put(connection);
        }
    }

    /// How many connections were opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Relaxed)
    }

    fn put(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }

    /// Once a run: a name is not looked up for each connection.
    async fn resolve(&self) -> Result<Vec<SocketAddr>, Failure> {
        if self.target.socket.is_some() {
            return Ok(Vec::new());
        }
        let place = &self.target.authority;
        let refused = |error: &dyn std::fmt::Display| {
            Failure::new(Outcome::Connect, format!("cannot find {place}: {error}"))
        };
        let found = tokio::net::lookup_host((self.target.host.as_str(), self.target.port)).await;
        let found: Vec<SocketAddr> = found.map_err(|error| refused(&error))?.collect();
        if found.is_empty() { Err(refused(&"no address of that name")) } else { Ok(found) }
    }
}
