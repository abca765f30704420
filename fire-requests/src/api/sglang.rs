//! `SGLang`'s own `/generate`, whose events repeat the text so far.

use std::borrow::Cow;

use records::{EventKind, Prompt};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::Value;

use super::{Api, Event, Fields, Seen, Usage, WireError, event::count, row, text::Text};
use crate::like::Like;

pub(super) struct Sglang;

impl Api for Sglang {
    fn name(&self) -> &'static str {
        "sglang"
    }

    fn endpoint(&self, _: bool) -> &'static str {
        "/generate"
    }

    fn models_path(&self) -> &'static str {
        "/get_model_info"
    }

    fn names_model(&self) -> bool {
        false
    }

    fn input(&self, prompt: Prompt, _: Option<Like>) -> Result<Fields, String> {
        Ok(vec![("text", row::text(prompt)?)])
    }

    fn section(&self) -> Option<&'static str> {
        Some("sampling_params")
    }

    fn length_field(&self) -> &'static str {
        "max_new_tokens"
    }

    fn sampling_field(&self, name: &'static str) -> Option<&'static str> {
        Some(name)
    }

    fn is_stateless(&self) -> bool {
        false
    }

    fn parse<'a>(&self, data: &'a [u8], seen: &Seen) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Wire<'a>>(data).map(|wire| wire.event(seen))
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(default, borrow)]
    text: Text<'a>,
    #[serde(default)]
    output_ids: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    meta_info: Option<Meta>,
    #[serde(default)]
    error: Option<WireError>,
}

#[derive(Deserialize, Default)]
struct Meta {
    #[serde(default)]
    finish_reason: Option<Finish>,
    #[serde(default, deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
}

impl<'a> Wire<'a> {
    fn event(self, seen: &Seen) -> Event<'a> {
        let meta = self.meta_info.unwrap_or_default();
        let finish = meta.finish_reason.unwrap_or_default();
        if let Some(message) = self.error.and_then(WireError::message).or(finish.message) {
            return Event { finish_reason: finish.word, ..Event::failed(message) };
        }
        let usage =
            Usage { prompt: meta.prompt_tokens, output: meta.completion_tokens, cached: meta.cached_tokens };
        // A server told to stream increments has the ids of those tokens alone, and the count of all.
        let counted = usage.output.zip(self.output_ids.map(|ids| ids.len() as u64));
        let is_delta = counted.is_some_and(|(tokens, ids)| ids < tokens);
        let new = if is_delta { self.text } else { beyond(self.text, seen.text_bytes) };
        let grown = usage.output.is_some_and(|tokens| tokens > seen.output_tokens.unwrap_or(0));
        let event = Event::saying(new, Text::Absent, false, finish.word);
        let kind = match event.kind {
            EventKind::Blank if !grown => EventKind::Other,
            kind => kind,
        };
        Event { kind, usage: usage.if_any(), ..event }
    }
}

/// What a text adds to the `known` first bytes of it. A text that is shorter, or has a character across that
/// border, does not repeat them.
fn beyond(text: Text<'_>, known: usize) -> Text<'_> {
    match text {
        Text::Some(Cow::Borrowed(all)) if all.is_char_boundary(known) => Text::of(all[known..].into()),
        Text::Some(Cow::Owned(mut all)) if all.is_char_boundary(known) => {
            Text::of(all.split_off(known).into())
        }
        text => text,
    }
}

/// Why generation ended: `{"type":"length","length":16}`, or the bare word.
#[derive(Default)]
struct Finish {
    word: Option<String>,
    /// What an aborted request is told.
    message: Option<String>,
}

impl<'de> Deserialize<'de> for Finish {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(Self { word: text(&value).or_else(|| text(&value["type"])), message: text(&value["message"]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads events one after the other, as an answer does.
    fn read(events: &[&str]) -> Vec<(EventKind, Option<String>)> {
        let mut seen = Seen::default();
        let mut read = |data: &&str| {
            let event = Sglang.read(data.as_bytes(), &seen).unwrap();
            seen.text_bytes += event.text.as_ref().map_or(0, |text| text.len());
            seen.output_tokens = event.usage.and_then(|usage| usage.output);
            (event.kind, event.text.map(Cow::into_owned))
        };
        events.iter().map(&mut read).collect()
    }

    #[test]
    fn only_what_is_new_is_taken() {
        let events = read(&[
            r#"{"text":" é","meta_info":{"completion_tokens":1,"finish_reason":null}}"#,
            r#"{"text":" é","meta_info":{"completion_tokens":2}}"#,
            r#"{"text":" é\nb","meta_info":{"completion_tokens":3}}"#,
            r#"{"text":" é\nb","meta_info":{"completion_tokens":3}}"#,
            r#"{"text":" é\nb","meta_info":{"completion_tokens":4,"finish_reason":{"type":"stop","matched":2}}}"#,
        ]);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            events,
            [
                (EventKind::Content, text(" é")),
                (EventKind::Blank, None),
                (EventKind::Content, text("\nb")),
                (EventKind::Other, None),
                (EventKind::Stop, None),
            ]
        );
    }

    #[test]
    fn increments_are_taken_as_they_are() {
        for (events, second) in [
            (
                [
                    r#"{"text":"a","output_ids":[1],"meta_info":{"completion_tokens":1}}"#,
                    r#"{"text":"long","output_ids":[2],"meta_info":{"completion_tokens":2}}"#,
                ],
                "long",
            ),
            ([r#"{"text":"long"}"#, r#"{"text":"a"}"#], "a"),
            ([r#"{"text":"a"}"#, r#"{"text":"é"}"#], "é"),
        ] {
            assert_eq!(read(&events)[1], (EventKind::Content, Some(second.to_owned())), "{events:?}");
        }
    }

    #[test]
    fn failures_are_told() {
        for (data, message) in [
            (r#"{"error":{"message":"engine died"}}"#, "engine died"),
            (
                r#"{"text":"","meta_info":{"finish_reason":{"type":"abort","message":"too long"}}}"#,
                "too long",
            ),
            (
                r#"{"text":"","meta_info":{"finish_reason":{"type":"abort"}}}"#,
                "the server gave the answer up: finish reason \"abort\"",
            ),
        ] {
            let event = Sglang.read(data.as_bytes(), &Seen::default()).unwrap();
            assert_eq!(event.error.as_deref(), Some(message), "{data}");
        }
    }

    #[test]
    fn a_whole_answer_is_read() {
        let data =
            br#"{"text":" a b","meta_info":{"finish_reason":{"type":"length","length":2},"prompt_tokens":4,
            "completion_tokens":2,"cached_tokens":1}}"#;
        let event = Sglang.read_whole(data).unwrap();
        assert_eq!((event.kind, event.text.as_deref()), (EventKind::Whole, Some(" a b")));
        assert_eq!(event.finish_reason.as_deref(), Some("length"));
        assert_eq!(event.usage, Some(Usage { prompt: Some(4), output: Some(2), cached: Some(1) }));
    }
}
