//! The `OpenAI` API's `/v1/chat/completions`.

use records::{EventKind, Prompt};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Api, Event, Fields, Seen,
    choices::{self, Chunk},
    row,
    text::{Presence, Text},
};
use crate::like::Like;

pub(super) struct Chat;

impl Api for Chat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn endpoint(&self, _: bool) -> &'static str {
        "/v1/chat/completions"
    }

    fn input(&self, prompt: Prompt, like: Option<Like>) -> Result<Fields, String> {
        let messages = match (prompt, like) {
            (Prompt { messages: Some(_), .. }, Some(Like::Vllm011)) => {
                return Err(
                    "`messages`: vLLM 0.11 sends one user message; give the row a `prompt`".to_owned()
                );
            }
            (Prompt { prompt: Some(text), messages: None, .. }, Some(_)) => {
                vec![json!({ "role": "user", "content": [{ "type": "text", "text": text }] })]
            }
            (prompt, _) => row::messages(prompt)?,
        };
        Ok(vec![("messages", messages.into())])
    }

    fn length_field(&self) -> &'static str {
        "max_completion_tokens"
    }

    fn length_fields(&self) -> &'static [&'static str] {
        &["max_tokens", "max_completion_tokens"]
    }

    /// `OpenAI`'s and those that vLLM adds; a server refuses what it has not.
    fn sampling_field(&self, name: &'static str) -> Option<&'static str> {
        Some(name)
    }

    fn mode(&self, stream: bool) -> Fields {
        choices::mode(stream)
    }

    fn vllm_fields(&self) -> Option<[Option<(&'static str, Value)>; 2]> {
        Some([None, None])
    }

    fn parse<'a>(&self, data: &'a [u8], _: &Seen) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Chunk<Choice<'a>>>(data).map(Chunk::event)
    }
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    /// A part of an answer, or a whole one.
    #[serde(default, borrow, alias = "message")]
    delta: Option<Delta<'a>>,
    #[serde(default, deserialize_with = "super::event::reason")]
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta<'a> {
    #[serde(default)]
    role: Presence,
    #[serde(default, borrow)]
    content: Text<'a>,
    #[serde(default, borrow)]
    refusal: Text<'a>,
    #[serde(default, borrow)]
    reasoning: Text<'a>,
    #[serde(default, borrow)]
    reasoning_content: Text<'a>,
    #[serde(default)]
    tool_calls: Presence,
    #[serde(default)]
    function_call: Presence,
}

impl<'a> choices::Choice<'a> for Choice<'a> {
    fn index(&self) -> u64 {
        self.index
    }

    fn event(self) -> Event<'a> {
        let delta = self.delta.unwrap_or_default();
        let in_reasoning = delta.reasoning.is_some();
        let calls = delta.tool_calls.0 || delta.function_call.0;
        let content =
            if delta.content.is_some() || !delta.refusal.is_some() { delta.content } else { delta.refusal };
        let thinking = delta.reasoning.or(delta.reasoning_content);
        let event = Event::saying(content, thinking, calls, self.finish_reason);
        let kind = match event.kind {
            EventKind::Reasoning if !in_reasoning => EventKind::ReasoningContent,
            EventKind::Blank | EventKind::Other if delta.role.0 => EventKind::Role,
            kind => kind,
        };
        Event { kind, ..event }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &str) -> Event<'_> {
        Chat.read(data.as_bytes(), &Seen::default()).unwrap()
    }

    fn delta(delta: &str, finish: &str) -> String {
        format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#)
    }

    #[test]
    fn deltas_are_told_apart() {
        for (given, finish, expected) in [
            (r#"{"role":"assistant","content":""}"#, "null", EventKind::Role),
            (r#"{"role":"assistant","content":null}"#, "null", EventKind::Role),
            (r#"{"role":"assistant","content":"a"}"#, "null", EventKind::Content),
            (r#"{"content":[{"type":"text","text":"a"}]}"#, "null", EventKind::Content),
            (r#"{"content":"a"}"#, r#""length""#, EventKind::Content),
            (r#"{"refusal":"a","content":null}"#, "null", EventKind::Content),
            (r#"{"reasoning":"a","content":null}"#, "null", EventKind::Reasoning),
            (r#"{"reasoning_content":"a","content":null}"#, "null", EventKind::ReasoningContent),
            (r#"{"reasoning":"a","reasoning_content":"a"}"#, "null", EventKind::Reasoning),
            (r#"{"content":null,"tool_calls":[{"index":0}]}"#, "null", EventKind::ToolCall),
            (r#"{"function_call":{"name":"f"}}"#, "null", EventKind::ToolCall),
            (r#"{"tool_calls":[]}"#, "null", EventKind::Other),
            (r#"{"content":""}"#, "null", EventKind::Blank),
            (r#"{"reasoning":""}"#, "null", EventKind::Blank),
            (r#"{"content":""}"#, r#""stop""#, EventKind::Stop),
            ("{}", r#""stop""#, EventKind::Finish),
            ("null", "null", EventKind::Other),
            (r#"{"content":""}"#, r#""""#, EventKind::Blank),
            (r#"{"content":""}"#, r#""null""#, EventKind::Blank),
        ] {
            assert_eq!(read(&delta(given, finish)).kind, expected, "{given} {finish}");
        }
    }

    #[test]
    fn content_and_thinking_are_kept_apart() {
        for (given, text, thinking) in [
            (r#"{"content":"a"}"#, Some("a"), None),
            (r#"{"reasoning":"a","reasoning_content":"a","content":""}"#, Some("a"), None),
            (r#"{"reasoning_content":"a","content":"b"}"#, Some("b"), Some("a")),
            (r#"{"refusal":"no","content":""}"#, Some("no"), None),
            (r#"{"tool_calls":[{"index":0}]}"#, None, None),
        ] {
            let data = delta(given, "null");
            let event = read(&data);
            assert_eq!((event.text.as_deref(), event.thinking.as_deref()), (text, thinking), "{given}");
        }
    }

    #[test]
    fn whole_answers_are_read() {
        for (message, text, thinking) in [
            (r#"{"role":"assistant","content":"a","refusal":null}"#, Some("a"), None),
            (r#"{"content":null,"reasoning":"a"}"#, None, Some("a")),
            (r#"{"content":"b","reasoning_content":"a"}"#, Some("b"), Some("a")),
            (r#"{"content":null,"tool_calls":[{"type":"function"}]}"#, None, None),
        ] {
            let data = format!(r#"{{"choices":[{{"message":{message},"finish_reason":"stop"}}]}}"#);
            let event = Chat.read_whole(data.as_bytes()).unwrap();
            assert_eq!((event.text.as_deref(), event.thinking.as_deref()), (text, thinking), "{message}");
            assert_eq!((event.kind, event.finish_reason.as_deref()), (EventKind::Whole, Some("stop")));
        }
    }

    #[test]
    fn an_error_keeps_the_servers_message() {
        for (data, message) in [
            (r#"{"error":{"message":"engine died","code":500}}"#, "engine died"),
            (r#"{"object":"error","message":"engine died"}"#, "engine died"),
            (r#"{"error":"engine died"}"#, "engine died"),
            (r#"{"error":{"code":500}}"#, r#"{"code":500}"#),
            (r#"{"error":{"message":""}}"#, r#"{"message":""}"#),
        ] {
            let event = read(data);
            assert_eq!((event.kind, event.error.as_deref()), (EventKind::Error, Some(message)));
        }
    }
}
