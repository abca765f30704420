//! `random`: prompts of words drawn at random, of exactly the length asked for.

use rand::RngExt;
use rand_pcg::Pcg64;
use rayon::prelude::*;
use records::{Error, Prompt, Result};

use crate::{
    RandomArgs, Tokens,
    generator::{self, Purpose},
    pool::Pool,
    source::Source,
    window::Window,
};

/// Tokens made at once: bounds memory, and is enough work to spread over the threads.
const BATCH_TOKENS: u64 = 1 << 17;
/// Fresh draws before a length is given up.
const ATTEMPTS: usize = 100;
/// Corrections of one draw: a token that merged with its neighbour is replaced, one too many is cut.
const CORRECTIONS: usize = 10;

/// Rows made one by one, each from the generator of its own number.
pub(crate) struct Random<'a> {
    sampler: Sampler<'a>,
    input: Window,
    output: Window,
    seed: u64,
    rows: std::ops::Range<u64>,
}

impl<'a> Random<'a> {
    /// Prepares the tokens to draw from and the prefix.
    pub(crate) fn new(args: &RandomArgs, tokens: &'a Tokens) -> Result<Self> {
        let seed = args.common.seed;
        Ok(Self {
            sampler: Sampler::new(tokens, seed, args.prefix_len as usize)?,
            input: args.input_window(),
            output: args.output_window(),
            seed,
            rows: 0..args.num_prompts,
        })
    }

    fn row(&self, index: u64) -> Result<Prompt> {
        let mut rng = generator::of_row(self.seed, index);
        let input = self.input.draw(&mut rng);
        let output = self.output.draw(&mut rng);
        let (text, length) = self.sampler.text(index, input as usize, &mut rng)?;
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
        let most = (BATCH_TOKENS / (self.sampler.prefix.len() as u64 + self.input.high)).clamp(least, 1024);
        let end = self.rows.end.min(self.rows.start + most.min(want));
        let rows = self.rows.start..end;
        self.rows.start = end;
        if rows.is_empty() {
            return Ok(None);
        }
        rows.into_par_iter().map(|index| self.row(index)).collect::<Result<_>>().map(Some)
    }
}

/// Makes texts of exactly so many tokens.
struct Sampler<'a> {
    tokens: &'a Tokens,
    pool: Pool,
    prefix: Vec<u32>,
}

impl<'a> Sampler<'a> {
    fn new(tokens: &'a Tokens, seed: u64, prefix_len: usize) -> Result<Self> {
        let mut sampler = Self { tokens, pool: Pool::new(tokens, seed)?, prefix: Vec::new() };
        if prefix_len > 0 {
            let mut rng = generator::of(seed, Purpose::Prefix);
            let (text, _) = sampler.text(rng.random(), prefix_len, &mut rng)?;
            sampler.prefix = tokens.encode(&text)?;
        }
        Ok(sampler)
    }

    /// The prefix and `count` tokens more, with the length of both.
    ///
    /// The first token after the prefix is the pool's token number `index`, so that prompts differ from their start
    /// and even those of one token differ, as long as the pool lasts.
    fn text(&self, index: u64, count: usize, rng: &mut Pcg64) -> Result<(String, u64)> {
        let length = self.prefix.len() + count;
        let pool = self.pool.ids();
        let first = pool[(index % pool.len() as u64) as usize];
        for attempt in 0..ATTEMPTS {
            let mut ids = self.prefix.clone();
            ids.extend((attempt == 0).then_some(first));
            self.fill(&mut ids, length, rng);
            if let Some(text) = self.corrected(ids, length, rng)? {
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

    /// The text of `ids`, changed until it encodes to `length` tokens; `None` if it will not.
    fn corrected(&self, mut ids: Vec<u32>, length: usize, rng: &mut Pcg64) -> Result<Option<String>> {
        for _ in 0..CORRECTIONS {
            let text = self.tokens.decode(&ids)?;
            ids = self.tokens.encode(&text)?;
            if text.contains(char::REPLACEMENT_CHARACTER) || !ids.starts_with(&self.prefix) {
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
