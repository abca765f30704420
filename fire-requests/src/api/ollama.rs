//! Ollama's own `/api/chat`, which streams a JSON document a line.

use records::Prompt;
use serde::Deserialize;

use super::{
    Api, Event, Fields, Framing, Seen, Usage, WireError,
    event::{count, reason},
    row,
    text::{Presence, Text},
};
use crate::like::Like;

pub(super) struct Ollama;

impl Api for Ollama {
    fn name(&self) -> &'static str {
        "ollama"
    }

    fn endpoint(&self, _: bool) -> &'static str {
        "/api/chat"
    }

    fn models_path(&self) -> &'static str {
        "/api/tags"
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn input(&self, prompt: Prompt, _: Option<Like>) -> Result<Fields, String> {
        Ok(vec![("messages", row::messages(prompt)?.into())])
    }

    fn section(&self) -> Option<&'static str> {
        Some("options")
    }

    fn length_field(&self) -> &'static str {
        "num_predict"
    }

    fn sampling_field(&self, name: &'static str) -> Option<&'static str> {
        match name {
            "ignore_eos" => None,
            "repetition_penalty" => Some("repeat_penalty"),
            name => Some(name),
        }
    }

    fn parse<'a>(&self, data: &'a [u8], _: &Seen) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Wire<'a>>(data).map(Wire::event)
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(default, borrow)]
    message: Option<Message<'a>>,
    #[serde(default)]
    done: bool,
    #[serde(default, deserialize_with = "reason")]
    done_reason: Option<String>,
    #[serde(default, deserialize_with = "count")]
    prompt_eval_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    eval_count: Option<u64>,
    #[serde(default)]
    error: Option<WireError>,
}

#[derive(Deserialize, Default)]
struct Message<'a> {
    #[serde(default, borrow)]
    content: Text<'a>,
    #[serde(default, borrow)]
    thinking: Text<'a>,
    #[serde(default)]
    tool_calls: Presence,
}

impl<'a> Wire<'a> {
    fn event(self) -> Event<'a> {
        if let Some(message) = self.error.and_then(WireError::message) {
            return Event::failed(message);
        }
        let message = self.message.unwrap_or_default();
        let usage = Usage { prompt: self.prompt_eval_count, output: self.eval_count, cached: None };
        // Servers before the field `done_reason` only say that they are done.
        let reason = self.done_reason.or_else(|| self.done.then(|| "done".to_owned()));
        let event = Event::saying(message.content, message.thinking, message.tool_calls.0, reason);
        Event { usage: usage.if_any(), ends: self.done, ..event }
    }
}

#[cfg(test)]
mod tests {
    use records::EventKind;

    use super::*;

    #[test]
    fn events_are_told_apart() {
        for (data, kind, text) in [
            (
                r#"{"message":{"role":"assistant","content":" a"},"done":false}"#,
                EventKind::Content,
                Some(" a"),
            ),
            (r#"{"message":{"role":"assistant","content":""},"done":false}"#, EventKind::Blank, None),
            (r#"{"message":{"content":"","thinking":"a"},"done":false}"#, EventKind::Reasoning, Some("a")),
            (
                r#"{"message":{"content":"","tool_calls":[{"function":{"name":"f"}}]}}"#,
                EventKind::ToolCall,
                None,
            ),
            (r#"{"message":{"content":""},"done_reason":"stop","done":true}"#, EventKind::Stop, None),
            (r#"{"error":"model runner has unexpectedly stopped"}"#, EventKind::Error, None),
        ] {
            let event = Ollama.read(data.as_bytes(), &Seen::default()).unwrap();
            assert_eq!((event.kind, event.text.as_deref()), (kind, text), "{data}");
            assert_eq!(event.ends, kind == EventKind::Stop, "{data}");
        }
    }

    #[test]
    fn a_whole_answer_is_read() {
        let data = br#"{"message":{"role":"assistant","content":"a","thinking":"hm"},"done_reason":"length","done":true,
            "prompt_eval_count":4,"eval_count":2}"#;
        let event = Ollama.read_whole(data).unwrap();
        assert_eq!(
            (event.kind, event.text.as_deref(), event.thinking.as_deref()),
            (EventKind::Whole, Some("a"), Some("hm"))
        );
        assert_eq!(event.finish_reason.as_deref(), Some("length"));
        assert_eq!(event.usage, Some(Usage { prompt: Some(4), output: Some(2), cached: None }));
    }
}
