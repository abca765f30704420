//! Anthropic's `/v1/messages`.

use std::borrow::Cow;

use records::{EventKind, Prompt};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Api, Event, Fields, Seen, Usage, WireError,
    event::{count, reason},
    row,
    text::Text,
};
use crate::like::Like;

/// The version of the API, as its header wants it; there has been no later one.
const VERSION: &str = "2023-06-01";

pub(super) struct Anthropic;

impl Api for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn endpoint(&self, _: bool) -> &'static str {
        "/v1/messages"
    }

    fn headers(&self, get: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
        let key = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"].into_iter().find_map(get);
        let version = [("anthropic-version", VERSION.to_owned())];
        version.into_iter().chain(key.map(|key| ("x-api-key", key))).collect()
    }

    /// Messages of the system stand in a field of their own.
    fn input(&self, prompt: Prompt, _: Option<Like>) -> Result<Fields, String> {
        if prompt.max_tokens.is_none() {
            return Err("no `max_tokens`, which this API must be told; add it".to_owned());
        }
        let is_system = |message: &Value| message["role"] == "system" || message["role"] == "developer";
        let (system, messages): (Vec<_>, Vec<_>) = row::messages(prompt)?.into_iter().partition(is_system);
        let mut fields = vec![("messages", Value::from(messages))];
        match system.as_slice() {
            [] => {}
            [one] => fields.push(("system", one["content"].clone())),
            several => fields.push(("system", several.iter().flat_map(blocks).collect())),
        }
        Ok(fields)
    }

    fn length_field(&self) -> &'static str {
        "max_tokens"
    }

    fn sampling_field(&self, name: &'static str) -> Option<&'static str> {
        ["temperature", "top_p", "top_k"].contains(&name).then_some(name)
    }

    fn parse<'a>(&self, data: &'a [u8], _: &Seen) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Wire<'a>>(data).map(Wire::event)
    }

    fn parse_whole<'a>(&self, data: &'a [u8]) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Message<'a>>(data).map(Message::event).map(Event::into_whole)
    }
}

/// The blocks of a message's content.
fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::Array(blocks) => blocks.clone(),
        text => vec![json!({ "type": "text", "text": text })],
    }
}

/// One event, whatever its type: each field is that of the types that have it.
#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    message: Option<Start>,
    #[serde(default, borrow, alias = "content_block")]
    delta: Option<Block<'a>>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    error: Option<WireError>,
}

/// A message that begins: its count of output is none yet.
#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    usage: Option<WireUsage>,
}

impl<'a> Wire<'a> {
    fn event(self) -> Event<'a> {
        let usage = self.usage.map(Usage::from);
        if let Some(message) = self.error.and_then(WireError::message) {
            return Event::failed(message);
        }
        match (&*self.kind, self.delta) {
            ("message_start", _) => {
                let usage = self.message.and_then(|message| message.usage).map(Usage::from);
                let usage = usage.map(|usage| Usage { output: None, ..usage });
                Event { usage, ..Event::of(EventKind::Role) }
            }
            ("content_block_start" | "content_block_delta", Some(block)) => block.event(),
            ("message_delta", Some(delta)) => {
                let kind = if delta.stop_reason.is_some() { EventKind::Finish } else { EventKind::Usage };
                Event { finish_reason: delta.stop_reason, usage, ..Event::of(kind) }
            }
            ("message_stop", _) => Event { ends: true, ..Event::of(EventKind::Done) },
            ("error", _) => Event::failed("error".to_owned()),
            _ => Event::of(EventKind::Other),
        }
    }
}

/// A block of content, its beginning or what is added to it; or what a message's end says.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    text: Text<'a>,
    #[serde(default, borrow)]
    thinking: Text<'a>,
    #[serde(default, borrow)]
    partial_json: Text<'a>,
    #[serde(default, deserialize_with = "reason")]
    stop_reason: Option<String>,
}

impl<'a> Block<'a> {
    fn is_call(&self) -> bool {
        self.kind.ends_with("tool_use") || self.partial_json.is_some()
    }

    /// Only a delta can be a token without text: a block begins empty.
    fn event(self) -> Event<'a> {
        let (is_delta, calls) = (self.kind.ends_with("_delta"), self.is_call());
        let event = Event::saying(self.text, self.thinking, calls, None);
        if event.kind == EventKind::Blank && !is_delta { Event::of(EventKind::Other) } else { event }
    }
}

/// A whole answer.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default, borrow)]
    content: Vec<Block<'a>>,
    #[serde(default, deserialize_with = "reason")]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    error: Option<WireError>,
}

