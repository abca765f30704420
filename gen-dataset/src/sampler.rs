//! Texts of exactly so many tokens.

use rand::RngExt;
use rand_pcg::Pcg64;
use records::{Error, Result};

use crate::{
    Tokens,
    generator::{self, Purpose},
    pool::Pool,
};

/// Fresh draws before a length is given up.
const ATTEMPTS: usize = 100;
/// Corrections of one draw: a token that merged with its neighbour is replaced, one too many is cut.
const CORRECTIONS: usize = 10;

/// Makes texts of exactly so many tokens.
pub(crate) struct Sampler<'a> {
    tokens: &'a Tokens,
    pool: Pool,
    prefix: Vec<u32>,
}

impl<'a> Sampler<'a> {
    /// Prepares the tokens to draw from, and a prefix of `prefix_len` tokens.
    pub(crate) fn new(tokens: &'a Tokens, seed: u64, prefix_len: usize) -> Result<Self> {
        let mut sampler = Self { tokens, pool: Pool::new(tokens, seed)?, prefix: Vec::new() };
        sampler.prefix = sampler.prefix(0, prefix_len, &mut generator::of(seed, Purpose::Prefix(0)))?;
        Ok(sampler)
    }

    /// Tokens in the prefix.
    pub(crate) fn prefix_len(&self) -> usize {
        self.prefix.len()
    }

    /// Tokens for texts to begin with; those of different indices differ.
    pub(crate) fn prefix(&self, index: u64, length: usize, rng: &mut Pcg64) -> Result<Vec<u32>> {
        if length == 0 {
            return Ok(Vec::new());
        }
        let (text, _) = self.text_after(&[], index, length, rng)?;
        self.tokens.encode(&text)
    }

    /// The prefix and `count` tokens more, with the length of both.
    pub(crate) fn text(&self, index: u64, count: usize, rng: &mut Pcg64) -> Result<(String, u64)> {
        self.text_after(&self.prefix, index, count, rng)
    }

    /// `prefix` and `count` tokens more, with the length of both.
    ///
    /// The first token after the prefix is the pool's token number `index`, so that prompts differ from there on and
    /// even those of one token differ, as long as the pool lasts.
    pub(crate) fn text_after(
        &self,
        prefix: &[u32],
        index: u64,
        count: usize,
        rng: &mut Pcg64,
    ) -> Result<(String, u64)> {
        let length = prefix.len() + count;
        let pool = self.pool.ids();
        let first = pool[(index % pool.len() as u64) as usize];
        for attempt in 0..ATTEMPTS {
            let mut ids = prefix.to_vec();
            ids.extend((attempt == 0).then_some(first));
            self.fill(&mut ids, length, rng);
            if let Some(text) = self.corrected(prefix, ids, length, rng)? {
                return Ok((text, length as u64));
            }
        }
        Err(Error::usage(format!(
            "--tokenizer: no text of exactly {length} tokens was found in {ATTEMPTS} attempts; ask for another length"
        )))
    }

    /// Draws tokens until there are `length`.
    fn fill(&self, ids: &mut Vec<u32>, length: usize, rng: &mut Pcg64) {
        let pool = self.pool.ids();
        while ids.len() < length {
            ids.push(pool[rng.random_range(0..pool.len())]);
        }
    }

    /// The text of `ids`, changed until it encodes to `length` tokens of which the first are `prefix`; `None` if it
    /// will not.
    fn corrected(
        &self,
        prefix: &[u32],
        mut ids: Vec<u32>,
        length: usize,
        rng: &mut Pcg64,
    ) -> Result<Option<String>> {
        for _ in 0..CORRECTIONS {
            let text = self.tokens.decode(&ids)?;
            ids = self.tokens.encode(&text)?;
            if text.contains(char::REPLACEMENT_CHARACTER) || !ids.starts_with(prefix) {
                return Ok(None);
            }
            let drawn = ids.len();
            ids.retain(|&id| !self.tokens.is_added(id));
            if ids.len() == drawn && drawn == length {
                return Ok(Some(text));
            }
            ids.truncate(length);
            self.fill(&mut ids, length, rng);
        }
        Ok(None)
    }
}
