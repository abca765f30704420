//! Text Generation Inference's own `/generate_stream` and `/generate`.

use records::Prompt;
use serde::Deserialize;
use serde_json::json;

use super::{
    Api, Event, Fields, Seen, Usage, WireError,
    event::{count, reason},
    row,
    text::Text,
};
use crate::like::Like;

pub(super) struct Tgi;

impl Api for Tgi {
    fn name(&self) -> &'static str {
        "tgi"
    }

    fn endpoint(&self, stream: bool) -> &'static str {
        if stream { "/generate_stream" } else { "/generate" }
    }

    fn models_path(&self) -> &'static str {
        "/info"
    }

    fn names_model(&self) -> bool {
        false
    }

    fn input(&self, prompt: Prompt, _: Option<Like>) -> Result<Fields, String> {
        Ok(vec![("inputs", row::text(prompt)?)])
    }

    fn section(&self) -> Option<&'static str> {
        Some("parameters")
    }

    fn length_field(&self) -> &'static str {
        "max_new_tokens"
    }

    fn sampling_field(&self, name: &'static str) -> Option<&'static str> {
        let known = ["temperature", "top_p", "top_k", "frequency_penalty", "repetition_penalty"];
        known.contains(&name).then_some(name)
    }

    /// The path says it; a whole answer has its counts only if it is asked for details.
    fn mode(&self, stream: bool) -> Fields {
        if stream { Vec::new() } else { vec![("parameters", json!({ "details": true }))] }
    }

    fn parse<'a>(&self, data: &'a [u8], _: &Seen) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Wire<'a>>(data).map(Wire::event)
    }

    fn parse_whole<'a>(&self, data: &'a [u8]) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Wire<'a>>(data).map(Wire::whole)
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(default, borrow)]
    token: Option<Token<'a>>,
    /// In a stream, all of the text once more, with its last token.
    #[serde(default, borrow)]
    generated_text: Text<'a>,
    #[serde(default)]
    details: Option<Details>,
    #[serde(default)]
    error: Option<WireError>,
}

#[derive(Deserialize)]
struct Token<'a> {
    #[serde(default, borrow)]
    text: Text<'a>,
    /// Such as the end-of-sequence token, whose text is not part of the answer.
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "reason")]
    finish_reason: Option<String>,
    #[serde(default, deserialize_with = "count")]
    generated_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    input_length: Option<u64>,
}

impl<'a> Wire<'a> {
    fn event(self) -> Event<'a> {
        if let Some(message) = self.error.and_then(WireError::message) {
            return Event::failed(message);
        }
        let text = match self.token {
            Some(token) if token.special => Text::Empty,
            Some(token) => token.text,
            None => Text::Absent,
        };
        let ends = self.details.is_some() || self.generated_text != Text::Absent;
        Event { ends, ..said(text, self.details) }
    }

    fn whole(self) -> Event<'a> {
        match self.error.and_then(WireError::message) {
            Some(message) => Event::failed(message),
            None => said(self.generated_text, self.details).into_whole(),
        }
    }
}

fn said(text: Text<'_>, details: Option<Details>) -> Event<'_> {
    let Some(details) = details else { return Event::saying(text, Text::Absent, false, None) };
    let usage = Usage { prompt: details.input_length, output: details.generated_tokens, cached: None };
    Event { usage: usage.if_any(), ..Event::saying(text, Text::Absent, false, details.finish_reason) }
}

#[cfg(test)]
mod tests {
    use records::EventKind;

    use super::*;

    #[test]
    fn events_are_told_apart() {
        for (data, kind, text, ends) in [
            (
                r#"{"index":1,"token":{"id":5,"text":" a","special":false},"generated_text":null,"details":null}"#,
                EventKind::Content,
                Some(" a"),
                false,
            ),
            (r#"{"token":{"text":"","special":false}}"#, EventKind::Blank, None, false),
            (r#"{"token":{"text":"<s>","special":true}}"#, EventKind::Blank, None, false),
            (
                r#"{"token":{"text":" b","special":false},"generated_text":" a b","details":{"finish_reason":"length","generated_tokens":2}}"#,
                EventKind::Content,
                Some(" b"),
                true,
            ),
            (
                r#"{"token":{"text":"</s>","special":true},"generated_text":" a","details":{"finish_reason":"eos_token"}}"#,
                EventKind::Stop,
                None,
                true,
            ),
            (
                r#"{"error":"Request failed during generation","error_type":"generation"}"#,
                EventKind::Error,
                None,
                false,
            ),
        ] {
            let event = Tgi.read(data.as_bytes(), &Seen::default()).unwrap();
            assert_eq!((event.kind, event.text.as_deref(), event.ends), (kind, text, ends), "{data}");
        }
    }

    #[test]
    fn details_hold_counts_and_reason() {
        let details =
            r#""details":{"finish_reason":"length","generated_tokens":2,"input_length":4,"seed":null}"#;
        let data = format!(r#"{{"token":{{"text":" b"}},"generated_text":" a b",{details}}}"#);
        let usage = Some(Usage { prompt: Some(4), output: Some(2), cached: None });
        let event = Tgi.read(data.as_bytes(), &Seen::default()).unwrap();
        assert_eq!((event.finish_reason.as_deref(), event.usage), (Some("length"), usage));
        let data = format!(r#"{{"generated_text":" a b",{details}}}"#);
        let event = Tgi.read_whole(data.as_bytes()).unwrap();
        assert_eq!((event.kind, event.text.as_deref(), event.usage), (EventKind::Whole, Some(" a b"), usage));
    }
}
