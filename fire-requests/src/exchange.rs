//! One request and its answer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, Response, Uri, Version,
    body::Incoming,
    header::{CONTENT_TYPE, HOST, HeaderValue, LOCATION, USER_AGENT},
};
use records::{Micros, Outcome};
use serde::Deserialize;

use crate::{
    answer::Answer,
    api::{Api, Framing, WireError},
    connection::Connection,
    failure::{Failure, shortened},
    feed::Row,
    framing::Cutter,
    pool::Pool,
    stream::Stamps,
    target::Target,
};

/// Most bytes of one event; more is no token.
const LARGEST_EVENT: usize = 64 << 20;
/// Most bytes of an error's body that are read.
const LARGEST_ERROR: usize = 1 << 20;

/// What all requests of a run share.
pub(crate) struct Client {
    /// The API spoken.
    pub(crate) api: &'static dyn Api,
    /// Whether answers are streams.
    pub(crate) stream: bool,
    /// Whether the text of answers is kept.
    pub(crate) save_text: bool,
    /// Where connections come from.
    pub(crate) pool: Pool,
    /// The request's target: a path, since no proxy stands between.
    pub(crate) uri: Uri,
    /// Headers of every request.
    pub(crate) headers: HeaderMap,
}

/// What is known of a request so far; it survives when waiting for the rest is given up.
#[derive(Default)]
pub(crate) struct Trace {
    /// Time to open its connection; none if it was reused.
    pub(crate) connect: Option<Duration>,
    /// Whether it was sent a second time.
    pub(crate) resent: bool,
    /// HTTP status.
    pub(crate) status: Option<u16>,
    /// The stream.
    pub(crate) answer: Answer,
    /// Taken off the stamps before the connection can go to another request, which resets them.
    sent: Option<Instant>,
    stamps: Option<Arc<Stamps>>,
}

impl Trace {
    /// When the first byte was written.
    pub(crate) fn sent(&self) -> Option<Instant> {
        self.sent.or_else(|| self.stamps.as_ref().and_then(|stamps| stamps.sent()))
    }

    fn answered(&self) -> bool {
        self.stamps.as_ref().is_some_and(|stamps| stamps.answered())
    }

    /// When the socket was last read, since the request was sent.
    fn last_read(&self) -> Micros {
        let stamps = self.stamps.as_ref().and_then(|stamps| stamps.last_read().zip(stamps.sent()));
        stamps
            .map_or(Micros::ZERO, |(read, sent)| Micros::from_duration(read.saturating_duration_since(sent)))
    }
}

/// A connection whose answer is complete but for the end of its body.
pub(crate) struct Rest {
    connection: Connection,
    body: Incoming,
}

impl Client {
    /// Headers that every request carries besides those asked for.
    pub(crate) fn headers(target: &Target, mut given: HeaderMap) -> HeaderMap {
        let agent = concat!("fire-requests/", env!("CARGO_PKG_VERSION"));
        given.entry(USER_AGENT).or_insert(HeaderValue::from_static(agent));
        given.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        if let Ok(host) = HeaderValue::from_str(&target.authority) {
            given.entry(HOST).or_insert(host);
        }
        given
    }

    /// Sends the row's request and reads the answer to its end.
    ///
    /// A request that dies on a reused connection before any byte of an answer is sent once more on a new one: the
    /// server had closed the old one, and never saw it.
    pub(crate) async fn exchange(&self, row: &Row, trace: &mut Trace) -> Result<Option<Rest>, Failure> {
        if let Some(connection) = self.pool.take() {
            let result = self.on(connection, row, trace).await;
            if result.is_ok() || trace.answered() {
                return result;
            }
            *trace = Trace { resent: true, ..Trace::default() };
        }
        let (connection, took) = self.pool.open().await?;
        trace.connect = Some(took);
        self.on(connection, row, trace).await
    }

    /// Waits, not for long, for the end of a body so that its connection can be used again.
    pub(crate) async fn finish(&self, mut rest: Rest) {
        const LONGEST: Duration = Duration::from_secs(1);
        let end = async { while let Some(Ok(_)) = rest.connection.frame(&mut rest.body).await {} };
        if tokio::time::timeout(LONGEST, end).await.is_ok() {
            self.pool.keep(rest.connection);
        }
    }

    async fn on(
        &self,
        mut connection: Connection,
        row: &Row,
        trace: &mut Trace,
    ) -> Result<Option<Rest>, Failure> {
        trace.stamps = Some(Arc::clone(connection.stamps()));
        trace.answer.keep_text(self.save_text);
        let head = connection.send(self.request(row)).await;
        trace.sent = connection.stamps().sent();
        let response = head.map_err(|error| Failure::broken(&error))?;
        trace.status = Some(response.status().as_u16());
        if !response.status().is_success() {
            return Err(refusal(&mut connection, response).await);
        }
        if !self.stream {
            return self.whole(connection, response.into_body(), trace).await;
        }
        if self.api.framing() == Framing::Sse && is_json(response.headers()) {
            return Err(not_streamed(&mut connection, response).await);
        }
        self.stream(connection, response.into_body(), trace).await
    }

