//! The `OpenAI` API's `/v1/responses`.

use std::borrow::Cow;

use records::{EventKind, Prompt};
use serde::Deserialize;

use super::{Api, Event, Fields, Seen, Usage, WireError, event::count, row, text::Text};
use crate::like::Like;

pub(super) struct Responses;

impl Api for Responses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn endpoint(&self, _: bool) -> &'static str {
        "/v1/responses"
    }

    fn input(&self, prompt: Prompt, _: Option<Like>) -> Result<Fields, String> {
        let input = match prompt.messages {
            Some(messages) => messages.into(),
            None => row::text(prompt)?,
        };
        Ok(vec![("input", input)])
    }

    fn length_field(&self) -> &'static str {
        "max_output_tokens"
    }

    /// `OpenAI`'s and those that vLLM obeys.
    fn sampling_field(&self, name: &'static str) -> Option<&'static str> {
        ["temperature", "top_p", "top_k", "repetition_penalty", "ignore_eos"].contains(&name).then_some(name)
    }

    /// Nothing is asked to be kept: a server's store would grow with each request.
    fn mode(&self, stream: bool) -> Fields {
        vec![("stream", stream.into()), ("store", false.into())]
    }

    fn parse<'a>(&self, data: &'a [u8], _: &Seen) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Wire<'a>>(data).map(Wire::event)
    }

    fn parse_whole<'a>(&self, data: &'a [u8]) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Response<'a>>(data).map(Response::event).map(Event::into_whole)
    }
}

/// One event, whatever its type: each field is that of the types that have it.
#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    delta: Text<'a>,
    #[serde(default)]
    item: Option<ItemKind>,
    #[serde(default, borrow)]
    response: Option<Response<'a>>,
    #[serde(default)]
    error: Option<WireError>,
    #[serde(default)]
    message: Option<WireError>,
}

#[derive(Deserialize)]
struct ItemKind {
    #[serde(rename = "type", default)]
    kind: String,
}

impl<'a> Wire<'a> {
    fn event(self) -> Event<'a> {
        match &*self.kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                Event::saying(self.delta, Text::Absent, false, None)
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                Event::saying(Text::Absent, self.delta, false, None)
            }
            "response.function_call_arguments.delta"
            | "response.custom_tool_call_input.delta"
            | "response.mcp_call_arguments.delta"
            | "response.code_interpreter_call_code.delta" => Event::of(EventKind::ToolCall),
            "response.output_item.added"
                if self.item.as_ref().is_some_and(|item| item.kind == "function_call") =>
            {
                Event::of(EventKind::ToolCall)
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.response.map_or(Event::of(EventKind::Finish), Response::end)
            }
            "error" => self.failure().unwrap_or_else(|| Event::failed("error".to_owned())),
            _ => self.failure().unwrap_or(Event::of(EventKind::Other)),
        }
    }

    fn failure(self) -> Option<Event<'a>> {
        self.error.or(self.message).and_then(WireError::message).map(Event::failed)
    }
}

/// A response as an object: whole, or as far as it is known when it begins and ends.
#[derive(Deserialize)]
struct Response<'a> {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    incomplete_details: Option<Incomplete>,
    #[serde(default)]
    error: Option<WireError>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default, borrow)]
    output: Vec<Item<'a>>,
}

