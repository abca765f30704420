//! An answer as its bytes come: head, framing, compression, events. Pure: no socket, no clock.

use std::borrow::Cow;

use records::{Micros, Outcome};
use serde::Deserialize;

use crate::{
    answer::Answer,
    api::{Api, Framing, WireError},
    failure::{Failure, shortened},
    framing::Cutter,
    http1::{Body, Head, Piece},
    inflate::Inflate,
};

/// Most bytes of one event; more is no token.
const LARGEST_EVENT: usize = 64 << 20;
/// Most bytes that are kept of a body that is no stream.
const LARGEST_REFUSAL: usize = 4 << 20;
/// Most bytes of a stream that are kept for a message, until its first event has come.
const LARGEST_PREVIEW: usize = 64 << 10;

/// How far an answer is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// There is more to come.
    More,
    /// The answer is whole, its body has not ended yet.
    Answered,
    /// The body has ended too.
    Ended,
}

/// An answer being received.
pub(crate) struct Reception {
    api: &'static dyn Api,
    /// Whether a stream was asked for.
    stream: bool,
    /// The beginning of a head that is not whole.
    held: Vec<u8>,
    status: Option<u16>,
    open: Option<Open>,
}

/// An answer whose head has come.
struct Open {
    head: Head,
    body: Body,
    inflate: Option<Inflate>,
    content: Content,
    /// Bytes of the body, decompressed.
    bytes: u64,
}

enum Content {
    /// A stream of events; and its beginning, until one has come.
    Stream(Cutter, Vec<u8>),
    /// The answer that was asked for whole.
    Whole(Vec<u8>),
    /// A refusal, or a document in place of a stream.
    Refusal(Vec<u8>),
}

impl Reception {
    /// Nothing has come.
    pub(crate) fn new(api: &'static dyn Api, stream: bool) -> Self {
        Self { api, stream, held: Vec::new(), status: None, open: None }
    }

    /// The status, once the head has come.
    pub(crate) fn status(&self) -> Option<u16> {
        self.status
    }

    /// Whether the connection can take another request once the body has ended.
    pub(crate) fn keeps_connection(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.head.keep_alive && open.body.is_over())
    }

    /// Passes over what is left of an answer that is whole; says whether its body has ended.
    pub(crate) fn skip(&mut self, mut bytes: &[u8]) -> Result<bool, String> {
        let Some(open) = &mut self.open else { return Ok(false) };
        loop {
            match open.body.next(&mut bytes)? {
                Piece::Data(_) => {}
                Piece::More => return Ok(false),
                Piece::End => {
                    open.head.keep_alive &= bytes.is_empty();
                    return Ok(true);
                }
            }
        }
    }

    /// Takes bytes that were read at `time`.
    pub(crate) fn take(&mut self, bytes: &[u8], time: Micros, answer: &mut Answer) -> Result<Step, Failure> {
        if let Some(open) = &mut self.open {
            return open.take(bytes, time, self.api, answer);
        }
        let whole = if self.held.is_empty() { Cow::Borrowed(bytes) } else { self.hold(bytes).into() };
        let head = Head::parse(&whole).map_err(|problem| Failure::new(Outcome::Protocol, problem))?;
        let Some((head, length)) = head else {
            self.held = whole.into_owned();
            return Ok(Step::More);
        };
        self.status = Some(head.status);
        let open = self.open.insert(Open::new(head, self.api, self.stream)?);
        open.take(&whole[length..], time, self.api, answer)
    }

    fn hold(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        held
    }

    /// Takes the end of the connection, which was noticed at `time`.
    pub(crate) fn close(&mut self, time: Micros, answer: &mut Answer) -> Result<(), Failure> {
        let Some(open) = &mut self.open else {
            let problem =
                if self.held.is_empty() { "before any answer" } else { "in the head of its answer" };
            return Err(Failure::new(
                Outcome::Truncated,
                format!("the server closed the connection {problem}"),
            ));
        };
        if open.body.ends_with_connection() {
            return open.end(time, self.api, answer);
        }
        open.broken(self.api, answer, "the server closed the connection before the body's end")
    }

    /// Takes the break of the connection.
    pub(crate) fn broken(&mut self, problem: &str, answer: &mut Answer) -> Result<(), Failure> {
        match &mut self.open {
            Some(open) => open.broken(self.api, answer, problem),
            None => Err(Failure::new(Outcome::Truncated, problem)),
        }
    }
}

impl Open {
    fn new(head: Head, api: &dyn Api, stream: bool) -> Result<Self, Failure> {
        let inflate = match &head.encoding {
            None => None,
            Some(encoding) => Some(Inflate::new(encoding).ok_or_else(|| {
                let problem =
                    format!("a body encoded as {encoding}, which is not known here (gzip and deflate are)");
                Failure::new(Outcome::Protocol, problem)
            })?),
        };
        let is_json = head.content_type == "application/json" && api.framing() == Framing::Sse;
        let content = match (200..300).contains(&head.status) {
            true if !stream => Content::Whole(Vec::new()),
            true if !is_json => Content::Stream(Cutter::new(api.framing()), Vec::new()),
            _ => Content::Refusal(Vec::new()),
        };
        Ok(Self { body: head.body(), head, inflate, content, bytes: 0 })
    }

