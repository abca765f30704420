//! The prompts of recorded requests.

use rand::Rng;
use records::{Micros, Prompt, Result};

use super::{request::Request, rows::Row};
use crate::{
    Tokens,
    generator::{self, Purpose},
    sampler::Sampler,
};

/// Makes prompts of the recorded lengths, which share what the recorded ones shared.
pub(super) struct Texts<'a> {
    sampler: Sampler<'a>,
    seed: u64,
    blocks: u64,
    size: u64,
}

impl<'a> Texts<'a> {
    /// With blocks of `size` tokens.
    pub(super) fn new(tokens: &'a Tokens, seed: u64, size: u64) -> Result<Self> {
        let blocks = generator::of(seed, Purpose::Blocks).next_u64();
        Ok(Self { sampler: Sampler::new(tokens, seed, 0)?, seed, blocks, size })
    }

    /// Tokens of a prompt that no id stands for.
    pub(super) fn own_tokens(&self, request: &Request) -> u64 {
        let ids = request.ids.as_deref().unwrap_or_default();
        request.input.saturating_sub(ids.len() as u64 * self.size)
    }

    /// The row to write, with another text of its own for each `attempt`.
    pub(super) fn prompt(&self, row: &Row, attempt: u64) -> Result<Prompt> {
        Ok(Prompt {
            prompt: Some(self.text(row.index, attempt, &row.request)?),
            prompt_tokens: Some(row.request.input),
            max_tokens: Some(row.request.output),
            at_us: Some(Micros::new(row.at_us as f64)),
            ..Prompt::default()
        })
    }

    /// The text of row `index`: the blocks of its ids, the last of them cut, or text of its own after them.
    fn text(&self, index: u64, attempt: u64, request: &Request) -> Result<String> {
        let own = self.own_tokens(request) as usize;
        let mut rng = generator::of_row(self.seed, index, attempt);
        let Some((last, _)) = request.ids.as_deref().and_then(<[u64]>::split_last) else {
            return Ok(self.sampler.text_after(&[], index + attempt, own, &mut rng)?.0);
        };
        let mut tokens = self.blocks(request)?;
        if own == 0 {
            // Prompts of equal ids stay equal even where a tokenizer does not keep them as they were drawn.
            rng = generator::of_row(self.blocks, *last, 1);
        }
        tokens.extend(self.sampler.prefix(index + attempt, own, &mut rng)?);
        self.sampler.text_of(&tokens, &mut rng)
    }

    /// The tokens of all blocks, but no more than the prompt has.
    fn blocks(&self, request: &Request) -> Result<Vec<u32>> {
        let mut tokens = Vec::with_capacity(request.input as usize);
        for &id in request.ids.iter().flatten() {
            let mut rng = generator::of_row(self.blocks, id, 0);
            let left = request.input as usize - tokens.len();
            let block = self.sampler.prefix(id, self.size as usize, &mut rng)?;
            tokens.extend(block.into_iter().take(left));
        }
        Ok(tokens)
    }
}
