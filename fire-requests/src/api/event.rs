//! What one event of an answer says.

use std::borrow::Cow;

use records::EventKind;
use serde::{Deserialize, Deserializer};

use super::text::Text;

/// Finish reasons that are no end of an answer: vLLM's `abort` and `error`, `TensorRT-LLM`'s `cancelled`.
const FAILED: [&str; 5] = ["abort", "aborted", "cancelled", "canceled", "error"];

/// One event, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Event<'a> {
    /// What it was.
    pub(crate) kind: EventKind,
    /// What it adds to the answer: thinking if `kind` is that, content otherwise.
    pub(crate) text: Option<Cow<'a, str>>,
    /// Thinking that came together with content.
    pub(crate) thinking: Option<Cow<'a, str>>,
    /// Why generation ended, if it says so, in the server's own word.
    pub(crate) finish_reason: Option<String>,
    /// Token counts so far, if it has any.
    pub(crate) usage: Option<Usage>,
    /// The server's message, if it reports an error.
    pub(crate) error: Option<String>,
    /// Whether nothing follows.
    pub(crate) ends: bool,
}

impl<'a> Event<'a> {
    /// An event that says nothing but what it is.
    pub(super) fn of(kind: EventKind) -> Self {
        Self { kind, text: None, thinking: None, finish_reason: None, usage: None, error: None, ends: false }
    }

    /// An error with the server's message.
    pub(super) fn failed(message: String) -> Self {
        Self { error: Some(message), ..Self::of(EventKind::Error) }
    }

    /// An event with these parts of an answer, told by the first of them that holds anything.
    pub(super) fn saying(
        content: Text<'a>,
        thinking: Text<'a>,
        calls: bool,
        finish_reason: Option<String>,
    ) -> Self {
        let empty = content.is_empty() || thinking.is_empty();
        let (kind, text, thinking) = match (content.some(), thinking.some()) {
            (Some(content), thinking) => (EventKind::Content, Some(content), thinking),
            (None, Some(thinking)) => (EventKind::Reasoning, Some(thinking), None),
            (None, None) if calls => (EventKind::ToolCall, None, None),
            (None, None) => (silent(empty, finish_reason.is_some()), None, None),
        };
        Self { text, thinking, finish_reason, ..Self::of(kind) }
    }

    /// Whether it has output that can be seen.
    pub(super) fn speaks(&self) -> bool {
        self.kind.is_output() && self.kind != EventKind::Blank
    }

    /// The same as all of an answer: output without a time of its own.
    pub(super) fn into_whole(self) -> Self {
        let is_thinking = matches!(self.kind, EventKind::Reasoning | EventKind::ReasoningContent);
        let counted = self.usage.and_then(|usage| usage.output).is_some_and(|tokens| tokens > 0);
        let kind = match self.kind {
            kind if self.error.is_some() => kind,
            _ if self.speaks() || counted => EventKind::Whole,
            EventKind::Blank => EventKind::Other,
            kind => kind,
        };
        let (text, thinking) = if is_thinking { (None, self.text) } else { (self.text, self.thinking) };
        Self { kind, text, thinking, ends: true, ..self }
    }

    /// The same, borrowing from nothing.
    pub(super) fn into_owned(self) -> Event<'static> {
        let owned = |text: Option<Cow<'_, str>>| text.map(|text| Cow::Owned(text.into_owned()));
        Event {
            kind: self.kind,
            text: owned(self.text),
            thinking: owned(self.thinking),
            finish_reason: self.finish_reason,
            usage: self.usage,
            error: self.error,
            ends: self.ends,
        }
    }

    /// The same, with an error if its finish reason means one.
    pub(super) fn or_failed(self) -> Self {
        let failed = self.finish_reason.as_deref().filter(|reason| FAILED.contains(reason));
        let message =
            failed.map(|reason| format!("the server gave the answer up: finish reason \"{reason}\""));
        Self { error: self.error.or(message), ..self }
    }
}

fn silent(empty: bool, finished: bool) -> EventKind {
    match (empty, finished) {
        (true, true) => EventKind::Stop,
        (false, true) => EventKind::Finish,
        (true, false) => EventKind::Blank,
        (false, false) => EventKind::Other,
    }
}

/// The server's token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    /// Tokens of the prompt, its template included.
    pub(crate) prompt: Option<u64>,
    /// Tokens generated.
    pub(crate) output: Option<u64>,
    /// Prompt tokens taken from the prefix cache.
    pub(crate) cached: Option<u64>,
}

impl Usage {
    /// It, if it holds any count.
    pub(super) fn if_any(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// A count of tokens; anything else in its place is no count, and no reason to fail an answer.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let whole = |number: f64| (number >= 0.0 && number.fract() == 0.0).then_some(number as u64);
    Ok(value.as_u64().or_else(|| value.as_f64().and_then(whole)))
}

/// A finish reason. Some servers write `""` or `"null"` for none.
pub(super) fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let reason = Option::<String>::deserialize(deserializer)?;
    Ok(reason.filter(|reason| !reason.is_empty() && reason != "null"))
}

/// A server's error message: `{"message":…}`, or whatever else stands in its place, as it is.
pub(crate) struct WireError(pub(crate) String);

impl WireError {
    /// The message, unless it is one of those that stand for none.
    pub(super) fn message(self) -> Option<String> {
        (!self.0.is_empty() && self.0 != "false").then_some(self.0)
    }
}

impl<'de> Deserialize<'de> for WireError {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let text = value.get("message").filter(|message| *message != "").unwrap_or(&value);
        Ok(Self(text.as_str().map_or_else(|| text.to_string(), str::to_owned)))
    }
}