impl<'a> Message<'a> {
    fn event(self) -> Event<'a> {
        if let Some(message) = self.error.and_then(WireError::message) {
            return Event::failed(message);
        }
        let (mut content, mut thinking, mut calls) = (Text::Absent, Text::Absent, false);
        for block in self.content {
            calls |= block.is_call();
            content = content.join(block.text);
            thinking = thinking.join(block.thinking);
        }
        let usage = self.usage.map(Usage::from);
        Event { usage, ..Event::saying(content, thinking, calls, self.stop_reason) }
    }
}

/// The API counts a prompt in three parts: what was neither read from the cache nor written to it, and these two.
#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names are the API's")]
struct WireUsage {
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let cached = wire.cache_read_input_tokens;
        let beside = cached.unwrap_or(0) + wire.cache_creation_input_tokens.unwrap_or(0);
        Self { prompt: wire.input_tokens.map(|tokens| tokens + beside), output: wire.output_tokens, cached }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &str) -> Event<'_> {
        Anthropic.read(data.as_bytes(), &Seen::default()).unwrap()
    }

    #[test]
    fn events_are_told_apart() {
        for (data, kind) in [
            (r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#, EventKind::Role),
            (r#"{"type":"ping"}"#, EventKind::Other),
            (r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#, EventKind::Other),
            (r#"{"type":"content_block_start","content_block":{"type":"tool_use"}}"#, EventKind::ToolCall),
            (r#"{"type":"content_block_stop","index":0}"#, EventKind::Other),
            (r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#, EventKind::Finish),
            (r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":3}}"#, EventKind::Usage),
            (r#"{"type":"message_stop"}"#, EventKind::Done),
            (r#"{"type":"error","error":{"type":"x","message":"Overloaded"}}"#, EventKind::Error),
        ] {
            let event = read(data);
            assert_eq!((event.kind, event.ends), (kind, kind == EventKind::Done), "{data}");
        }
    }

    #[test]
    fn deltas_are_told_apart() {
        for (delta, kind, text) in [
            (r#"{"type":"text_delta","text":" a"}"#, EventKind::Content, Some(" a")),
            (r#"{"type":"text_delta","text":""}"#, EventKind::Blank, None),
            (r#"{"type":"thinking_delta","thinking":"a"}"#, EventKind::Reasoning, Some("a")),
            (r#"{"type":"signature_delta","signature":"a"}"#, EventKind::Other, None),
            (r#"{"type":"input_json_delta","partial_json":"{"}"#, EventKind::ToolCall, None),
            (r#"{"type":"input_json_delta","partial_json":""}"#, EventKind::Other, None),
        ] {
            let data = format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
            let event = read(&data);
            assert_eq!((event.kind, event.text.as_deref()), (kind, text), "{delta}");
        }
    }

    #[test]
    fn counts_are_of_the_whole_prompt_and_of_what_was_generated() {
        let start = read(
            r#"{"type":"message_start","message":{"usage":{"input_tokens":4,"cache_read_input_tokens":3,
                "cache_creation_input_tokens":2,"output_tokens":1}}}"#,
        );
        assert_eq!(start.usage, Some(Usage { prompt: Some(9), output: None, cached: Some(3) }));
        let end = read(
            r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":8}}"#,
        );
        assert_eq!(end.usage.unwrap().output, Some(8));
        assert_eq!(end.finish_reason.as_deref(), Some("max_tokens"));
    }

    #[test]
    fn a_whole_answer_is_read() {
        let data = br#"{"type":"message","role":"assistant","stop_reason":"end_turn","usage":{"input_tokens":4,"output_tokens":2},
            "content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
        let event = Anthropic.read_whole(data).unwrap();
        assert_eq!(
            (event.kind, event.text.as_deref(), event.thinking.as_deref()),
            (EventKind::Whole, Some("ab"), Some("hm"))
        );
        assert_eq!(event.finish_reason.as_deref(), Some("end_turn"));
        let failed = br#"{"type":"error","error":{"type":"api_error","message":"engine died"}}"#;
        assert_eq!(Anthropic.read_whole(failed).unwrap().error.as_deref(), Some("engine died"));
    }

    #[test]
    fn the_key_has_a_header_of_its_own() {
        let get = |name: &str| (name == "OPENAI_API_KEY").then(|| "k".to_owned());
        assert_eq!(
            Anthropic.headers(&get),
            [("anthropic-version", VERSION.to_owned()), ("x-api-key", "k".to_owned())]
        );
        assert_eq!(Anthropic.headers(&|name| Some(name.to_owned()))[1].1, "ANTHROPIC_API_KEY");
        assert_eq!(Anthropic.headers(&|_| None).len(), 1);
    }
}
