//! `random`: prompts of words drawn at random, of exactly the length asked for.

use rayon::prelude::*;
use records::{Prompt, Result};

use crate::{
    RandomArgs, Tokens, distinct::Distinct, generator, sampler::Sampler, source::Source, window::Window,
};

/// Tokens made at once: bounds memory, and is enough work to spread over the threads.
const BATCH_TOKENS: u64 = 1 << 17;

/// Rows made one by one, each from the generator of its own number.
pub(crate) struct Random<'a> {
    sampler: Sampler<'a>,
    input: Window,
    output: Window,
    seed: u64,
    rows: std::ops::Range<u64>,
    distinct: Distinct,
}

impl<'a> Random<'a> {
    /// Prepares the tokens to draw from and the prefix.
    pub(crate) fn new(args: &RandomArgs, tokens: &'a Tokens) -> Result<Self> {
        let seed = args.common.seed;
        Ok(Self {
            sampler: Sampler::new(tokens, seed, args.prefix_len as usize)?,
            input: args.input_window(0),
            output: args.output_window(),
            seed,
            rows: 0..args.num_prompts,
            distinct: Distinct::default(),
        })
    }

    fn row(&self, index: u64, attempt: u64) -> Result<Prompt> {
        let mut rng = generator::of_row(self.seed, index, attempt);
        let input = self.input.draw(&mut rng);
        let output = self.output.draw(&mut rng);
        let (text, length) = self.sampler.text(index + attempt, input as usize, &mut rng)?;
        Ok(Prompt {
            prompt: Some(text),
            prompt_tokens: Some(length),
            max_tokens: Some(output),
            ..Prompt::default()
        })
    }
}

impl Source for Random<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let least = rayon::current_num_threads() as u64;
        let most = (BATCH_TOKENS / (self.sampler.prefix_len() as u64 + self.input.high)).clamp(least, 1024);
        let end = self.rows.end.min(self.rows.start + most.min(want));
        let rows = self.rows.start..end;
        self.rows.start = end;
        if rows.is_empty() {
            return Ok(None);
        }
        let made: Vec<Prompt> =
            rows.clone().into_par_iter().map(|index| self.row(index, 0)).collect::<Result<_>>()?;
        let mut distinct = std::mem::take(&mut self.distinct);
        let new =
            rows.zip(made).map(|(index, row)| distinct.or_else(row, |attempt| self.row(index, attempt)));
        let new = new.collect::<Result<_>>()?;
        self.distinct = distinct;
        Ok(Some(new))
    }

    fn remarks(&self) -> Vec<String> {
        self.distinct.remark().into_iter().collect()
    }
}
