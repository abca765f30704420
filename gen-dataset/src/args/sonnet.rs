//! `sonnet`: its arguments.
#![allow(clippy::doc_markdown, reason = "the comments on arguments are printed by --help, backticks and all")]

use std::path::PathBuf;

use clap::value_parser;
use records::{Error, Result};

use super::{Common, MOST_TOKENS};

pub(super) const HELP: &str = "\
A prompt is an instruction and the first lines of the text, cut to --prefix-len tokens and the same in every row, then \
lines drawn at random, the last one cut so that the whole has exactly --input-len tokens. Row i depends on --seed and i \
alone; prompts differ as long as the text has lines for it.

The flags have the names and defaults of vLLM's dataset of that name (in 0.11); its prompts are of about that length \
and of another text, so that there is no --like.

Examples:
  gen-dataset sonnet --num-prompts 500 > prompts.jsonl
  gen-dataset sonnet essays.txt --input-len 2000 --prefix-len 1000 --output-len 200 | fire-requests";

/// `sonnet`
#[derive(clap::Args)]
pub struct SonnetArgs {
    /// A text to take the lines from, `-` being standard input. Default: Shakespeare's 154 sonnets
    pub file: Option<PathBuf>,
    /// Rows to write
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u64).range(1..))]
    pub num_prompts: u64,
    /// Prompt length in tokens, the prefix included
    #[arg(long, visible_alias = "sonnet-input-len", value_name = "TOKENS", default_value_t = 550,
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub input_len: u64,
    /// Tokens at the beginning that all prompts share
    #[arg(long, visible_alias = "sonnet-prefix-len", value_name = "TOKENS", default_value_t = 200,
          value_parser = value_parser!(u64).range(..=MOST_TOKENS))]
    pub prefix_len: u64,
    /// Output length in tokens
    #[arg(long, visible_alias = "sonnet-output-len", value_name = "TOKENS", default_value_t = 150,
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub output_len: u64,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

impl SonnetArgs {
    pub(super) fn check(&self) -> Result<()> {
        if self.prefix_len >= self.input_len {
            return Err(Error::usage(format!(
                "--prefix-len {}: must be below --input-len ({}), which includes it",
                self.prefix_len, self.input_len
            )));
        }
        self.common.check_room(self.input_len)
    }
}
