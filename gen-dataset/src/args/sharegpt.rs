//! `sharegpt`: its arguments.
#![allow(clippy::doc_markdown, reason = "the comments on arguments are printed by --help, backticks and all")]

use std::path::PathBuf;

use clap::value_parser;
use records::Result;

use super::{Common, Likeness, MOST_TOKENS, only_without_like};
use crate::like::Like;

pub(super) const HELP: &str = "\
FILE is a JSON array of {\"conversations\": [{\"from\": \"human\", \"value\": …}, {\"from\": \"gpt\", …}]}. The \
prompt is the first human turn that a gpt turn follows, max_tokens the token count of that answer. Entries without \
such turns, or with empty ones, are skipped and counted on stderr. So are, by vLLM's rule, prompts under 4 or over \
1024 tokens, answers under 4 (not with --output-len), and both over 2048. The turns used are held in memory.

With --like, as in vLLM: the first two turns are taken whoever speaks, an entry without two texts there is an error, \
and the special tokens that the tokenizer adds count.

Examples:
  gen-dataset sharegpt ShareGPT_V3_unfiltered_cleaned_split.json --num-prompts 500 --seed 1 > prompts.jsonl
  gen-dataset sharegpt chats.json --no-oversample --disable-shuffle --output-len 64 | fire-requests";

/// `sharegpt`
#[derive(clap::Args)]
pub struct ShareGptArgs {
    /// The conversations, a JSON array; `-` or none: standard input
    pub file: Option<PathBuf>,
    /// Rows to write
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u64).range(1..))]
    pub num_prompts: u64,
    /// Output length in tokens, in place of each answer's own
    #[arg(long, visible_alias = "sharegpt-output-len", value_name = "TOKENS",
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub output_len: Option<u64>,
    /// Take the entries in the file's order
    #[arg(long)]
    pub disable_shuffle: bool,
    /// If there are fewer usable entries than --num-prompts, write fewer rows instead of repeating them
    #[arg(long)]
    pub no_oversample: bool,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub likeness: Likeness,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

impl ShareGptArgs {
    pub(super) fn check(&self) -> Result<()> {
        let old = self.likeness.like.filter(|like| *like == Like::Vllm011);
        only_without_like(
            old,
            self.disable_shuffle,
            "--disable-shuffle",
            "that version always shuffles; leave it out",
        )
    }
}
