//! `trace`: its arguments.
#![allow(clippy::doc_markdown, reason = "the comments on arguments are printed by --help, backticks and all")]

use std::path::PathBuf;

use clap::{ValueEnum, value_parser};
use records::{Error, Result};

use super::{Common, MOST_TOKENS};

pub(super) const HELP: &str = "\
FILE is one of Mooncake's traces (JSON lines with `timestamp` in ms, `input_length`, `output_length`, `hash_ids`) or of \
Azure's (CSV with TIMESTAMP, ContextTokens, GeneratedTokens). Each row has the recorded lengths exactly, random words \
for text, and as `at_us` its time since the first row taken, which fire-requests obeys. Requests of no input or no \
output are skipped and counted on stderr.

Each of `hash_ids` stands for a block of --block-size tokens, the last for what is left of the prompt. Equal ids have \
equal texts, by --seed and the id alone: requests that shared a prefix then share it here, and differ after it. Where \
all ids and the length are equal, so are the prompts, as they were. Without `hash_ids`, all prompts differ.

Rows are read as they are needed.

Examples:
  gen-dataset trace conversation_trace.jsonl --num-prompts 500 > prompts.jsonl
  gen-dataset trace AzureLLMInferenceTrace_conv.csv --start-offset 600 --end-offset 1200 | fire-requests";

/// `trace`
#[derive(clap::Args)]
pub struct TraceArgs {
    /// The trace; `-` or none: standard input
    pub file: Option<PathBuf>,
    /// What the file is. Default: by its first character
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<TraceFormat>,
    /// Rows to write, from the start (or from --start-offset). Default: all
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub num_prompts: Option<u64>,
    /// Tokens for which one of `hash_ids` stands
    #[arg(long, visible_aliases = ["isl-block-size", "timed-trace-chunk-hash-size"], value_name = "TOKENS",
          default_value_t = 512, value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub block_size: u64,
    /// Leave out what came earlier than so many seconds after the trace's first request
    #[arg(long, value_name = "SECS", value_parser = value_parser!(u64).range(..=1 << 32))]
    pub start_offset: Option<u64>,
    /// Leave out what came so many seconds after it, or later
    #[arg(long, value_name = "SECS", value_parser = value_parser!(u64).range(1..=1 << 32))]
    pub end_offset: Option<u64>,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

/// How a trace is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// JSON lines (github.com/kvcache-ai/Mooncake)
    Mooncake,
    /// CSV (github.com/Azure/AzurePublicDataset)
    Azure,
}

impl TraceArgs {
    pub(super) fn check(&self) -> Result<()> {
        match (self.start_offset, self.end_offset) {
            (Some(start), Some(end)) if start >= end => {
                Err(Error::usage(format!("--end-offset {end}: must be above --start-offset ({start})")))
            }
            _ => Ok(()),
        }
    }
}
