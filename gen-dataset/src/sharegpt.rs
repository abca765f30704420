//! `sharegpt`: questions and answer lengths from recorded conversations.

use std::{fmt, io::BufRead, vec};

use rand::seq::SliceRandom;
use rayon::prelude::*;
use records::{Error, Input, Prompt, Result};
use serde::{
    Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::Value;

use crate::{
    ShareGptArgs, Tokens,
    generator::{self, Purpose},
    source::Source,
};

/// Fewest tokens of a prompt, and of an answer (vLLM `is_valid_sequence`, like the two limits below).
const LEAST: u64 = 4;
/// Most tokens of a prompt.
const MOST_PROMPT: u64 = 1024;
/// Most tokens of prompt and output together.
const MOST_TOTAL: u64 = 2048;
/// Conversations tokenized at once.
const BATCH: u64 = 256;

/// Conversations that are tokenized as they are needed.
pub(crate) struct ShareGpt<'a> {
    tokens: &'a Tokens,
    output_len: Option<u64>,
    file: String,
    entries: u64,
    unusable: u64,
    unfit: u64,
    pairs: vec::IntoIter<Pair>,
}

/// A question and its answer.
#[derive(Debug, PartialEq)]
struct Pair {
    prompt: String,
    answer: String,
}

impl<'a> ShareGpt<'a> {
    /// Reads the whole file, and keeps the first question and answer of each conversation.
    pub(crate) fn open(args: &ShareGptArgs, tokens: &'a Tokens) -> Result<Self> {
        let hint = "name a ShareGPT file, or pipe one in";
        let (file, reader) = Input::reader(args.file.as_deref(), hint)?;
        let Entries { count: entries, kept: mut pairs } = read(&file, reader, |_, entry| first_pair(entry))?;
        if !args.disable_shuffle {
            pairs.shuffle(&mut generator::of(args.common.seed, Purpose::Order));
        }
        let unusable = entries - pairs.len() as u64;
        let output_len = args.output_len;
        Ok(Self { tokens, output_len, file, entries, unusable, unfit: 0, pairs: pairs.into_iter() })
    }

    /// The row of a pair; `None` if its lengths are outside the limits.
    fn row(&self, pair: Pair) -> Result<Option<Prompt>> {
        let prompt = self.tokens.count(&pair.prompt)?;
        let output = match self.output_len {
            Some(output) => output,
            None => self.tokens.count(&pair.answer)?,
        };
        Ok(is_fit(prompt, output, self.output_len.is_some()).then(|| Prompt {
            prompt: Some(pair.prompt),
            prompt_tokens: Some(prompt),
            max_tokens: Some(output),
            ..Prompt::default()
        }))
    }
}

impl Source for ShareGpt<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let pairs: Vec<Pair> = self.pairs.by_ref().take(want.min(BATCH) as usize).collect();
        if pairs.is_empty() {
            return Ok(None);
        }
        let tried = pairs.len();
        let rows: Vec<Option<Prompt>> =
            pairs.into_par_iter().map(|pair| self.row(pair)).collect::<Result<_>>()?;
        let rows: Vec<Prompt> = rows.into_iter().flatten().collect();
        self.unfit += (tried - rows.len()) as u64;
        Ok(Some(rows))
    }

    fn remarks(&self) -> Vec<String> {
        if self.unusable + self.unfit == 0 {
            return Vec::new();
        }
        vec![format!(
            "{}: skipped {} of {} entries without a human turn answered by gpt, and {} too short or too long",
            self.file, self.unusable, self.entries, self.unfit
        )]
    }
}

/// Whether vLLM takes a conversation of these lengths; an output length that is `given` may be short.
pub(crate) fn is_fit(prompt: u64, output: u64, given: bool) -> bool {
    prompt >= LEAST && (given || output >= LEAST) && prompt <= MOST_PROMPT && prompt + output <= MOST_TOTAL
}

/// What was read of a file.
#[derive(Debug, PartialEq)]
pub(crate) struct Entries<T> {
    /// Entries in the file.
    pub(crate) count: u64,
    /// What was picked from them, in their order.
    pub(crate) kept: Vec<T>,
}

