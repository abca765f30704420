//! `trace`: its arguments.
#![allow(clippy::doc_markdown, reason = "the comments on arguments are printed by --help, backticks and all")]

use std::path::PathBuf;

use clap::value_parser;
use records::{Error, Result};

use super::{Common, MOST_TOKENS};
use crate::trace::Format;

pub(super) const HELP: &str = "\
Each row is due (`at_us`) as long after the first as it was recorded, to the microsecond, and `fire-requests` sends it \
then. max_tokens is the recorded output length, and the prompt is made text of exactly the recorded input length. \
Formats:
  mooncake  JSON lines: {\"timestamp\": 27482, \"input_length\": 6955, \"output_length\": 52, \"hash_ids\": [46, 47, …]}, \
the timestamp in ms, one id for each block of --block-size tokens, the last block as long as what is left
  azure     CSV with the header TIMESTAMP,ContextTokens,GeneratedTokens; times without an offset are UTC

The text of a block depends on --seed and its id alone, so that prompts share their leading blocks as the recorded \
ones did, and prompts of equal ids and lengths are equal. A row with fewer ids than blocks goes on with text of its own; \
without hash_ids, all prompts differ. Rows without input or output are skipped. Both are counted on stderr.

Rows pass one by one. Times must not go back.

Examples:
  gen-dataset trace toolagent_trace.jsonl --num-prompts 500 > prompts.jsonl
  gen-dataset trace AzureLLMInferenceTrace_conv.csv --start-offset 600 --end-offset 660 | fire-requests --ignore-eos";

/// `trace`
#[derive(clap::Args)]
pub struct TraceArgs {
    /// The recorded requests; `-` or none: standard input
    pub file: Option<PathBuf>,
    /// The file's format. Default: by its first line
    #[arg(long, value_name = "NAME")]
    pub format: Option<Format>,
    /// Rows to write, from the first on. Default: all
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub num_prompts: Option<u64>,
    /// Leave out what was recorded in the trace's first SECS seconds; the times written start at the first row taken
    #[arg(long, value_name = "SECS", default_value = "0", allow_negative_numbers = true, value_parser = micros)]
    pub start_offset: i64,
    /// Leave out what was recorded SECS seconds after the trace's first row, or later. Default: nothing
    #[arg(long, value_name = "SECS", allow_negative_numbers = true, value_parser = micros)]
    pub end_offset: Option<i64>,
    /// Tokens that one of hash_ids stands for. Default: 512
    #[arg(long, visible_aliases = ["isl-block-size", "timed-trace-chunk-hash-size"], value_name = "TOKENS",
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub block_size: Option<u64>,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

impl TraceArgs {
    pub(super) fn check(&self) -> Result<()> {
        match self.end_offset {
            Some(end) if end <= self.start_offset => {
                Err(Error::usage("--end-offset must lie after --start-offset; nothing is between them"))
            }
            _ => Ok(()),
        }
    }
}

/// Seconds as microseconds.
fn micros(text: &str) -> std::result::Result<i64, String> {
    match text.parse::<f64>() {
        Ok(secs) if (0.0..1e9).contains(&secs) => Ok((secs * 1e6).round() as i64),
        _ => Err("must be a number of seconds, 0 or more".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_seconds() {
        for (text, us) in
            [("0", Some(0)), ("1.5", Some(1_500_000)), ("0.0000005", Some(1)), ("3600", Some(3_600_000_000))]
        {
            assert_eq!(micros(text).ok(), us, "{text}");
        }
        for text in ["-1", "nan", "inf", "1e10", "1s", ""] {
            assert!(micros(text).is_err(), "{text}");
        }
    }
}
