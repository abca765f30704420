//! vLLM's `ShareGPTDataset`.

use rayon::prelude::*;
use records::{Error, Input, Prompt, Result};
use rng::python;
use serde_json::Value;

use super::{Like, oversample::Oversample};
use crate::{
    ShareGptArgs, Tokens,
    sharegpt::{self, is_fit},
    source::Source,
};

/// Conversations tokenized at once.
const BATCH: u64 = 256;

/// Conversations in shuffled order.
pub(crate) struct ShareGpt<'a> {
    tokens: &'a Tokens,
    like: Like,
    file: String,
    output_len: Option<u64>,
    turns: std::vec::IntoIter<Turns>,
    unfit: u64,
    oversample: Oversample,
}

/// The first two turns of an entry, and its place in the file from 0. `None` where vLLM would fail.
struct Turns {
    entry: u64,
    texts: Option<(String, String)>,
}

impl<'a> ShareGpt<'a> {
    /// Reads the whole file.
    pub(crate) fn open(args: &ShareGptArgs, like: Like, tokens: &'a Tokens) -> Result<Self> {
        let seed = args.common.seed;
        let (file, reader) = Input::reader(args.file.as_deref(), "name a ShareGPT file, or pipe one in")?;
        let mut turns = sharegpt::read(&file, reader, first_two)?.kept;
        if !args.disable_shuffle {
            python::Random::new(seed).shuffle(&mut turns);
        }
        Ok(Self {
            tokens,
            like,
            file,
            output_len: args.output_len,
            turns: turns.into_iter(),
            unfit: 0,
            oversample: Oversample::new(like, seed, (!args.no_oversample).then_some(args.num_prompts)),
        })
    }

    /// The row of an entry; `None` if its lengths are outside vLLM's limits.
    fn row(&self, turns: Turns) -> Result<Option<Prompt>> {
        let Some((prompt, answer)) = turns.texts else {
            return Err(Error::usage(format!(
                "{}: entry {} (counted from 0): its first two turns are not two texts, or go with a picture, which \
                 --like {} cannot follow; take the entry out, for vLLM as well",
                self.file, turns.entry, self.like
            )));
        };
        let count = |text: &str| Ok(self.tokens.count(text)? + self.like.special_count(self.tokens));
        let prompt_tokens = count(&prompt)?;
        let output = self.output_len.map_or_else(|| count(&answer), Ok)?;
        Ok(is_fit(prompt_tokens, output, self.output_len.is_some()).then(|| Prompt {
            prompt: Some(prompt),
            prompt_tokens: Some(prompt_tokens),
            max_tokens: Some(output),
            ..Prompt::default()
        }))
    }
}

impl Source for ShareGpt<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let turns: Vec<Turns> = self.turns.by_ref().take(want.min(BATCH) as usize).collect();
        if turns.is_empty() {
            return Ok(self.oversample.repeats());
        }
        let tried = turns.len();
        let rows: Vec<Option<Prompt>> =
            turns.into_par_iter().map(|turns| self.row(turns)).collect::<Result<_>>()?;
        let rows: Vec<Prompt> = rows.into_iter().flatten().collect();
        self.unfit += (tried - rows.len()) as u64;
        self.oversample.keep(&rows);
        Ok(Some(rows))
    }

    fn remarks(&self) -> Vec<String> {
        let unfit = (self.unfit > 0)
            .then(|| format!("{}: skipped {} entries too short or too long", self.file, self.unfit));
        unfit.into_iter().chain(self.oversample.remark()).collect()
    }
}

/// The first two turns, whoever speaks; `None` if vLLM passes over the entry, which has fewer.
fn first_two(entry: u64, value: &Value) -> Option<Turns> {
    let turns = value.get("conversations")?;
    if turns.as_array().is_some_and(|turns| turns.len() < 2) {
        return None;
    }
    let text = |at: usize| turns[at]["value"].as_str().map(str::to_owned);
    let pictured = ["image", "video"].iter().any(|key| value.get(key).is_some_and(|value| !value.is_null()));
    Some(Turns { entry, texts: text(0).zip(text(1)).filter(|_| !pictured) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn turns_are_taken_by_place() {
        let turn = |value: Value| json!({"from": "system", "value": value});
        for (entry, texts) in [
            (
                json!({"conversations": [turn("a".into()), turn("b".into()), turn("c".into())]}),
                Some(Some(("a", "b"))),
            ),
            (json!({"conversations": [turn("a".into()), turn(Value::Null)]}), Some(None)),
            (json!({"conversations": [turn("a".into()), turn("b".into())], "image": "x.png"}), Some(None)),
            (json!({"conversations": [turn("a".into())]}), None),
            (json!({"conversations": null}), Some(None)),
            (json!({}), None),
        ] {
            let found = first_two(0, &entry).map(|turns| turns.texts);
            let texts = texts.map(|texts| texts.map(|(one, other)| (one.to_owned(), other.to_owned())));
            assert_eq!(found, texts, "{entry}");
        }
    }
}