    fn request(&self, row: &Row) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(row.body.clone()));
        *request.method_mut() = Method::POST;
        *request.version_mut() = Version::HTTP_11;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        if let Some(id) = &row.request_id {
            request.headers_mut().insert("x-request-id", id.clone());
        }
        request
    }

    async fn stream(
        &self,
        mut connection: Connection,
        mut body: Incoming,
        trace: &mut Trace,
    ) -> Result<Option<Rest>, Failure> {
        let (mut splitter, mut bytes) = (Cutter::new(self.api.framing()), 0);
        while let Some(frame) = connection.frame(&mut body).await {
            let frame = match frame {
                Ok(frame) => frame,
                Err(_) if trace.answer.is_finished() => break,
                Err(error) => return Err(Failure::broken(&error)),
            };
            let (Ok(data), time) = (frame.into_data(), trace.last_read()) else { continue };
            bytes += data.len() as u64;
            splitter.push(&data, &mut |event| trace.answer.event(self.api, time, event));
            if trace.answer.is_over() {
                trace.answer.judge(bytes)?;
                return Ok(self.after_the_end(connection, body));
            }
            if splitter.held() > LARGEST_EVENT {
                return Err(Failure::new(Outcome::Protocol, "an event of more than 64 MiB"));
            }
        }
        let time = trace.last_read();
        splitter.finish(&mut |event| trace.answer.event(self.api, time, event));
        trace.answer.judge(bytes)?;
        self.pool.keep(connection);
        Ok(None)
    }

    async fn whole(
        &self,
        mut connection: Connection,
        mut body: Incoming,
        trace: &mut Trace,
    ) -> Result<Option<Rest>, Failure> {
        let mut bytes = Vec::new();
        while let Some(frame) = connection.frame(&mut body).await {
            let frame = frame.map_err(|error| Failure::broken(&error))?;
            bytes.extend(frame.into_data().unwrap_or_default());
            if bytes.len() > LARGEST_EVENT {
                return Err(Failure::new(Outcome::Protocol, "an answer of more than 64 MiB"));
            }
        }
        trace.answer.whole(self.api, trace.last_read(), &bytes);
        trace.answer.judge(bytes.len() as u64)?;
        self.pool.keep(connection);
        Ok(None)
    }

    /// Keeps the connection if the body has ended with the end marker; if not, somebody must wait for that.
    fn after_the_end(&self, mut connection: Connection, mut body: Incoming) -> Option<Rest> {
        match connection.frame_now(&mut body) {
            std::task::Poll::Ready(None) => self.pool.keep(connection),
            std::task::Poll::Ready(Some(Err(_))) => {}
            _ => return Some(Rest { connection, body }),
        }
        None
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("application/json")
}

async fn text(connection: &mut Connection, mut body: Incoming) -> String {
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = connection.frame(&mut body).await {
        bytes.extend(frame.into_data().unwrap_or_default());
        if bytes.len() > LARGEST_ERROR {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default)]
    error: Option<WireError>,
    #[serde(default)]
    message: Option<WireError>,
    #[serde(default)]
    detail: Option<WireError>,
}

/// The server's own words in an error's body, wherever servers put them.
fn message(body: &str) -> Option<String> {
    let parsed: ErrorBody = serde_json::from_str(body).ok()?;
    parsed.error.or(parsed.message).or(parsed.detail).map(|error| error.0)
}

async fn refusal(connection: &mut Connection, response: Response<Incoming>) -> Failure {
    let status = response.status();
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = text(connection, response.into_body()).await;
    let reason = match (location, message(&body)) {
        (Some(location), _) => format!("redirected to {location}; give that as --base-url"),
        (None, Some(message)) => message,
        (None, None) if body.trim().is_empty() => {
            status.canonical_reason().unwrap_or("no reason given").to_owned()
        }
        (None, None) => body,
    };
    Failure::new(Outcome::Http, format!("HTTP {}: {reason}", status.as_u16()))
}

async fn not_streamed(connection: &mut Connection, response: Response<Incoming>) -> Failure {
    let body = text(connection, response.into_body()).await;
    if let Some(message) = message(&body) {
        return Failure::new(Outcome::ErrorEvent, message);
    }
    let problem = "one JSON document in place of a stream; does this server support \"stream\":true? --no-stream asks for none:";
    let shown: String = shortened(&body).chars().take(60).collect();
    Failure::new(Outcome::Protocol, format!("{problem} {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_words_are_found() {
        for (body, found) in [
            (r#"{"error":{"message":"too long","code":400}}"#, Some("too long")),
            (r#"{"error":"too long"}"#, Some("too long")),
            (r#"{"object":"error","message":"too long"}"#, Some("too long")),
            (r#"{"detail":"Not Found"}"#, Some("Not Found")),
            ("<html>no healthy upstream</html>", None),
        ] {
            assert_eq!(message(body).as_deref(), found, "{body}");
        }
    }
}