/// Reads the entries of a file one by one: the whole of it would be several times the size of what is kept. `pick`
/// gets an entry and its place, from 0.
pub(crate) fn read<T>(
    file: &str,
    mut reader: impl BufRead,
    pick: impl FnMut(u64, &Value) -> Option<T>,
) -> Result<Entries<T>> {
    let start = reader.fill_buf().map_err(|source| Error::read(file, source))?;
    if start.starts_with(b"\xEF\xBB\xBF") {
        reader.consume(3);
    }
    let mut json = serde_json::Deserializer::from_reader(reader);
    let read = json.deserialize_seq(Picker(pick)).and_then(|read| json.end().map(|()| read));
    read.map_err(|error| {
        if error.is_io() {
            return Error::read(file, error.into());
        }
        Error::usage(format!(
            "{file}: not a JSON array of ShareGPT conversations: {error}; JSON lines are read by `custom`"
        ))
    })
}

struct Picker<P>(P);

impl<'de, T, P: FnMut(u64, &Value) -> Option<T>> Visitor<'de> for Picker<P> {
    type Value = Entries<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of conversations")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut array: A) -> std::result::Result<Self::Value, A::Error> {
        let mut entries = Entries { count: 0, kept: Vec::new() };
        while let Some(entry) = array.next_element::<Value>()? {
            entries.kept.extend((self.0)(entries.count, &entry));
            entries.count += 1;
        }
        Ok(entries)
    }
}

/// The first turn of a human that the model answers in the next; `None` if there is none, or either is empty.
fn first_pair(entry: &Value) -> Option<Pair> {
    let turns = entry.get("conversations")?.as_array()?;
    let from = |turn: &Value, names: &[&str]| {
        turn.get("from").and_then(Value::as_str).is_some_and(|from| names.contains(&from))
    };
    let pair = turns.windows(2).find(|pair| {
        from(&pair[0], &["human", "user"]) && from(&pair[1], &["gpt", "chatgpt", "assistant"])
    })?;
    let text = |turn: &Value| turn.get("value")?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Some(Pair { prompt: text(&pair[0])?, answer: text(&pair[1])? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn turns_are_known_by_role() {
        for (turns, prompt) in [
            (json!([["human", "q"], ["gpt", "a"]]), Some("q")),
            (json!([["user", "q"], ["assistant", "a"]]), Some("q")),
            (json!([["system", "s"], ["human", "q"], ["gpt", "a"]]), Some("q")),
            (json!([["gpt", "hello"], ["human", "q"], ["chatgpt", "a"]]), Some("q")),
            (json!([["human", "q1"], ["human", "q2"], ["gpt", "a"]]), Some("q2")),
            (json!([["human", "q"]]), None),
            (json!([["gpt", "a"], ["human", "q"]]), None),
            (json!([["human", null], ["gpt", "a"]]), None),
            (json!([["human", "q"], ["gpt", ""]]), None),
            (json!([]), None),
        ] {
            let turns: Vec<Value> = turns
                .as_array()
                .unwrap()
                .iter()
                .map(|turn| json!({ "from": turn[0], "value": turn[1] }))
                .collect();
            let pair = first_pair(&json!({ "conversations": turns }));
            assert_eq!(pair.map(|pair| pair.prompt), prompt.map(str::to_owned), "{turns:?}");
        }
    }

    #[test]
    fn entries_of_another_shape_are_passed_over() {
        let text = r#"[{}, null, 7, {"conversations":null}, {"conversations":"x"}, {"conversations":[1,2]}]"#;
        let read = read("f", text.as_bytes(), |_, entry| first_pair(entry)).unwrap();
        assert_eq!(read, Entries { count: 6, kept: Vec::new() });
    }

    #[test]
    fn what_is_no_array_is_refused() {
        for text in ["{\"prompt\":\"x\"}\n{\"prompt\":\"y\"}\n", "[{}", "[] []", ""] {
            let error =
                read("f.json", text.as_bytes(), |_, entry| first_pair(entry)).unwrap_err().to_string();
            assert!(error.starts_with("f.json: not a JSON array of ShareGPT conversations: "), "{error}");
        }
    }
}
