//! `trace`: requests recorded in production, with their times and lengths.

mod azure;
mod format;
mod mooncake;
mod request;
mod rows;
mod schedule;
mod texts;

use rayon::prelude::*;
use records::{Prompt, Result};

use self::{rows::Rows, texts::Texts};
use crate::{Tokens, TraceArgs, distinct::Distinct, source::Source};

pub use self::format::Format;

/// A block of tokens that one hash id stands for, unless `--block-size` says otherwise: Mooncake's.
const BLOCK_SIZE: u64 = 512;
/// Prompts with this many tokens of their own or fewer are remembered, lest they repeat: longer ones never do.
const SHORT: u64 = 16;

/// Rows that are read, checked and given their prompts as they come.
pub(crate) struct Trace<'a> {
    rows: Rows,
    texts: Texts<'a>,
    distinct: Distinct,
}

impl<'a> Trace<'a> {
    /// Opens the file, learns its format and prepares the tokens to draw from.
    pub(crate) fn open(args: &TraceArgs, tokens: &'a Tokens) -> Result<Self> {
        Ok(Self {
            rows: Rows::open(args)?,
            texts: Texts::new(tokens, args.common.seed, args.block_size.unwrap_or(BLOCK_SIZE))?,
            distinct: Distinct::default(),
        })
    }
}

impl Source for Trace<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let Some(rows) = self.rows.batch(want)? else { return Ok(None) };
        let (texts, distinct) = (&self.texts, &mut self.distinct);
        let made: Vec<Prompt> = rows.par_iter().map(|row| texts.prompt(row, 0)).collect::<Result<_>>()?;
        let new = rows.iter().zip(made).map(|(row, prompt)| match texts.own_tokens(&row.request) {
            1..=SHORT => distinct.or_else(prompt, |attempt| texts.prompt(row, attempt)),
            _ => Ok(prompt),
        });
        new.collect::<Result<_>>().map(Some)
    }

    fn remarks(&self) -> Vec<String> {
        self.rows.remarks().into_iter().chain(self.distinct.remark()).collect()
    }
}
