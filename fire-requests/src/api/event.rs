//! What one event of a stream says, and the JSON that completions and chat share.

use std::{borrow::Cow, fmt, marker::PhantomData};

use records::EventKind;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// One event, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Event<'a> {
    /// What it was.
    pub(crate) kind: EventKind,
    /// The text that it adds; borrowed from the event where that has no escapes in it.
    pub(crate) text: Option<Cow<'a, str>>,
    /// Why generation ended, if it says so.
    pub(crate) finish_reason: Option<String>,
    /// Token counts so far, if it has any.
    pub(crate) usage: Option<Usage>,
    /// The server's message, if it reports an error.
    pub(crate) error: Option<String>,
    /// Whether nothing follows it.
    pub(crate) ends: bool,
}

/// What a stream has said before the event to be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    /// Bytes of text.
    pub(crate) text_bytes: usize,
    /// The server's count of tokens.
    pub(crate) output_tokens: Option<u64>,
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

/// What stands in `error` when there is none, besides null.
const NO_ERROR: [&str; 2] = ["", "false"];

/// The frame of an event of the completions and the chat API, around choices of its own.
#[derive(Deserialize)]
#[serde(bound(deserialize = "C: Deserialize<'de>"))]
pub(super) struct Chunk<C> {
    #[serde(default = "First::none")]
    choices: First<C>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    error: Option<WireError>,
    /// Where older servers put an error: `{"object":"error","message":…}`.
    #[serde(default)]
    message: Option<WireError>,
}

impl<C> Chunk<C> {
    /// The event, `kind_of` telling what its first choice is and why it ended.
    pub(super) fn event<'a>(
        self,
        kind_of: impl FnOnce(C) -> (EventKind, Option<Cow<'a, str>>, Option<String>),
    ) -> Event<'a> {
        let usage = self.usage.map(WireUsage::into);
        let choice = self.choices.0;
        let error = self.error.or(self.message.filter(|_| choice.is_none()));
        let error = error.map(|error| error.0).filter(|text| !NO_ERROR.contains(&text.as_str()));
        let (kind, text, finish_reason) = match choice {
            _ if error.is_some() => (EventKind::Error, None, None),
            Some(choice) => kind_of(choice),
            None if usage.is_some() => (EventKind::Usage, None, None),
            None => (EventKind::Other, None, None),
        };
        Event { kind, text, finish_reason, usage, error, ends: false }
    }
}

/// The first of a list; the others (`n` above 1 has them in events of their own) are passed over.
struct First<C>(Option<C>);

impl<C> First<C> {
    fn none() -> Self {
        Self(None)
    }
}

impl<'de, C: Deserialize<'de>> Deserialize<'de> for First<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FirstVisitor(PhantomData))
    }
}

struct FirstVisitor<C>(PhantomData<C>);

impl<'de, C: Deserialize<'de>> Visitor<'de> for FirstVisitor<C> {
    type Value = First<C>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of choices or null")
    }

    fn visit_unit<E>(self) -> Result<First<C>, E> {
        Ok(First(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<First<C>, A::Error> {
        let first = list.next_element()?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(First(first))
    }
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

/// A count of tokens; anything else in its place is no count, and no reason to fail an answer.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
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

impl<'de> Deserialize<'de> for WireError {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let text = value.get("message").filter(|message| *message != "").unwrap_or(&value);
        Ok(Self(text.as_str().map_or_else(|| text.to_string(), str::to_owned)))
    }
}

/// A text, or a list or an object in its place, of which only matters whether it holds anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Text<'a> {
    /// No such field, or null.
    #[default]
    Absent,
    /// `""`, or an empty list.
    Empty,
    /// A text.
    Text(Cow<'a, str>),
    /// Anything else.
    Parts,
}

impl<'a> Text<'a> {
    /// Whether it holds anything.
    pub(super) fn is_some(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Parts)
    }

    /// Whether it is there and holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::Empty
    }

    /// The text.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn parts(empty: bool) -> Self {
        if empty { Self::Empty } else { Self::Parts }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a list, an object or null")
    }

    fn visit_unit<E>(self) -> Result<Text<'de>, E> {
        Ok(Text::Absent)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(if text.is_empty() { Text::Empty } else { Text::Text(Cow::Borrowed(text)) })
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(if text.is_empty() { Text::Empty } else { Text::Text(Cow::Owned(text.to_owned())) })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text<'de>, A::Error> {
        let mut empty = true;
        while list.next_element::<IgnoredAny>()?.is_some() {
            empty = false;
        }
        Ok(Text::parts(empty))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text<'de>, A::Error> {
        let mut empty = true;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            empty = false;
        }
        Ok(Text::parts(empty))
    }
}
