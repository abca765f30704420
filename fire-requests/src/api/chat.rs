//! The `OpenAI` API's `/v1/chat/completions`.

use std::borrow::Cow;

use records::{EventKind, Prompt};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Api, Event, Seen,
    event::{Chunk, Text},
};
use crate::like::Like;

pub(super) struct Chat;

impl Api for Chat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn endpoint(&self) -> &'static str {
        "/v1/chat/completions"
    }

    fn length_field(&self) -> &'static str {
        "max_completion_tokens"
    }

    fn input(&self, prompt: Prompt, like: Option<Like>) -> Result<(&'static str, Value), String> {
        let user = |content: Value| json!([{ "role": "user", "content": content }]);
        let messages = match (prompt.messages, prompt.prompt, like) {
            (Some(_), _, Some(Like::Vllm011)) => {
                return Err(
                    "`messages`: vLLM 0.11 sends one user message; give the row a `prompt`".to_owned()
                );
            }
            (Some(messages), _, _) => messages.into(),
            (None, Some(text), None) => user(text.into()),
            (None, Some(text), Some(_)) => user(json!([{ "type": "text", "text": text }])),
            (None, None, _) => return Err("neither `prompt` nor `messages`".to_owned()),
        };
        Ok(("messages", messages))
    }

    fn read<'a>(&self, data: &'a [u8], _: &Seen) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Chunk<Choice<'a>>>(data).map(|chunk| chunk.event(Choice::kind))
    }
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default, borrow)]
    delta: Option<Delta<'a>>,
    #[serde(default, deserialize_with = "super::event::reason")]
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta<'a> {
    #[serde(default, borrow)]
    role: Text<'a>,
    #[serde(default, borrow)]
    content: Text<'a>,
    #[serde(default, borrow)]
    refusal: Text<'a>,
    #[serde(default, borrow)]
    reasoning: Text<'a>,
    #[serde(default, borrow)]
    reasoning_content: Text<'a>,
    #[serde(default, borrow)]
    tool_calls: Text<'a>,
    #[serde(default, borrow)]
    function_call: Text<'a>,
}

impl<'a> Choice<'a> {
    fn kind(self) -> (EventKind, Option<Cow<'a, str>>, Option<String>) {
        let delta = self.delta.unwrap_or_default();
        let empty =
            delta.content.is_empty() || delta.reasoning.is_empty() || delta.reasoning_content.is_empty();
        let kind = if delta.content.is_some() || delta.refusal.is_some() {
            EventKind::Content
        } else if delta.reasoning.is_some() {
            EventKind::Reasoning
        } else if delta.reasoning_content.is_some() {
            EventKind::ReasoningContent
        } else if delta.tool_calls.is_some() || delta.function_call.is_some() {
            EventKind::ToolCall
        } else if self.finish_reason.is_some() {
            if empty { EventKind::Stop } else { EventKind::Finish }
        } else if delta.role.is_some() {
            EventKind::Role
        } else if empty {
            EventKind::Blank
        } else {
            EventKind::Other
        };
        let text = match kind {
            EventKind::Content => delta.content.text().or(delta.refusal.text()),
            EventKind::Reasoning => delta.reasoning.text(),
            EventKind::ReasoningContent => delta.reasoning_content.text(),
            _ => None,
        };
        (kind, text, self.finish_reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(delta: &str, finish: &str) -> EventKind {
        let data = format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#);
        Chat.read(data.as_bytes(), &Seen::default()).unwrap().kind
    }

    #[test]
    fn deltas_are_told_apart() {
        for (delta, finish, expected) in [
            (r#"{"role":"assistant","content":""}"#, "null", EventKind::Role),
            (r#"{"role":"assistant","content":null}"#, "null", EventKind::Role),
            (r#"{"role":"assistant","content":"a"}"#, "null", EventKind::Content),
            (r#"{"content":[{"type":"text","text":"a"}]}"#, "null", EventKind::Content),
            (r#"{"content":"a"}"#, r#""length""#, EventKind::Content),
            (r#"{"reasoning":"a","content":null}"#, "null", EventKind::Reasoning),
            (r#"{"reasoning_content":"a","content":null}"#, "null", EventKind::ReasoningContent),
            (r#"{"content":null,"tool_calls":[{"index":0}]}"#, "null", EventKind::ToolCall),
            (r#"{"tool_calls":[]}"#, "null", EventKind::Other),
            (r#"{"content":""}"#, "null", EventKind::Blank),
            (r#"{"reasoning":""}"#, "null", EventKind::Blank),
            (r#"{"content":""}"#, r#""stop""#, EventKind::Stop),
            ("{}", r#""stop""#, EventKind::Finish),
            ("null", "null", EventKind::Other),
            (r#"{"content":""}"#, r#""""#, EventKind::Blank),
            (r#"{"content":""}"#, r#""null""#, EventKind::Blank),
        ] {
            assert_eq!(kind(delta, finish), expected, "{delta} {finish}");
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
            let event = Chat.read(data.as_bytes(), &Seen::default()).unwrap();
            assert_eq!((event.kind, event.error.as_deref()), (EventKind::Error, Some(message)));
        }
    }
}
