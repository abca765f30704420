//! One request and its answer.

use std::{
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use http::{HeaderMap, header};
use records::{Micros, Outcome};
use tokio::task::JoinSet;

use crate::{
    answer::Answer,
    api::Api,
    connection::{Connection, Read, Request},
    failure::Failure,
    feed::Row,
    http1,
    lag::Lag,
    pool::{PAUSE, Pool},
    reception::{Reception, Step},
    target::Target,
};

/// A server that has read a request does not close its connection as soon as this.
const AT_ONCE: Duration = Duration::from_millis(250);

/// How requests are made, by one thread.
pub(crate) struct Client {
    /// What they share.
    pub(crate) shape: Arc<Shape>,
    /// Where connections come from, to each server.
    pools: Vec<Pool>,
    read_lag: Arc<Lag>,
}

/// What all requests of a run share.
pub(crate) struct Shape {
    /// The API spoken.
    pub(crate) api: &'static dyn Api,
    /// The servers, asked in turn.
    pub(crate) sites: Vec<Site>,
    /// Whether answers are streams.
    pub(crate) stream: bool,
    /// Whether the text of answers is kept.
    pub(crate) save_text: bool,
    /// `--idle-timeout`.
    pub(crate) idle_timeout: Option<Duration>,
}

/// One of the servers that requests go to.
pub(crate) struct Site {
    /// As rows name it.
    pub(crate) base_url: String,
    /// The request's target.
    pub(crate) path: String,
    /// Header fields of every request.
    pub(crate) headers: HeaderMap,
}

/// What is known of a request so far; it survives when waiting for the rest is given up.
#[derive(Default)]
pub(crate) struct Trace {
    /// Time to open its connection; none if it was reused.
    pub(crate) connect: Option<Duration>,
    /// Whether that was done when the request was due, and kept it waiting.
    pub(crate) waited: bool,
    /// Whether it was sent a second time.
    pub(crate) resent: bool,
    /// HTTP status.
    pub(crate) status: Option<u16>,
    /// The stream.
    pub(crate) answer: Answer,
    /// When the first byte was written.
    pub(crate) sent: Option<Instant>,
    answered: bool,
}

/// A connection whose answer is complete but for the end of its body.
pub(crate) struct Rest {
    connection: Connection,
    reception: Reception,
}

impl Shape {
    /// Headers that every request carries besides those asked for.
    pub(crate) fn headers(target: &Target, mut given: HeaderMap) -> HeaderMap {
        let agent = concat!("fire-requests/", env!("CARGO_PKG_VERSION"));
        given.entry(header::USER_AGENT).or_insert(header::HeaderValue::from_static(agent));
        given.entry(header::CONTENT_TYPE).or_insert(header::HeaderValue::from_static("application/json"));
        given.entry(header::ACCEPT).or_insert(header::HeaderValue::from_static("*/*"));
        if let Ok(host) = header::HeaderValue::from_str(&target.authority) {
            given.entry(header::HOST).or_insert(host);
        }
        given
    }

    /// The row's request, serialised.
    pub(crate) fn request(&self, row: &Row) -> Request {
        let own = row.request_id.as_ref().map(|id| ("x-request-id", id.as_bytes()));
        let site = &self.sites[row.site];
        let shared = site.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let fields: Vec<_> =
            shared.filter(|(name, _)| own.is_none_or(|(own, _)| own != *name)).chain(own).collect();
        let head = http1::request_head(&site.path, &fields, row.body.len());
        Request { head: head.into(), body: row.body.clone() }
    }
}

impl Client {
    /// For one thread, with a pool for each site.
    pub(crate) fn new(shape: Arc<Shape>, pools: Vec<Pool>) -> Self {
        Self { shape, pools, read_lag: Arc::default() }
    }

    /// The same for another thread.
    pub(crate) fn sibling(&self) -> Self {
        Self::new(Arc::clone(&self.shape), self.pools.iter().map(Pool::sibling).collect())
    }

    /// Opens connections until `count` are ready, each server's part of them, some at once. Gives up at the first that
    /// fails.
    pub(crate) async fn open_ahead(self: &Arc<Self>, count: usize) {
        let each = count.div_ceil(self.pools.len());
        for site in 0..self.pools.len() {
            loop {
                let mut opening = JoinSet::new();
                for _ in 0..self.pools[site].reserve(each) {
                    let client = Arc::clone(self);
                    opening.spawn(async move { client.pools[site].open_reserved().await });
                }
                let opened = opening.join_all().await;
                if opened.is_empty() || opened.contains(&false) {
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Whether fewer than `count` connections to the row's server are ready.
    pub(crate) fn is_short_of(&self, count: usize, row: &Row) -> bool {
        self.pools[row.site].is_short_of(count.div_ceil(self.pools.len()))
    }

    /// How many connections were opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.pools.iter().map(Pool::opened).sum()
    }

    /// The same, noting how late it reads in `read_lag`.
    pub(crate) fn noting(self, read_lag: Arc<Lag>) -> Self {
        Self { read_lag, ..self }
    }

    /// Sends a request and reads the answer to its end.
    ///
    /// A request that dies on a reused connection at once, before any byte of an answer, is sent once more on a new one:
    /// the server had closed the old one, and never saw it.
    pub(crate) async fn exchange(
        &self,
        request: &Request,
        site: usize,
        trace: &mut Trace,
    ) -> Result<Option<Rest>, Failure> {
        let pool = &self.pools[site];
        if let Some(connection) = pool.take() {
            let used = connection.used;
            trace.connect = (!used).then_some(connection.took);
            let result = self.on(connection, request, pool, trace).await;
            let died = result.as_ref().is_err_and(|failure| failure.outcome == Outcome::Truncated);
            let at_once = trace.sent.is_none_or(|sent| sent.elapsed() < AT_ONCE);
            if !used || !died || !at_once || trace.answered {
                return result;
            }
            // Nothing has come, so the answer is as it was, and still keeps its text if it is to.
            (trace.resent, trace.sent, trace.connect) = (true, None, None);
        }
        trace.waited = true;
        let connection = pool.open().await?;
        trace.connect = Some(connection.took);
        self.on(connection, request, pool, trace).await
    }

    /// Waits, not for long, for the end of a body so that its connection can be used again.
    pub(crate) async fn finish(&self, rest: Rest, site: usize) {
        const LONGEST: Duration = Duration::from_secs(1);
        let Rest { mut connection, mut reception } = rest;
        let end = async {
            loop {
                match connection
                    .read(|read| reception.skip(read.bytes).map(|over| (over, read.bytes.len())))
                    .await
                {
                    Ok(Ok((false, 1..))) => {}
                    Ok(Ok((over, _))) => return over,
                    _ => return false,
                }
            }
        };
        if tokio::time::timeout(LONGEST, end).await.unwrap_or(false) && reception.keeps_connection() {
            self.pools[site].keep(connection);
        }
    }

    async fn on(
        &self,
        mut connection: Connection,
        request: &Request,
        pool: &Pool,
        trace: &mut Trace,
    ) -> Result<Option<Rest>, Failure> {
        let mut reception = Reception::new(self.shape.api, self.shape.stream);
        trace.sent = connection.begin(request.clone()).await;
        loop {
            let read = connection.read(|read| {
                if let Some(lag) = read.came.lag {
                    self.read_lag.record(lag);
                }
                trace.take(&mut reception, &read)
            });
            let step = match self.shape.idle_timeout {
                None => read.await,
                Some(limit) => tokio::time::timeout(limit, read).await.map_err(|_| silent(limit))?,
            };
            match step {
                Ok(Ok(Step::More)) => {}
                Ok(Ok(Step::Answered)) => return Ok(after_the_end(connection, reception, pool)),
                Ok(Ok(Step::Ended)) => break,
                Ok(Err(failure)) => return Err(failure),
                Err(error) => {
                    reception.broken(&format!("the connection broke: {error}"), &mut trace.answer)?;
                    break;
                }
            }
        }
        if reception.keeps_connection() {
            pool.keep(connection);
        }
        Ok(None)
    }
}

/// Keeps the connection if the body has ended with the end marker; if not, somebody must wait for that.
fn after_the_end(mut connection: Connection, mut reception: Reception, pool: &Pool) -> Option<Rest> {
    match connection.read_now(|read| reception.skip(read.bytes)) {
        Poll::Ready(Ok(Ok(true))) if reception.keeps_connection() => pool.keep(connection),
        Poll::Ready(Ok(Ok(false))) | Poll::Pending => return Some(Rest { connection, reception }),
        Poll::Ready(_) => {}
    }
    None
}

impl Trace {
    /// Takes what was read.
    fn take(&mut self, reception: &mut Reception, read: &Read<'_>) -> Result<Step, Failure> {
        let since_sent = read.sent.map(|sent| read.came.at.saturating_duration_since(sent));
        let time = since_sent.map_or(Micros::ZERO, Micros::from_duration);
        if read.bytes.is_empty() {
            return reception.close(time, &mut self.answer).map(|()| Step::Ended);
        }
        self.answered = true;
        let step = reception.take(read.bytes, time, &mut self.answer);
        self.status = reception.status();
        step
    }
}

fn silent(limit: Duration) -> Failure {
    let message = format!("nothing came for {} s (--idle-timeout)", limit.as_secs_f64());
    Failure::new(Outcome::Timeout, message)
}
