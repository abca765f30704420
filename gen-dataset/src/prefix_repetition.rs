//! `prefix-repetition`: prompts that share one of a few prefixes.

use std::ops::Range;

use rand::seq::SliceRandom;
use rayon::prelude::*;
use records::{Prompt, Result};

use crate::{
    PrefixRepetitionArgs, Tokens,
    distinct::Distinct,
    generator::{self, Purpose},
    sampler::Sampler,
    source::Source,
};

/// Tokens made at once: bounds memory, and is enough work to spread over the threads.
const BATCH_TOKENS: u64 = 1 << 17;

/// Rows made one by one, each from the generator of its own number.
pub(crate) struct PrefixRepetition<'a> {
    sampler: Sampler<'a>,
    prefixes: Vec<Vec<u32>>,
    suffix_len: usize,
    output_len: u64,
    seed: u64,
    rows: Range<u64>,
    most: u64,
    distinct: Distinct,
}

impl<'a> PrefixRepetition<'a> {
    /// Makes the prefixes.
    pub(crate) fn new(args: &PrefixRepetitionArgs, tokens: &'a Tokens) -> Result<Self> {
        let seed = args.common.seed;
        let sampler = Sampler::new(tokens, seed, 0)?;
        let prefixes = (0..args.num_prefixes)
            .into_par_iter()
            .map(|number| {
                sampler.prefix(
                    number,
                    args.prefix_len as usize,
                    &mut generator::of(seed, Purpose::Prefix(number)),
                )
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            sampler,
            prefixes,
            suffix_len: args.suffix_len as usize,
            output_len: args.output_len,
            seed,
            rows: 0..args.num_prompts,
            most: (BATCH_TOKENS / (args.prefix_len + args.suffix_len))
                .clamp(rayon::current_num_threads() as u64, 1024),
            distinct: Distinct::default(),
        })
    }

    /// Row `index`, which begins with `prefix`.
    fn row(&self, index: u64, prefix: usize, attempt: u64) -> Result<Prompt> {
        let mut rng = generator::of_row(self.seed, index, attempt);
        let prefix = &self.prefixes[prefix];
        let (text, length) = self.sampler.text_after(prefix, index + attempt, self.suffix_len, &mut rng)?;
        Ok(Prompt {
            prompt: Some(text),
            prompt_tokens: Some(length),
            max_tokens: Some(self.output_len),
            ..Prompt::default()
        })
    }

    /// Rows with the numbers of their prefixes: each round of rows uses all, in an order of its own.
    fn plan(&self, rows: Range<u64>) -> Vec<(u64, usize)> {
        let size = self.prefixes.len() as u64;
        let rounds = rows.start / size..rows.end.div_ceil(size);
        let all = rounds.flat_map(|round| {
            let mut order: Vec<usize> = (0..self.prefixes.len()).collect();
            order.shuffle(&mut generator::of(self.seed, Purpose::Round(round)));
            (round * size..).zip(order)
        });
        all.filter(|(index, _)| rows.contains(index)).collect()
    }
}

impl Source for PrefixRepetition<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let end = self.rows.end.min(self.rows.start + self.most.min(want));
        let plan = self.plan(self.rows.start..end);
        self.rows.start = end;
        if plan.is_empty() {
            return Ok(None);
        }
        let made: Vec<Prompt> =
            plan.par_iter().map(|&(index, prefix)| self.row(index, prefix, 0)).collect::<Result<_>>()?;
        let mut distinct = std::mem::take(&mut self.distinct);
        let new = plan
            .into_iter()
            .zip(made)
            .map(|((index, prefix), row)| distinct.or_else(row, |attempt| self.row(index, prefix, attempt)));
        let new = new.collect::<Result<_>>()?;
        self.distinct = distinct;
        Ok(Some(new))
    }

    fn remarks(&self) -> Vec<String> {
        self.distinct.remark().into_iter().collect()
    }
}