    fn take(
        &mut self,
        mut bytes: &[u8],
        time: Micros,
        api: &'static dyn Api,
        answer: &mut Answer,
    ) -> Result<Step, Failure> {
        loop {
            match self.body.next(&mut bytes).map_err(|problem| Failure::new(Outcome::Protocol, problem))? {
                Piece::Data(data) => self.content(data, time, api, answer)?,
                Piece::More if answer.is_over() => {
                    answer.judge(self.bytes)?;
                    return Ok(Step::Answered);
                }
                Piece::More => return Ok(Step::More),
                Piece::End => {
                    // What follows an answer that nobody asked for makes the next one unreadable.
                    self.head.keep_alive &= bytes.is_empty();
                    return self.end(time, api, answer).map(|()| Step::Ended);
                }
            }
        }
    }

    fn content(
        &mut self,
        data: &[u8],
        time: Micros,
        api: &'static dyn Api,
        answer: &mut Answer,
    ) -> Result<(), Failure> {
        let Some(inflate) = &mut self.inflate else { return self.plain(data, time, api, answer) };
        let bad = |error| format!("a body that is not what its Content-Encoding says: {error}");
        let decoded = inflate.push(data).map_err(|error| Failure::new(Outcome::Protocol, bad(error)))?;
        self.plain(&decoded, time, api, answer)
    }

    fn plain(
        &mut self,
        data: &[u8],
        time: Micros,
        api: &'static dyn Api,
        answer: &mut Answer,
    ) -> Result<(), Failure> {
        self.bytes += data.len() as u64;
        match &mut self.content {
            Content::Refusal(document) => keep(document, data, LARGEST_REFUSAL),
            Content::Whole(document) => {
                document.extend_from_slice(data);
                if document.len() > LARGEST_EVENT {
                    return Err(Failure::new(Outcome::Protocol, "an answer of more than 64 MiB"));
                }
            }
            Content::Stream(splitter, preview) => {
                if answer.letters.is_empty() {
                    keep(preview, data, LARGEST_PREVIEW);
                }
                splitter.push(data, &mut |event| answer.event(api, time, event));
                if splitter.held() > LARGEST_EVENT {
                    return Err(Failure::new(Outcome::Protocol, "an event of more than 64 MiB"));
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, time: Micros, api: &'static dyn Api, answer: &mut Answer) -> Result<(), Failure> {
        match &mut self.content {
            Content::Refusal(document) => Err(self.head.refusal(document)),
            Content::Whole(document) => {
                answer.whole(api, time, document);
                answer.judge(self.bytes)
            }
            Content::Stream(splitter, preview) => {
                splitter.finish(&mut |event| answer.event(api, time, event));
                let judged = answer.judge(self.bytes);
                if answer.letters.is_empty() {
                    judged.map_err(|failure| explained(failure, preview))
                } else {
                    judged
                }
            }
        }
    }

    /// An answer that had said that it was finished is whole even if its body is not.
    fn broken(&mut self, api: &'static dyn Api, answer: &mut Answer, problem: &str) -> Result<(), Failure> {
        let time = answer.times.last().copied().unwrap_or_default();
        if answer.is_finished() || matches!(&self.content, Content::Refusal(document) if !document.is_empty())
        {
            return self.end(time, api, answer);
        }
        Err(Failure::new(Outcome::Truncated, problem))
    }
}

impl Head {
    /// What a body that is no stream means.
    fn refusal(&self, document: &[u8]) -> Failure {
        let text = String::from_utf8_lossy(document);
        if (200..300).contains(&self.status) {
            return not_streamed(&text);
        }
        let reason = match (&self.location, message(&text)) {
            (Some(location), _) => format!("redirected to {location}; give that as --base-url"),
            (None, Some(message)) => message,
            (None, None) if text.trim().is_empty() && self.reason.is_empty() => "no reason given".to_owned(),
            (None, None) if text.trim().is_empty() => self.reason.clone(),
            (None, None) => page_title(&text).unwrap_or(&text).to_owned(),
        };
        Failure::new(Outcome::Http, format!("HTTP {}: {reason}", self.status))
    }
}

/// What an HTML page says on its face.
fn page_title(text: &str) -> Option<&str> {
    let start = text.find("<title>").filter(|_| text.trim_start().starts_with('<'))? + "<title>".len();
    let title = text[start..].split('<').next()?.trim();
    (!title.is_empty()).then_some(title)
}

fn keep(kept: &mut Vec<u8>, data: &[u8], most: usize) {
    kept.extend_from_slice(&data[..data.len().min(most.saturating_sub(kept.len()))]);
}

/// A stream without any event may be a page or a document that says why.
fn explained(failure: Failure, preview: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(preview);
    match message(&text) {
        Some(message) => Failure::new(Outcome::ErrorEvent, message),
        None if text.trim().is_empty() => failure,
        None => {
            let said = page_title(&text).unwrap_or(&text);
            Failure::new(failure.outcome, format!("{}: {said}", failure.message))
        }
    }
}

fn not_streamed(body: &str) -> Failure {
    if let Some(message) = message(body) {
        return Failure::new(Outcome::ErrorEvent, message);
    }
    let problem = "one JSON document in place of a stream; does this server support \"stream\":true? if not, give --no-stream";
    let shown: String = shortened(body).chars().take(60).collect();
    Failure::new(Outcome::Protocol, format!("{problem} {shown}"))
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
