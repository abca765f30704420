//! The tokens that random prompts are made of.

use rand::seq::SliceRandom;
use rayon::prelude::*;
use records::{Error, Result};

use crate::{
    Tokens,
    generator::{self, Purpose},
};

/// With fewer whole words than this, word fragments and signs are drawn as well.
const FEW: usize = 16;

/// Tokens that survive decoding and encoding, in an order that depends on the seed.
///
/// Where the tokenizer has them, these are words with a space before them: a pre-tokenizer splits there, so that a
/// text made of them is encoded as the tokens it was made of. None is an added token, a marker or half a character.
pub(crate) struct Pool(Vec<u32>);

impl Pool {
    /// Tests all tokens of the base vocabulary, in random order.
    pub(crate) fn new(tokens: &Tokens, seed: u64) -> Result<Self> {
        let mut candidates = tokens.base_ids();
        candidates.shuffle(&mut generator::of(seed, Purpose::Order));
        let words =
            passing(&candidates, |id| tokens.is_word(id).unwrap_or_else(|| reads_as_word(tokens, id)));
        if words.len() >= FEW {
            tokens.remember(&words);
            return Ok(Self(words));
        }
        let whole = passing(&candidates, |id| is_whole(tokens, id));
        if whole.is_empty() {
            return Err(Error::usage(
                "--tokenizer: none of its tokens decodes to a text that encodes to the same token; random prompts \
                 cannot be made with it",
            ));
        }
        Ok(Self(whole))
    }

    /// The tokens.
    pub(crate) fn ids(&self) -> &[u32] {
        &self.0
    }
}

/// Those that pass, in their order whatever the number of threads.
fn passing(candidates: &[u32], pass: impl Fn(u32) -> bool + Sync) -> Vec<u32> {
    candidates.par_iter().copied().filter(|&id| pass(id)).collect()
}

/// Twice in a row, it reads as two equal words with a space between, and encodes to itself twice.
pub(crate) fn reads_as_word(tokens: &Tokens, id: u32) -> bool {
    let twice = [id, id];
    let Ok(text) = tokens.decode(&twice) else { return false };
    let Some((one, other)) = text.trim_start().split_once(' ') else { return false };
    !one.is_empty()
        && one == other
        && one.chars().all(char::is_alphabetic)
        && tokens.encode(&text).is_ok_and(|ids| ids == twice)
}

fn is_whole(tokens: &Tokens, id: u32) -> bool {
    !tokens.is_marker(id)
        && tokens.decode(&[id]).is_ok_and(|text| {
            !text.trim().is_empty()
                && !text.contains(char::REPLACEMENT_CHARACTER)
                && tokens.encode(&text).is_ok_and(|ids| ids == [id])
        })
}
