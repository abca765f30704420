//! Texts by name: what stands for one of a trace's `hash_ids`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use records::Result;

use crate::{generator, sampler::Sampler};

/// Tokens kept before all blocks are forgotten: some MB.
const MOST: usize = 1 << 21;

/// Blocks of tokens, made from the seed and their names alone.
pub(super) struct Blocks {
    seed: u64,
    size: usize,
    known: Mutex<HashMap<u64, Arc<[u32]>>>,
}

impl Blocks {
    /// Of `size` tokens each.
    pub(super) fn new(seed: u64, size: usize) -> Self {
        Self { seed, size, known: Mutex::default() }
    }

    /// Tokens in a block.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The blocks called `names`, one after the other, cut to `length` tokens.
    pub(super) fn prefix(&self, sampler: &Sampler, names: &[u64], length: usize) -> Result<Vec<u32>> {
        let mut tokens = Vec::with_capacity(length);
        for name in names {
            let left = length - tokens.len();
            let block = self.block(sampler, *name)?;
            tokens.extend_from_slice(&block[..left.min(block.len())]);
        }
        Ok(tokens)
    }

    fn block(&self, sampler: &Sampler, name: u64) -> Result<Arc<[u32]>> {
        let known = self.known.lock().ok().and_then(|known| known.get(&name).cloned());
        if let Some(block) = known {
            return Ok(block);
        }
        let block: Arc<[u32]> =
            sampler.prefix(name, self.size, &mut generator::of_block(self.seed, name))?.into();
        if let Ok(mut known) = self.known.lock() {
            if known.len() * self.size > MOST {
                known.clear();
            }
            known.insert(name, Arc::clone(&block));
        }
        Ok(block)
    }
}
