//! `burstgpt`: lengths and times of recorded requests, with random texts.

mod table;

use rand::seq::SliceRandom;
use rayon::prelude::*;
use records::{Input, Micros, Prompt, Result};

use crate::{
    BurstGptArgs, Tokens,
    distinct::Distinct,
    generator::{self, Purpose},
    sampler::Sampler,
    source::Source,
};
use table::{Request, Table};

/// Tokens made at once: bounds memory, and is enough work to spread over the threads.
const BATCH_TOKENS: u64 = 1 << 17;

/// Rows of recorded lengths, in their order.
pub(crate) struct BurstGpt<'a> {
    sampler: Sampler<'a>,
    seed: u64,
    file: String,
    skipped: u64,
    /// That the filters left nothing.
    none_left: Option<String>,
    requests: std::iter::Peekable<std::vec::IntoIter<(u64, Request)>>,
    distinct: Distinct,
}

impl<'a> BurstGpt<'a> {
    /// Reads the file: with --arrivals as far as it is needed, else the whole of it.
    pub(crate) fn open(args: &BurstGptArgs, tokens: &'a Tokens) -> Result<Self> {
        let (file, reader) = Input::reader(args.file.as_deref(), "name a BurstGPT file, or pipe one in")?;
        let mut table = Table::new(&file, reader, args)?;
        let mut requests = Vec::new();
        while let Some(request) = table.next()? {
            requests.push(request);
            if args.arrivals && requests.len() as u64 == args.num_prompts {
                break;
            }
        }
        if !args.arrivals {
            requests.shuffle(&mut generator::of(args.common.seed, Purpose::Order));
        }
        let numbered: Vec<(u64, Request)> = (0..).zip(requests).collect();
        Ok(Self {
            sampler: Sampler::new(tokens, args.common.seed, 0)?,
            seed: args.common.seed,
            skipped: table.skipped,
            none_left: table.none_left(),
            file,
            requests: numbered.into_iter().peekable(),
            distinct: Distinct::default(),
        })
    }

    fn row(&self, index: u64, request: Request, attempt: u64) -> Result<Prompt> {
        let mut rng = generator::of_row(self.seed, index, attempt);
        let (text, length) = self.sampler.text(index + attempt, request.input as usize, &mut rng)?;
        Ok(Prompt {
            prompt: Some(text),
            prompt_tokens: Some(length),
            max_tokens: Some(request.output),
            at_us: request.at.map(|at| Micros::new(at as f64)),
            ..Prompt::default()
        })
    }
}

impl Source for BurstGpt<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let (mut batch, mut tokens) = (Vec::new(), 0);
        while (batch.len() as u64) < want.min(1024)
            && tokens < BATCH_TOKENS
            && let Some((index, request)) = self.requests.next()
        {
            tokens += request.input;
            batch.push((index, request));
        }
        if batch.is_empty() {
            return Ok(None);
        }
        let made: Vec<Prompt> =
            batch.par_iter().map(|&(index, request)| self.row(index, request, 0)).collect::<Result<_>>()?;
        let mut distinct = std::mem::take(&mut self.distinct);
        let new = batch.into_iter().zip(made).map(|((index, request), row)| {
            distinct.or_else(row, |attempt| self.row(index, request, attempt))
        });
        let new = new.collect::<Result<_>>()?;
        self.distinct = distinct;
        Ok(Some(new))
    }

    fn remarks(&self) -> Vec<String> {
        let skipped = (self.skipped > 0).then(|| {
            format!("{}: skipped {} requests without request or response tokens", self.file, self.skipped)
        });
        self.none_left.clone().into_iter().chain(skipped).chain(self.distinct.remark()).collect()
    }
}
