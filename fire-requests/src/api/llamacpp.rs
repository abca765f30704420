//! llama.cpp's own `/completion`.

use records::Prompt;
use serde::Deserialize;

use super::{
    Api, Event, Fields, Seen, Usage, WireError,
    event::{count, reason},
    row,
    text::Text,
};
use crate::like::Like;

pub(super) struct LlamaCpp;

impl Api for LlamaCpp {
    fn name(&self) -> &'static str {
        "llamacpp"
    }

    fn endpoint(&self, _: bool) -> &'static str {
        "/completion"
    }

    fn input(&self, prompt: Prompt, _: Option<Like>) -> Result<Fields, String> {
        Ok(vec![("prompt", row::text(prompt)?)])
    }

    fn length_field(&self) -> &'static str {
        "n_predict"
    }

    fn sampling_field(&self, name: &'static str) -> Option<&'static str> {
        Some(if name == "repetition_penalty" { "repeat_penalty" } else { name })
    }

    fn parse<'a>(&self, data: &'a [u8], _: &Seen) -> Result<Event<'a>, serde_json::Error> {
        serde_json::from_slice::<Wire<'a>>(data).map(Wire::event)
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(default, borrow)]
    content: Text<'a>,
    #[serde(default)]
    stop: bool,
    #[serde(default, deserialize_with = "reason")]
    stop_type: Option<String>,
    #[serde(default, deserialize_with = "count")]
    tokens_predicted: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    tokens_evaluated: Option<u64>,
    #[serde(default)]
    timings: Option<Timings>,
    #[serde(default)]
    error: Option<WireError>,
}

/// `tokens_cached` beside it is all that the cache holds in the end, the answer included.
#[derive(Deserialize)]
struct Timings {
    #[serde(default, deserialize_with = "count")]
    cache_n: Option<u64>,
}

impl<'a> Wire<'a> {
    fn event(self) -> Event<'a> {
        if let Some(message) = self.error.and_then(WireError::message) {
            return Event::failed(message);
        }
        let usage = Usage {
            prompt: self.tokens_evaluated,
            output: self.tokens_predicted,
            cached: self.timings.and_then(|timings| timings.cache_n),
        };
        // Servers before the field `stop_type` only say that they stopped.
        let reason = self.stop_type.or_else(|| self.stop.then(|| "stop".to_owned())).filter(|_| self.stop);
        Event {
            usage: usage.if_any(),
            ends: self.stop,
            ..Event::saying(self.content, Text::Absent, false, reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use records::EventKind;

    use super::*;

    #[test]
    fn events_are_told_apart() {
        for (data, kind, reason) in [
            (r#"{"content":" a","stop":false,"stop_type":"none"}"#, EventKind::Content, None),
            (r#"{"content":"","stop":false}"#, EventKind::Blank, None),
            (r#"{"content":"","stop":true,"stop_type":"limit"}"#, EventKind::Stop, Some("limit")),
            (r#"{"content":"","stop":true}"#, EventKind::Stop, Some("stop")),
            (r#"{"error":{"code":500,"message":"engine died"}}"#, EventKind::Error, None),
        ] {
            let event = LlamaCpp.read(data.as_bytes(), &Seen::default()).unwrap();
            assert_eq!((event.kind, event.finish_reason.as_deref()), (kind, reason), "{data}");
            assert_eq!(event.ends, reason.is_some(), "{data}");
        }
    }

    #[test]
    fn a_whole_answer_is_read() {
        let data =
            br#"{"content":" a","stop":true,"stop_type":"eos","tokens_predicted":2,"tokens_evaluated":4,
            "tokens_cached":5,"timings":{"cache_n":3}}"#;
        let event = LlamaCpp.read_whole(data).unwrap();
        assert_eq!((event.kind, event.text.as_deref()), (EventKind::Whole, Some(" a")));
        assert_eq!(event.usage, Some(Usage { prompt: Some(4), output: Some(2), cached: Some(3) }));
    }
}
