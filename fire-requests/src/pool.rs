//! Idle connections, kept for reuse. The pool never makes a request wait.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use rustls::ClientConfig;

use crate::{connection::Connection, failure::Failure, target::Target};

/// Servers drop idle connections after 5 s (uvicorn, llama.cpp) or more; ours are older than that never.
const IDLE_LIMIT: Duration = Duration::from_secs(4);

/// Connections to one server.
pub(crate) struct Pool {
    target: Target,
    tls: Arc<ClientConfig>,
    idle: Mutex<Vec<(Connection, Instant)>>,
    opened: AtomicU64,
}

impl Pool {
    /// An empty pool.
    pub(crate) fn new(target: Target, tls: Arc<ClientConfig>) -> Self {
        Self { target, tls, idle: Mutex::default(), opened: AtomicU64::new(0) }
    }

    /// The idle connection used last, if one is still open.
    pub(crate) fn take(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((mut connection, since)) = idle.pop() {
            if since.elapsed() > IDLE_LIMIT {
                // Those below it have been idle even longer.
                idle.clear();
            } else if connection.is_open() {
                return Some(connection);
            }
        }
        None
    }

    /// Opens a connection; says how long that took.
    pub(crate) async fn open(&self) -> Result<(Connection, Duration), Failure> {
        let opened = Connection::open(&self.target, &self.tls).await?;
        self.opened.fetch_add(1, Relaxed);
        Ok(opened)
    }

    /// Keeps a connection whose last answer was read to its end.
    pub(crate) fn keep(&self, mut connection: Connection) {
        if connection.is_open() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((connection, Instant::now()));
        }
    }

    /// How many connections were opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Relaxed)
    }
}
