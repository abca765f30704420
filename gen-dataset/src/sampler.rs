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
        Ok(self.drawn_after(&[], index, length, rng)?.1)
    }

    /// The text of `ids`, of exactly as many tokens. Where they do not survive encoding, tokens at the end change.
    pub(crate) fn text_of(&self, ids: &[u32], rng: &mut Pcg64) -> Result<String> {
        for _ in 0..ATTEMPTS {
            if let Some((text, _)) = self.corrected(&[], ids.to_vec(), ids.len(), rng)? {
                return Ok(text);
            }
        }
        Err(no_text(ids.len()))
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
        let (text, ids) = self.drawn_after(prefix, index, count, rng)?;
        Ok((text, ids.len() as u64))
    }

    /// The same with the tokens themselves.
    fn drawn_after(
        &self,
        prefix: &[u32],
        index: u64,
        count: usize,
        rng: &mut Pcg64,
    ) -> Result<(String, Vec<u32>)> {
        let length = prefix.len() + count;
        let pool = self.pool.ids();
        let first = pool[(index % pool.len() as u64) as usize];
        for attempt in 0..ATTEMPTS {
            let mut ids = prefix.to_vec();
            ids.extend((attempt == 0).then_some(first));
            self.fill(&mut ids, length, rng);
            if let Some(drawn) = self.corrected(prefix, ids, length, rng)? {
                return Ok(drawn);
            }
        }
        Err(no_text(length))
    }

    /// Draws tokens until there are `length`.
    fn fill(&self, ids: &mut Vec<u32>, length: usize, rng: &mut Pcg64) {
        let pool = self.pool.ids();
        while ids.len() < length {
            ids.push(pool[rng.random_range(0..pool.len())]);
        }
    }

    /// The text of `ids` and its tokens, changed until it encodes to `length` tokens of which the first are `prefix`;
    /// `None` if it will not.
    fn corrected(
        &self,
        prefix: &[u32],
        mut ids: Vec<u32>,
        length: usize,
        rng: &mut Pcg64,
    ) -> Result<Option<(String, Vec<u32>)>> {
        for _ in 0..CORRECTIONS {
            let text = self.tokens.decode(&ids)?;
            ids = self.tokens.encode(&text)?;
            if text.contains(char::REPLACEMENT_CHARACTER) || !ids.starts_with(prefix) {
                return Ok(None);
            }
            let drawn = ids.len();
            ids.retain(|&id| !self.tokens.is_added(id));
            if ids.len() == drawn && drawn == length {
                return Ok(Some((text, ids)));
            }
            ids.truncate(length);
            self.fill(&mut ids, length, rng);
        }
        Ok(None)
    }
}

fn no_text(length: usize) -> Error {
    Error::usage(format!(
        "--tokenizer: no text of exactly {length} tokens was found in {ATTEMPTS} attempts; ask for another length"
    ))
}
