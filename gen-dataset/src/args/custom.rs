//! `custom`: its arguments.
#![allow(clippy::doc_markdown, reason = "the comments on arguments are printed by --help, backticks and all")]

use std::path::PathBuf;

use clap::value_parser;
use records::{Error, Result};

use super::{Common, Likeness, MOST_TOKENS, only_without_like};
use crate::like::Like;

pub(super) const HELP: &str = "\
A row is a JSON object a line with `prompt` or `messages`, and optionally `id`, `max_tokens` (or `output_tokens`), \
`workload`, `at_us` and `extra_body`. Rows give all an id or none; without, the id is the row's number from 0. \
`prompt_tokens` is counted anew: of messages, their text; where they hold more than text, the row's own count is \
kept, or none. Sampling parameters beside the prompt are refused, since they belong into `extra_body`; other unknown \
fields are ignored, and records of other kinds passed over. Rows pass one by one, and are held in memory only for --shuffle and for repeats (--num-prompts \
without --no-oversample).

Rows of other tools are known by their fields: vLLM custom (`prompt`, `output_tokens`); sglang custom (the first turn \
of `conversations` is the prompt, the second one's tokens are the output length) and openai (parameters beside \
`messages` become `extra_body`); aiperf single_turn (`text`) and mooncake_trace (`text_input` or `messages`), with \
`output_length`, `timestamp` (ms, which becomes `at_us`), `extra` and `session_id` (the id); guidellm \
(`output_tokens_count`, `prompt_tokens_count`). Refused is a row with two texts or two output lengths, and a field \
that changes the request but has no place here: images and the like beside the text, `turns`, `delay`, `prefix`.

With --like, as in vLLM: rows need a `prompt`; they are shuffled (0.33 by --seed, 0.11 by 0 whatever the seed), and \
all get --output-len, by default 256, or with -1 their own `output_tokens`; each prompt is put into the model's chat \
template unless --skip-chat-template is given. Ids are the places in the new order.

Examples:
  gen-dataset custom questions.jsonl --output-len 256 --workload qa > prompts.jsonl
  gen-dataset custom trace.jsonl --num-prompts 100 | fire-requests    # aiperf's rows
  jq -c '{prompt: .question, max_tokens: 64}' qa.jsonl | gen-dataset custom - | fire-requests";

/// `custom`
#[derive(clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "one for each flag")]
pub struct CustomArgs {
    /// The rows, JSON lines; `-` or none: standard input
    pub file: Option<PathBuf>,
    /// Rows to write. Default: all
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub num_prompts: Option<u64>,
    /// Output length in tokens of rows that state none; with --like, of all rows (-1: their own)
    #[arg(long, visible_alias = "custom-output-len", value_name = "TOKENS", allow_negative_numbers = true,
          value_parser = value_parser!(i64).range(-1..=MOST_TOKENS as i64))]
    pub output_len: Option<i64>,
    /// Take the rows in random order, by --seed
    #[arg(long, conflicts_with = "like")]
    pub shuffle: bool,
    /// With --like vllm-0.33: take the rows in the file's order
    #[arg(long, requires = "like", conflicts_with = "shuffle")]
    pub disable_shuffle: bool,
    /// With --like: leave the prompts as they are, and do not put them into the model's chat template
    #[arg(long, visible_alias = "custom-skip-chat-template", requires = "like")]
    pub skip_chat_template: bool,
    /// If there are fewer rows than --num-prompts, write fewer instead of repeating them
    #[arg(long)]
    pub no_oversample: bool,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub likeness: Likeness,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

impl CustomArgs {
    pub(super) fn check(&self) -> Result<()> {
        if self.output_len == Some(0) {
            return Err(Error::usage("--output-len 0: ask for at least 1"));
        }
        let like = self.likeness.like;
        let old = like.filter(|like| *like == Like::Vllm011);
        only_without_like(
            old,
            self.disable_shuffle,
            "--disable-shuffle",
            "that version always shuffles; leave it out",
        )?;
        only_without_like(
            old,
            self.output_len == Some(-1),
            "--output-len -1",
            "that version knows no own lengths",
        )
    }

    /// For rows that state none; `None`: they must.
    pub(crate) fn default_output(&self) -> Option<u64> {
        self.output_len.and_then(|length| u64::try_from(length).ok())
    }
}
