//! The parts of a `tokenizer.json` that a byte-level tokenizer is made of.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

use super::split::Pattern;

/// A `tokenizer.json` with a BPE model.
#[derive(Deserialize)]
pub(super) struct File<'j> {
    #[serde(borrow, default)]
    pub(super) added_tokens: Vec<Added<'j>>,
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    decoder: Value,
    #[serde(borrow)]
    pub(super) model: Model<'j>,
}

/// A token that is found in the text before anything else is.
#[derive(Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "the file has so many")]
pub(super) struct Added<'j> {
    pub(super) id: u32,
    #[serde(borrow)]
    pub(super) content: Cow<'j, str>,
    #[serde(default)]
    pub(super) special: bool,
    #[serde(default)]
    pub(super) normalized: bool,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
}

/// The model.
#[derive(Deserialize)]
pub(super) struct Model<'j> {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    dropout: Option<f64>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    pub(super) ignore_merges: bool,
    #[serde(borrow, deserialize_with = "vocab")]
    pub(super) vocab: Vec<(Cow<'j, str>, u32)>,
    #[serde(borrow)]
    pub(super) merges: Vec<Pair<'j>>,
}

/// What a byte-level tokenizer does besides merging.
pub(super) struct Manner {
    pub(super) pattern: Pattern,
    pub(super) nfc: bool,
    pub(super) special_count: u64,
}

impl File<'_> {
    /// How this tokenizer goes about it; `None` if not quite as a byte-level tokenizer of a known pattern does.
    pub(super) fn manner(&self) -> Option<Manner> {
        let unset = |text: &Option<String>| text.as_deref().is_none_or(str::is_empty);
        let model = &self.model;
        let plain = model.kind.as_deref().is_none_or(|kind| kind == "BPE")
            && model.dropout.is_none_or(|dropout| dropout == 0.0)
            && unset(&model.continuing_subword_prefix)
            && unset(&model.end_of_word_suffix)
            && is(&self.decoder, "ByteLevel")
            && self.added_tokens.iter().all(|token| !token.single_word && !token.lstrip && !token.rstrip);
        let nfc = is(&self.normalizer, "NFC");
        (plain && (nfc || self.normalizer.is_null())).then_some(Manner {
            pattern: pattern(&self.pre_tokenizer)?,
            nfc,
            special_count: special_count(&self.post_processor)?,
        })
    }
}

fn is(part: &Value, kind: &str) -> bool {
    part["type"] == kind
}

/// The pattern, if text is cut by it alone and then taken as bytes.
fn pattern(part: &Value) -> Option<Pattern> {
    let bytes = |part: &Value| is(part, "ByteLevel") && part["add_prefix_space"] == false;
    if bytes(part) {
        // Files older than the field cut by the built-in pattern.
        return (part["use_regex"] != false).then_some(Pattern::Gpt2);
    }
    match part["pretokenizers"].as_array().filter(|_| is(part, "Sequence"))?.as_slice() {
        [split, rest]
            if is(split, "Split")
                && split["behavior"] == "Isolated"
                && split["invert"] == false
                && bytes(rest)
                && rest["use_regex"] == false =>
        {
            Pattern::known(split["pattern"]["Regex"].as_str()?)
        }
        _ => None,
    }
}

/// How many special tokens are put around one text; `None` if it can't be said.
fn special_count(part: &Value) -> Option<u64> {
    match part["type"].as_str() {
        None if part.is_null() => Some(0),
        Some("ByteLevel") => Some(0),
        Some("Sequence") => part["processors"].as_array()?.iter().map(special_count).sum(),
        Some("TemplateProcessing") => {
            let specials =
                part["single"].as_array()?.iter().filter_map(|piece| piece["SpecialToken"]["id"].as_str());
            specials.map(|id| part["special_tokens"][id]["ids"].as_array().map(|ids| ids.len() as u64)).sum()
        }
        _ => None,
    }
}

/// The two tokens of a merge, spelled `["a", "b"]` or `"a b"`.
pub(super) struct Pair<'j>(pub(super) Cow<'j, str>, pub(super) Cow<'j, str>);

impl<'de: 'j, 'j> Deserialize<'de> for Pair<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Pair<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("two tokens")
            }
            fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> Result<Pair<'de>, E> {
                let (left, right) = halves(text)?;
                Ok(Pair(left.into(), right.into()))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Pair<'de>, E> {
                let (left, right) = halves(text)?;
                Ok(Pair(left.to_owned().into(), right.to_owned().into()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Pair<'de>, A::Error> {
                match (seq.next_element()?, seq.next_element()?, seq.next_element::<Text>()?) {
                    (Some(Text(left)), Some(Text(right)), None) => Ok(Pair(left, right)),
                    _ => Err(A::Error::custom("a merge is of two tokens")),
                }
            }
        }
        deserializer.deserialize_any(Either)
    }
}

fn halves<E: serde::de::Error>(text: &str) -> Result<(&str, &str), E> {
    text.split_once(' ')
        .filter(|(_, right)| !right.contains(' '))
        .ok_or_else(|| E::custom("a merge is of two tokens"))
}

/// Borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'j>(#[serde(borrow)] Cow<'j, str>);

fn vocab<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(Cow<'de, str>, u32)>, D::Error> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<(Cow<'de, str>, u32)>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("tokens and their ids")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some((Text(token), id)) = map.next_entry()? {
                entries.push((token, id));
            }
            Ok(entries)
        }
    }
    deserializer.deserialize_map(Entries)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn special_tokens_are_counted() {
        let template = json!({"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}});
        for (part, count) in [
            (Value::Null, Some(0)),
            (json!({"type": "ByteLevel"}), Some(0)),
            (template.clone(), Some(1)),
            (json!({"type": "Sequence", "processors": [{"type": "ByteLevel"}, template]}), Some(1)),
            (json!({"type": "BertProcessing"}), None),
        ] {
            assert_eq!(special_count(&part), count, "{part}");
        }
    }

    #[test]
    fn merges_have_two_spellings() {
        for text in [r#"["a","\u0062"]"#, r#""a b""#, r#""\u0061 b""#] {
            let pair: Pair = serde_json::from_str(text).unwrap();
            assert_eq!((&*pair.0, &*pair.1), ("a", "b"), "{text}");
        }
        for text in [r#"["a"]"#, r#"["a","b","c"]"#, r#""ab""#, r#""a b c""#, "1"] {
            assert!(serde_json::from_str::<Pair>(text).is_err(), "{text}");
        }
    }
}
