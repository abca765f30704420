//! The `OpenAI` API's `/v1/completions`.

use std::borrow::Cow;

use records::{EventKind, Prompt};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Api, Event, Seen,
    event::{Chunk, Text},
};
use crate::like::Like;

pub(super) struct Completions;

impl Api for Completions {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn endpoint(&self) -> &'static str {
        "/v1/completions"
    }

    fn length_field(&self) -> &'static str {
        "max_tokens"
    }

    fn input(&self, prompt: Prompt, _: Option<Like>) -> Result<(&'static str, Value), String> {
        match prompt.prompt {
            Some(text) => Ok(("prompt", text.into())),
            None => {
                Err("`messages` without `prompt` needs a chat endpoint; give --backend openai-chat"
                    .to_owned())
            }
        }
    }

    fn vllm_fields(&self) -> [Option<(&'static str, Value)>; 2] {
        [Some(("repetition_penalty", 1.0.into())), Some(("logprobs", Value::Null))]
    }

    fn read<'a>(&self, data: &'a [u8], _: &Seen) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Chunk<Choice<'a>>>(data).map(|chunk| chunk.event(Choice::kind))
    }
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default, borrow)]
    text: Text<'a>,
    #[serde(default, deserialize_with = "super::event::reason")]
    finish_reason: Option<String>,
}

impl<'a> Choice<'a> {
    fn kind(self) -> (EventKind, Option<Cow<'a, str>>, Option<String>) {
        let kind = match (&self.text, &self.finish_reason) {
            (Text::Text(_) | Text::Parts, _) => EventKind::Content,
            (Text::Empty, Some(_)) => EventKind::Stop,
            (Text::Empty, None) => EventKind::Blank,
            (Text::Absent, Some(_)) => EventKind::Finish,
            (Text::Absent, None) => EventKind::Other,
        };
        (kind, self.text.text(), self.finish_reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_apart() {
        for (data, kind) in [
            (r#"{"choices":[{"text":"a","finish_reason":null}]}"#, EventKind::Content),
            (r#"{"choices":[{"text":"a","finish_reason":"length"}]}"#, EventKind::Content),
            (r#"{"choices":[{"text":""}]}"#, EventKind::Blank),
            (r#"{"choices":[{"text":"","finish_reason":"stop"}]}"#, EventKind::Stop),
            (r#"{"choices":[{"finish_reason":"stop"}]}"#, EventKind::Finish),
            (r#"{"choices":[],"usage":{"completion_tokens":2}}"#, EventKind::Usage),
            (r#"{"choices":[]}"#, EventKind::Other),
            (r#"{"error":"full"}"#, EventKind::Error),
            (r#"{"choices":[{"text":"a"}],"error":""}"#, EventKind::Content),
            (r#"{"choices":[{"text":"a"}],"error":false}"#, EventKind::Content),
        ] {
            assert_eq!(Completions.read(data.as_bytes(), &Seen::default()).unwrap().kind, kind, "{data}");
        }
    }

    #[test]
    fn a_count_that_is_none_fails_nothing() {
        for (count, read) in [("8.0", Some(8)), ("\"8\"", None), ("-1", None), ("null", None)] {
            let data = format!(r#"{{"choices":[],"usage":{{"completion_tokens":{count}}}}}"#);
            assert_eq!(
                Completions.read(data.as_bytes(), &Seen::default()).unwrap().usage.unwrap().output,
                read,
                "{count}"
            );
        }
    }

    #[test]
    fn usage_is_read_beside_a_choice_too() {
        let data = br#"{"choices":[{"text":"","finish_reason":"length"}],"usage":{"completion_tokens":16,
            "prompt_tokens":4,"prompt_tokens_details":{"cached_tokens":1}}}"#;
        let usage = Completions.read(data, &Seen::default()).unwrap().usage.unwrap();
        assert_eq!((usage.prompt, usage.output, usage.cached), (Some(4), Some(16), Some(1)));
    }
}
