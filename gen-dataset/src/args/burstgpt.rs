//! `burstgpt`: its arguments.
#![allow(clippy::doc_markdown, reason = "the comments on arguments are printed by --help, backticks and all")]

use std::path::PathBuf;

use clap::value_parser;

use super::Common;

pub(super) const HELP: &str = "\
FILE is a CSV of the BurstGPT traces (github.com/HPMLL/BurstGPT): columns `Timestamp` (seconds), `Request tokens` and \
`Response tokens`, and for the filters `Model` and `Log Type`. Texts are random words of exactly the request's tokens. \
Requests without request or response tokens (failures) are skipped and counted on stderr. Lengths are held in memory, \
texts are not.

vLLM's dataset of that name keeps --model GPT-4 only.

Examples:
  gen-dataset burstgpt BurstGPT_1.csv --num-prompts 1000 --seed 1 > prompts.jsonl
  gen-dataset burstgpt BurstGPT_1.csv --arrivals --num-prompts 500 --log-type 'API log' | fire-requests";

/// `burstgpt`
#[derive(clap::Args)]
pub struct BurstGptArgs {
    /// The trace, CSV; `-` or none: standard input
    pub file: Option<PathBuf>,
    /// Rows to write
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u64).range(1..))]
    pub num_prompts: u64,
    /// Keep the requests to this model alone (`ChatGPT`, `GPT-4`)
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Keep the requests of this kind alone (`Conversation log`, `API log`)
    #[arg(long, value_name = "KIND")]
    pub log_type: Option<String>,
    /// Take the requests in their order from the trace's start, and write their times as `at_us`, the first at 0.
    /// Default: requests drawn at random, without times
    #[arg(long)]
    pub arrivals: bool,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}