impl<'a> Response<'a> {
    /// The event that closes a stream: its output has come before.
    fn end(self) -> Event<'static> {
        let (finish_reason, usage) = (self.finish_reason(), self.usage.map(WireUsage::into));
        let error = self.error.and_then(WireError::message);
        let error = error
            .or_else(|| (finish_reason.as_deref() == Some("failed")).then(|| "response.failed".to_owned()));
        let event = error.map_or(Event::of(EventKind::Finish), Event::failed);
        Event { finish_reason, usage, ends: true, ..event }
    }

    fn finish_reason(&self) -> Option<String> {
        let reason = self.incomplete_details.as_ref().and_then(|details| details.reason.clone());
        reason.or_else(|| self.status.clone())
    }

    fn event(mut self) -> Event<'a> {
        let (mut content, mut thinking, mut calls) = (Text::Absent, Text::Absent, false);
        for item in std::mem::take(&mut self.output) {
            match &*item.kind {
                "message" => content = content.join(item.content),
                "reasoning" => thinking = thinking.join(item.content.or(item.summary)),
                kind => calls |= kind.ends_with("_call"),
            }
        }
        let said = Event::saying(content, thinking, calls, None);
        let end = self.end();
        let kind = if end.error.is_some() { end.kind } else { said.kind };
        Event { kind, text: said.text, thinking: said.thinking, ..end }
    }
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    content: Text<'a>,
    #[serde(default, borrow)]
    summary: Text<'a>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(default)]
    input_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        Self {
            prompt: wire.input_tokens,
            output: wire.output_tokens,
            cached: wire.input_tokens_details.and_then(|details| details.cached_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &str) -> Event<'_> {
        Responses.read(data.as_bytes(), &Seen::default()).unwrap()
    }

    #[test]
    fn events_are_told_apart() {
        for (data, kind, text) in [
            (
                r#"{"type":"response.created","response":{"status":"in_progress","usage":null}}"#,
                EventKind::Other,
                None,
            ),
            (
                r#"{"type":"response.output_item.added","item":{"type":"message","content":[]}}"#,
                EventKind::Other,
                None,
            ),
            (
                r#"{"type":"response.output_item.added","item":{"type":"function_call"}}"#,
                EventKind::ToolCall,
                None,
            ),
            (r#"{"type":"response.output_text.delta","delta":" a"}"#, EventKind::Content, Some(" a")),
            (r#"{"type":"response.output_text.delta","delta":""}"#, EventKind::Blank, None),
            (r#"{"type":"response.refusal.delta","delta":"no"}"#, EventKind::Content, Some("no")),
            (r#"{"type":"response.reasoning_text.delta","delta":"a"}"#, EventKind::Reasoning, Some("a")),
            (
                r#"{"type":"response.reasoning_summary_text.delta","delta":"a"}"#,
                EventKind::Reasoning,
                Some("a"),
            ),
            (r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#, EventKind::ToolCall, None),
            (r#"{"type":"response.output_text.done","text":"a"}"#, EventKind::Other, None),
            (r#"{"type":"response.completed","response":{"status":"completed"}}"#, EventKind::Finish, None),
            ("null", EventKind::Other, None),
        ] {
            let event = read(data);
            assert_eq!((event.kind, event.text.as_deref()), (kind, text), "{data}");
        }
    }

    #[test]
    fn ends_say_why() {
        for (data, reason, error) in [
            (r#"{"type":"response.completed","response":{"status":"completed"}}"#, Some("completed"), None),
            (
                r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#,
                Some("max_output_tokens"),
                None,
            ),
            (
                r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"engine died"}}}"#,
                Some("failed"),
                Some("engine died"),
            ),
            (
                r#"{"type":"response.failed","response":{"status":"failed"}}"#,
                Some("failed"),
                Some("response.failed"),
            ),
            (
                r#"{"type":"response.completed","response":{"status":"cancelled"}}"#,
                Some("cancelled"),
                Some("the server gave the answer up: finish reason \"cancelled\""),
            ),
        ] {
            let event = read(data);
            assert!(event.ends, "{data}");
            assert_eq!((event.finish_reason.as_deref(), event.error.as_deref()), (reason, error), "{data}");
        }
    }

    #[test]
    fn errors_are_found_in_both_shapes() {
        for data in [
            r#"{"type":"error","code":"x","message":"engine died","param":null}"#,
            r#"{"type":"error","error":{"message":"engine died"}}"#,
            r#"{"error":{"message":"engine died"}}"#,
        ] {
            assert_eq!(read(data).error.as_deref(), Some("engine died"), "{data}");
        }
    }

    #[test]
    fn a_whole_answer_is_read() {
        let data = br#"{"object":"response","status":"completed","error":null,"incomplete_details":null,"output":[
            {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}]}],
            "usage":{"input_tokens":4,"input_tokens_details":{"cached_tokens":1},"output_tokens":2}}"#;
        let event = Responses.read_whole(data).unwrap();
        assert_eq!(
            (event.kind, event.text.as_deref(), event.thinking.as_deref()),
            (EventKind::Whole, Some("a"), Some("hm"))
        );
        assert_eq!(event.usage, Some(Usage { prompt: Some(4), output: Some(2), cached: Some(1) }));
        assert_eq!(event.finish_reason.as_deref(), Some("completed"));
    }
}
