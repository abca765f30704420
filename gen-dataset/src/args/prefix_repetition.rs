//! `prefix-repetition`: its arguments.
#![allow(clippy::doc_markdown, reason = "the comments on arguments are printed by --help, backticks and all")]

use clap::value_parser;
use records::{Error, Result};

use super::{Common, Likeness, MOST_TOKENS};

pub(super) const HELP: &str = "\
Row i depends on --seed and i alone: each --num-prefixes rows in a row use every prefix once, in an order of their \
own. Lengths are exact, and all prompts differ right after the prefix.

With --like, as in vLLM: each prefix is used --num-prompts / --num-prefixes times, so that there are fewer rows if \
that leaves a rest; all are shuffled at the end, and so held in memory.

Examples:
  gen-dataset prefix-repetition --num-prompts 200 --num-prefixes 10 --prefix-len 2048 --suffix-len 128 > prompts.jsonl
  gen-dataset prefix-repetition --num-prompts 200 --like vllm-0.33 --seed 1 |
    fire-requests --like vllm-0.33 --seed 1 --request-rate 4";

/// `prefix-repetition`
#[derive(clap::Args)]
pub struct PrefixRepetitionArgs {
    /// Rows to write
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u64).range(1..))]
    pub num_prompts: u64,
    /// Prefixes to share
    #[arg(long, visible_alias = "prefix-repetition-num-prefixes", value_name = "N", default_value_t = 10,
          value_parser = value_parser!(u64).range(1..=1 << 20))]
    pub num_prefixes: u64,
    /// Length of each prefix in tokens
    #[arg(long, visible_alias = "prefix-repetition-prefix-len", value_name = "TOKENS", default_value_t = 256,
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub prefix_len: u64,
    /// Length in tokens of what follows it
    #[arg(long, visible_alias = "prefix-repetition-suffix-len", value_name = "TOKENS", default_value_t = 256,
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub suffix_len: u64,
    /// Output length in tokens
    #[arg(long, visible_alias = "prefix-repetition-output-len", value_name = "TOKENS", default_value_t = 128,
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub output_len: u64,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub likeness: Likeness,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

impl PrefixRepetitionArgs {
    /// How many rows there will be.
    pub(crate) fn rows(&self) -> u64 {
        match self.likeness.like {
            Some(_) => self.num_prompts - self.num_prompts % self.num_prefixes,
            None => self.num_prompts,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.rows() == 0 {
            return Err(Error::usage(format!(
                "--num-prompts {} with --like: at least as many as --num-prefixes ({}) are needed",
                self.num_prompts, self.num_prefixes
            )));
        }
        self.common.check_room(self.prefix_len + self.suffix_len)
    }
}
