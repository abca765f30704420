//! vLLM's `PrefixRepetitionRandomDataset`.

use records::{Error, Prompt, Result};
use rng::{numpy::Legacy, python};

use super::{Like, length_loop::LengthLoop};
use crate::{PrefixRepetitionArgs, Tokens, source::Source};

/// Rows that are all made at once, since they are shuffled.
pub(crate) struct PrefixRepetition {
    rows: std::vec::IntoIter<Prompt>,
}

impl PrefixRepetition {
    /// Makes them all.
    pub(crate) fn new(args: &PrefixRepetitionArgs, like: Like, tokens: &Tokens) -> Result<Self> {
        let mut maker = Maker { tokens, like, rng: legacy(args.common.seed)? };
        let mut rows = Vec::new();
        for _ in 0..args.num_prefixes {
            let prefix = maker.ids(args.prefix_len as usize)?;
            for _ in 0..args.rows() / args.num_prefixes {
                let suffix = maker.ids(args.suffix_len as usize)?;
                let ids = [&prefix[..], &suffix].concat();
                rows.push(Prompt {
                    prompt: Some(like.decode(tokens, &ids)?),
                    prompt_tokens: Some(ids.len() as u64),
                    max_tokens: Some(args.output_len),
                    ..Prompt::default()
                });
            }
        }
        // vLLM's client goes on to draw the arrival times from the same generator.
        let drawn = maker.rng.words_drawn();
        for row in &mut rows {
            row.numpy_words = Some(drawn);
        }
        python::Random::new(args.common.seed).shuffle(&mut rows);
        Ok(Self { rows: rows.into_iter() })
    }
}

impl Source for PrefixRepetition {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let rows: Vec<Prompt> = self.rows.by_ref().take(want.min(1024) as usize).collect();
        Ok((!rows.is_empty()).then_some(rows))
    }
}

fn legacy(seed: u64) -> Result<Legacy> {
    u32::try_from(seed)
        .map(Legacy::new)
        .map_err(|_| Error::usage(format!("--seed {seed}: NumPy takes seeds up to {} here", u32::MAX)))
}

struct Maker<'a> {
    tokens: &'a Tokens,
    like: Like,
    rng: Legacy,
}

impl Maker<'_> {
    fn draw(&mut self) -> u32 {
        self.rng.randint(0, i64::from(self.tokens.vocab_size())) as u32
    }

    /// So many tokens that are found again in the text that they make.
    fn ids(&mut self, length: usize) -> Result<Vec<u32>> {
        let drawn: Vec<u32> = (0..length).map(|_| self.draw()).collect();
        match self.like {
            Like::Vllm033 => {
                let started = LengthLoop::start(self.tokens, drawn, length)?;
                Ok(started.finish(|| self.draw())?.1)
            }
            Like::Vllm011 => {
                let mut ids = self.tokens.encode(&self.like.decode(self.tokens, &drawn)?)?;
                ids.truncate(length);
                if ids.len() < length {
                    ids.extend(self.ids(length - ids.len())?);
                }
                Ok(ids)
            }
        }
    }
}
