//! Knowing an event by its likeness to the one before.
//!
//! The events of a stream differ in their text alone, most of the time. An event that is byte for byte the last one
//! that was parsed, but for what stands in one JSON string, parses to the same but for that string: there is no need
//! to parse it.

use std::{borrow::Cow, ops::Range};

use memchr::memchr2;
use records::EventKind;

use crate::api::Event;

/// The last event that was parsed and consisted of a piece of text.
#[derive(Debug, Default)]
pub(crate) struct Likeness {
    kind: Option<EventKind>,
    /// What stands before its text, the opening quote included, and after it, the closing quote included.
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Likeness {
    /// What `data` is, and its text, if it differs from the remembered event in that alone.
    pub(crate) fn find<'a>(&self, data: &'a [u8]) -> Option<(EventKind, &'a [u8])> {
        let kind = self.kind?;
        let text = data.strip_prefix(self.before.as_slice())?.strip_suffix(self.after.as_slice())?;
        // A quote would end the string before, and a backslash may stand for anything.
        (!text.is_empty() && memchr2(b'"', b'\\', text).is_none()).then_some((kind, text))
    }

    /// Remembers `data`, which was parsed as `event`, if it says nothing but its text.
    pub(crate) fn learn(&mut self, data: &[u8], event: &Event<'_>) {
        let text_alone = event.thinking.is_none()
            && event.finish_reason.is_none()
            && event.usage.is_none()
            && event.error.is_none();
        let is_text =
            matches!(event.kind, EventKind::Content | EventKind::Reasoning | EventKind::ReasoningContent);
        let Some(Cow::Borrowed(text)) = &event.text else { return };
        if !text_alone || !is_text || event.ends || text.is_empty() {
            return;
        }
        let Some(place) = place(data, text) else { return };
        if data[..place.start].ends_with(b"\"") && data[place.end..].starts_with(b"\"") {
            self.kind = Some(event.kind);
            self.before.clear();
            self.before.extend_from_slice(&data[..place.start]);
            self.after.clear();
            self.after.extend_from_slice(&data[place.end..]);
        }
    }
}

/// Where in `data` the text lies that was borrowed from it.
fn place(data: &[u8], text: &str) -> Option<Range<usize>> {
    let start = (text.as_ptr() as usize).checked_sub(data.as_ptr() as usize)?;
    let end = start.checked_add(text.len())?;
    (end <= data.len()).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{self, Seen};

    const FIRST: &str = r#"{"id":"x","choices":[{"index":0,"text":" a","finish_reason":null}]}"#;

    fn learned(data: &str) -> Likeness {
        let mut likeness = Likeness::default();
        let event = api::named("openai").read(data.as_bytes(), &Seen::default()).unwrap();
        likeness.learn(data.as_bytes(), &event);
        likeness
    }

    #[test]
    fn another_text_is_known() {
        let likeness = learned(FIRST);
        for text in ["b", " 日本", "{}[],:", "a\u{85}b"] {
            let data = FIRST.replace(" a", text);
            assert_eq!(likeness.find(data.as_bytes()), Some((EventKind::Content, text.as_bytes())), "{data}");
        }
    }

    #[test]
    fn anything_else_is_parsed() {
        let likeness = learned(FIRST);
        for data in [
            FIRST.replace(" a", ""),
            FIRST.replace(" a", r"\n"),
            FIRST.replace(" a", r#"","text":""#),
            FIRST.replace("null", "\"stop\""),
            FIRST.replace("\"x\"", "\"y\""),
            FIRST.replace("}]}", "}],\"usage\":{}}"),
            String::new(),
        ] {
            assert_eq!(likeness.find(data.as_bytes()), None, "{data}");
        }
    }

    #[test]
    fn only_plain_text_is_remembered() {
        for data in [
            r#"{"choices":[{"text":"a","finish_reason":"stop"}]}"#,
            r#"{"choices":[{"text":"a"}],"usage":{"completion_tokens":1}}"#,
            r#"{"choices":[{"text":"\u0061"}]}"#,
            r#"{"choices":[{"text":""}]}"#,
            r#"{"choices":[]}"#,
        ] {
            assert_eq!(learned(data).kind, None, "{data}");
        }
    }
}
