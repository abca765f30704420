//! Texts inside an event, read without a copy where the JSON allows it.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// A text, or a list of parts in its place, which are joined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Text<'a> {
    /// No such field, or null.
    #[default]
    Absent,
    /// `""`, or an empty list.
    Empty,
    /// Anything; of parts that are no text, an empty one.
    Some(Cow<'a, str>),
}

impl<'a> Text<'a> {
    /// Whether it holds anything.
    pub(super) fn is_some(&self) -> bool {
        matches!(self, Self::Some(_))
    }

    /// Whether it is there and holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::Empty
    }

    /// What it holds.
    pub(super) fn some(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Some(text) => Some(text),
            _ => None,
        }
    }

    /// This, or else `other`.
    pub(super) fn or(self, other: Self) -> Self {
        if self.is_some() || other == Self::Absent { self } else { other }
    }

    /// This, followed by `other`.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Some(first), Self::Some(second)) if !first.is_empty() => Self::Some(first + second),
            (first, second) => second.or(first),
        }
    }

    /// From a text that is there.
    pub(super) fn of(text: Cow<'a, str>) -> Self {
        if text.is_empty() { Self::Empty } else { Self::Some(text) }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a list, an object or null")
    }

    fn visit_unit<E>(self) -> Result<Text<'de>, E> {
        Ok(Text::Absent)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text::of(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text::of(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text<'de>, A::Error> {
        let mut joined = Text::Empty;
        while let Some(part) = list.next_element::<Text<'de>>()? {
            joined = joined.join(part);
        }
        Ok(joined)
    }

    /// A part: `{"type":"text","text":…}`, `{"type":"thinking","thinking":…}`, or one that is no text.
    fn visit_map<A: MapAccess<'de>>(self, mut part: A) -> Result<Text<'de>, A::Error> {
        let mut text = Text::Empty;
        while let Some(key) = part.next_key::<Cow<'de, str>>()? {
            if key == "text" || key == "thinking" {
                text = text.join(part.next_value()?);
            } else {
                part.next_value::<IgnoredAny>()?;
                text = text.or(Text::Some(Cow::Borrowed("")));
            }
        }
        Ok(text)
    }
}

/// Whether anything stands in a field; what it is, is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Presence(pub(super) bool);

impl<'de> Deserialize<'de> for Presence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(|text| Self(text.is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_parts_are_read() {
        for (json, expected) in [
            ("null", Text::Absent),
            (r#""""#, Text::Empty),
            ("[]", Text::Empty),
            ("{}", Text::Empty),
            (r#""é\n""#, Text::Some("é\n".into())),
            (r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, Text::Some("ab".into())),
            (r#"{"type":"thinking","thinking":[{"type":"text","text":"a"}]}"#, Text::Some("a".into())),
            (r#"[{"index":0}]"#, Text::Some("".into())),
        ] {
            assert_eq!(serde_json::from_str::<Text>(json).unwrap(), expected, "{json}");
        }
    }

    #[test]
    fn a_text_without_escapes_is_not_copied() {
        let borrowed =
            |json| matches!(serde_json::from_slice::<Text>(json).unwrap(), Text::Some(Cow::Borrowed(_)));
        assert!(borrowed("\"日本\"".as_bytes()));
        assert!(!borrowed(br#""a\n""#));
    }
}
