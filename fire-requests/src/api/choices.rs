//! The frame that `OpenAI`'s completions and chat share, around choices of their own.

use records::EventKind;
use serde::{Deserialize, de::Deserializer};
use serde_json::json;

use super::{Event, Fields, Usage, WireError, event::count};

/// One of the answers that a request may have asked for.
pub(super) trait Choice<'a> {
    /// Which of them it is; 0 unless the request asked for several.
    fn index(&self) -> u64;
    /// What it says.
    fn event(self) -> Event<'a>;
}

/// An event of a stream, or a whole answer.
#[derive(Deserialize)]
#[serde(bound(deserialize = "C: Deserialize<'de>"))]
pub(super) struct Chunk<C> {
    #[serde(default = "Vec::new", deserialize_with = "list")]
    choices: Vec<C>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    error: Option<WireError>,
    /// Where older servers put an error: `{"object":"error","message":…}`.
    #[serde(default)]
    message: Option<WireError>,
}

impl<C> Chunk<C> {
    /// The event: of several choices the first with output to be seen, and a text only of the one numbered 0.
    pub(super) fn event<'a>(self) -> Event<'a>
    where
        C: Choice<'a>,
    {
        let usage = self.usage.map(WireUsage::into);
        let error = self.error.or(self.message.filter(|_| self.choices.is_empty()));
        if let Some(message) = error.and_then(WireError::message) {
            return Event { usage, ..Event::failed(message) };
        }
        let mut events = self.choices.into_iter().map(|choice| match choice.index() {
            0 => choice.event(),
            _ => Event { text: None, thinking: None, ..choice.event() },
        });
        let first = events
            .next()
            .unwrap_or_else(|| Event::of(if usage.is_some() { EventKind::Usage } else { EventKind::Other }));
        let event = if first.speaks() { first } else { events.find(Event::speaks).unwrap_or(first) };
        Event { usage, ..event }
    }
}

/// A list; null is an empty one.
fn list<'de, D: Deserializer<'de>, C: Deserialize<'de>>(deserializer: D) -> Result<Vec<C>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The fields that ask for a stream with usage at its end.
pub(super) fn mode(stream: bool) -> Fields {
    let mut fields = vec![("stream", stream.into())];
    if stream {
        fields.push(("stream_options", json!({ "include_usage": true })));
    }
    fields
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default, deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        Self {
            prompt: wire.prompt_tokens,
            output: wire.completion_tokens,
            cached: wire.prompt_tokens_details.and_then(|details| details.cached_tokens),
        }
    }
}
