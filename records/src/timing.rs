//! What became of one request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EventKind, Events, Micros, Record};

/// What rounding each of two times to whole microseconds can do to their order.
const ROUNDING: Micros = Micros::new(1.0);

/// One request, finished or failed. The line stands alone: `head`, `shuf`, `grep` and `cat` keep it legal.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// The run it belongs to.
    #[serde(default)]
    pub run: String,
    /// The prompt's id.
    #[serde(default)]
    pub id: String,
    /// The prompt's label.
    #[serde(default)]
    pub workload: Option<String>,
    /// The server that it was sent to, where the run has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The conversation that it was a turn of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its place in the conversation, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Warm-up rows enter no statistic.
    #[serde(default)]
    pub phase: Phase,
    /// When the schedule wanted it sent. In a closed loop, or at an infinite rate: when its turn came.
    #[serde(default)]
    pub scheduled_us: Option<Micros>,
    /// When the first of its bytes was written; null if none was.
    #[serde(default)]
    pub sent_us: Option<Micros>,
    /// Time to open its connection (DNS, TCP and TLS), which lies before `sent_us`; null if one was reused.
    #[serde(default)]
    pub connect_us: Option<Micros>,
    /// Time to first token: from `sent_us` to the first event that carries output; null if none came, or
    /// the answer was not streamed.
    #[serde(default)]
    pub ttft_us: Option<Micros>,
    /// End-to-end latency: from `sent_us` to the last event that carries output, or to the end of an answer that was
    /// not streamed; for a failure, until it failed.
    #[serde(default)]
    pub e2e_us: Option<Micros>,
    /// When each event of the stream was read, µs after `sent_us`.
    #[serde(default)]
    pub events_us: Vec<Micros>,
    /// What each event was, one letter an event ([`EventKind`]).
    #[serde(default)]
    pub events: String,
    /// What became of it.
    pub outcome: Outcome,
    /// HTTP status; null if no answer came.
    #[serde(default)]
    pub status: Option<u16>,
    /// Why the server stopped generating, in its own word.
    #[serde(default)]
    pub finish_reason: Option<String>,
    /// Prompt tokens: the server's count if it gave one, else the row's.
    #[serde(default)]
    pub prompt_tokens: Option<u64>,
    /// Prompt tokens as the row stated them.
    #[serde(default)]
    pub row_prompt_tokens: Option<u64>,
    /// Tokens generated.
    #[serde(default)]
    pub output_tokens: Option<u64>,
    /// Where `output_tokens` comes from.
    #[serde(default)]
    pub tokens_from: Option<TokensFrom>,
    /// Tokens asked for.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// Prompt tokens that the server took from its prefix cache.
    #[serde(default)]
    pub cached_tokens: Option<u64>,
    /// True if it was sent once more because a reused connection was found dead before any byte of an answer; its
    /// clock started again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resent: bool,
    /// What was generated, if it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The thinking before it, if it was kept and there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_text: Option<String>,
    /// What went wrong: the server's own message where it gave one.
    #[serde(default)]
    pub error: Option<String>,
}

impl Record for Timing {
    const KIND: &'static str = "timing";
    const VERSION: u32 = 1;

    fn check(&self) -> std::result::Result<(), String> {
        let (letters, times) = (self.events.len(), self.events_us.len());
        if letters != times {
            return Err(format!(
                "`events` has {letters} letters but `events_us` {times} times; one each an event"
            ));
        }
        if let Some(letter) = self.events.chars().find(|&letter| EventKind::from_letter(letter).is_none()) {
            return Err(format!("`events` has the unknown letter '{letter}'; known: {}", EventKind::LETTERS));
        }
        self.check_times()
    }
}

impl Timing {
    fn check_times(&self) -> std::result::Result<(), String> {
        for (name, time) in
            [("connect_us", self.connect_us), ("ttft_us", self.ttft_us), ("e2e_us", self.e2e_us)]
        {
            if let Some(time) = time.filter(|&time| time < Micros::ZERO) {
                return Err(format!("`{name}` is {time}; a duration cannot be negative"));
            }
        }
        if let Some((ttft, e2e)) = self.ttft_us.zip(self.e2e_us).filter(|(ttft, e2e)| *e2e + ROUNDING < *ttft)
        {
            return Err(format!(
                "`e2e_us` {e2e} is below `ttft_us` {ttft}; the first token cannot follow the last"
            ));
        }
        let before = std::iter::once(&Micros::ZERO).chain(&self.events_us);
        if let Some((at, time)) = before.zip(&self.events_us).find(|(before, time)| time < before) {
            return Err(format!(
                "`events_us` goes back from {at} to {time}; events are in the order of their arrival"
            ));
        }
        Ok(())
    }

    /// The stream's events, ready to be asked which of them carried output.
    #[must_use]
    pub fn stream(&self) -> Events<'_> {
        let usage = self.tokens_from == Some(TokensFrom::Usage);
        Events::new(&self.events_us, &self.events, self.output_tokens.filter(|_| usage))
    }
}

/// The part of a run that a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Sent to warm the server; not measured.
    Warmup,
    /// Measured.
    #[default]
    Main,
}

/// How a request ended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A whole answer.
    #[default]
    Ok,
    /// An HTTP status other than 2xx.
    Http,
    /// No connection (refused, DNS, TLS).
    Connect,
    /// `--request-timeout` ran out.
    Timeout,
    /// An answer that is not what the API promises, or one without any output.
    Protocol,
    /// The connection broke, or the stream ended before the answer did.
    Truncated,
    /// We gave it up: interrupted.
    Cancelled,
    /// The server reported an error inside a 200 stream.
    ErrorEvent,
}

impl Outcome {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Http => "http",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::Truncated => "truncated",
            Self::Cancelled => "cancelled",
            Self::ErrorEvent => "error_event",
        }
    }
}

/// Where a token count comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokensFrom {
    /// The server's `usage`.
    Usage,
    /// Counted: one for each event that carried output. Too low where a server packs several tokens in one event.
    Events,
}
