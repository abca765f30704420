//! The `OpenAI` API's `/v1/completions`.

use records::Prompt;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Api, Event, Fields, Seen,
    choices::{self, Chunk},
    row,
    text::Text,
};
use crate::like::Like;

pub(super) struct Completions;

impl Api for Completions {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn endpoint(&self, _: bool) -> &'static str {
        "/v1/completions"
    }

    fn input(&self, prompt: Prompt, _: Option<Like>) -> Result<Fields, String> {
        Ok(vec![("prompt", row::text(prompt)?)])
    }

    fn length_field(&self) -> &'static str {
        "max_tokens"
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
        Some([Some(("repetition_penalty", 1.0.into())), Some(("logprobs", Value::Null))])
    }

    fn parse<'a>(&self, data: &'a [u8], _: &Seen) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Chunk<Choice<'a>>>(data).map(Chunk::event)
    }
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(default, borrow)]
    text: Text<'a>,
    #[serde(default, deserialize_with = "super::event::reason")]
    finish_reason: Option<String>,
}

impl<'a> choices::Choice<'a> for Choice<'a> {
    fn index(&self) -> u64 {
        self.index
    }

    fn event(self) -> Event<'a> {
        Event::saying(self.text, Text::Absent, false, self.finish_reason)
    }
}

#[cfg(test)]
mod tests {
    use records::EventKind;

    use super::*;

    fn read(data: &str) -> Event<'_> {
        Completions.read(data.as_bytes(), &Seen::default()).unwrap()
    }

    #[test]
    fn events_are_told_apart() {
        for (data, kind) in [
            (r#"{"choices":[{"text":"a","finish_reason":null}]}"#, EventKind::Content),
            (r#"{"choices":[{"text":"a","finish_reason":"length"}]}"#, EventKind::Content),
            (r#"{"choices":[{"text":"a","logprobs":{"token_logprobs":[NaN]}}]}"#, EventKind::Content),
            (r#"{"choices":[{"text":""}]}"#, EventKind::Blank),
            (r#"{"choices":[{"text":""},{"index":1,"text":"a"}]}"#, EventKind::Content),
            (r#"{"choices":[{"text":"","finish_reason":"stop"}]}"#, EventKind::Stop),
            (r#"{"choices":[{"finish_reason":"stop"}]}"#, EventKind::Finish),
            (r#"{"choices":[],"usage":{"completion_tokens":2}}"#, EventKind::Usage),
            (r#"{"choices":[]}"#, EventKind::Other),
            (r#"{"choices":null}"#, EventKind::Other),
            ("null", EventKind::Other),
            (r#"{"error":"full"}"#, EventKind::Error),
            (r#"{"choices":[{"text":"a"}],"error":""}"#, EventKind::Content),
            (r#"{"choices":[{"text":"a"}],"error":false}"#, EventKind::Content),
        ] {
            assert_eq!(read(data).kind, kind, "{data}");
        }
    }

    #[test]
    fn a_text_is_that_of_the_first_answer() {
        for (data, text) in [
            (r#"{"choices":[{"text":" é"}]}"#, Some(" é")),
            (r#"{"choices":[{"index":1,"text":"a"}]}"#, None),
            (r#"{"choices":[{"text":"\ud83d"}]}"#, Some("\u{FFFD}")),
        ] {
            assert_eq!(read(data).text.as_deref(), text, "{data}");
        }
    }

    #[test]
    fn invalid_utf8_fails_nothing() {
        let event = Completions.read(b"{\"choices\":[{\"text\":\"a\xE6\"}]}", &Seen::default()).unwrap();
        assert_eq!(event.text.as_deref(), Some("a\u{FFFD}"));
    }

    #[test]
    fn a_finish_reason_can_be_a_failure() {
        for reason in ["abort", "error", "cancelled"] {
            let data = format!(r#"{{"choices":[{{"text":"","finish_reason":"{reason}"}}]}}"#);
            let message = format!("the server gave the answer up: finish reason \"{reason}\"");
            assert_eq!(read(&data).error, Some(message));
        }
        assert_eq!(read(r#"{"choices":[{"text":"","finish_reason":"content_filter"}]}"#).error, None);
    }

    #[test]
    fn a_count_that_is_none_fails_nothing() {
        for (count, counted) in [("8.0", Some(8)), ("\"8\"", None), ("-1", None), ("null", None)] {
            let data = format!(r#"{{"choices":[],"usage":{{"completion_tokens":{count}}}}}"#);
            assert_eq!(read(&data).usage.unwrap().output, counted, "{count}");
        }
    }

    #[test]
    fn usage_is_read_beside_a_choice_too() {
        let usage = read(
            r#"{"choices":[{"text":"","finish_reason":"length"}],"usage":{"completion_tokens":16,
            "prompt_tokens":4,"prompt_tokens_details":{"cached_tokens":1}}}"#,
        )
        .usage
        .unwrap();
        assert_eq!((usage.prompt, usage.output, usage.cached), (Some(4), Some(16), Some(1)));
    }

    #[test]
    fn a_whole_answer_has_one_text() {
        let data =
            br#"{"choices":[{"text":"a b","finish_reason":"length"}],"usage":{"completion_tokens":2}}"#;
        let event = Completions.read_whole(data).unwrap();
        assert_eq!((event.kind, event.text.as_deref(), event.ends), (EventKind::Whole, Some("a b"), true));
        let empty = br#"{"choices":[{"text":"","finish_reason":"stop"}],"usage":{"completion_tokens":0}}"#;
        assert_eq!(Completions.read_whole(empty).unwrap().kind, EventKind::Stop);
    }
}
