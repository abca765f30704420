//! `random`: its arguments.
#![allow(clippy::doc_markdown, reason = "the comments on arguments are printed by --help, backticks and all")]

use std::str::FromStr;

use clap::value_parser;
use records::{Error, Result};
use serde::Deserialize;

use super::{Common, Likeness, MOST_TOKENS, ratio};
use crate::window::Window;

pub(super) const HELP: &str = "\
Each prompt has exactly the length it states: it is encoded again before it is written. Row i depends on --seed and \
i alone: with more --num-prompts, the first rows stay the same. Prompts differ from their first token on (after the \
prefix), as long as the vocabulary has words.

Examples:
  gen-dataset random --input-len 1024 --output-len 128 --num-prompts 1000 > prompts.jsonl
  gen-dataset random --input-len 4000 --range-ratio 0.1 --workload long | fire-requests";

/// `random`
#[derive(clap::Args)]
pub struct RandomArgs {
    /// Rows to write
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u64).range(1..))]
    pub num_prompts: u64,
    /// Prompt length in tokens, the prefix not included
    #[arg(long, visible_alias = "random-input-len", value_name = "TOKENS", default_value_t = 1024,
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub input_len: u64,
    /// Output length in tokens
    #[arg(long, visible_alias = "random-output-len", value_name = "TOKENS", default_value_t = 128,
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub output_len: u64,
    /// How far lengths vary, in [0, 1): each is drawn uniformly from floor(length × (1 − R)) to
    /// ceil(length × (1 + R)), both included, outputs never below 1; 0 is a fixed length
    ///
    /// This is vLLM's meaning (--random-range-ratio), and {"input":R,"output":R} is taken as there. SGLang's flag of
    /// the same name (bench_serving --random-range-ratio) means the opposite: there 1 is a fixed length, and 0 allows
    /// anything from 1 token to the length given.
    #[arg(
        long,
        visible_alias = "random-range-ratio",
        value_name = "R",
        default_value = "0",
        allow_negative_numbers = true
    )]
    pub range_ratio: Ratios,
    /// The same for prompts alone
    #[arg(long, value_name = "R", allow_negative_numbers = true, value_parser = ratio)]
    pub input_range_ratio: Option<f64>,
    /// The same for outputs alone
    #[arg(long, value_name = "R", allow_negative_numbers = true, value_parser = ratio)]
    pub output_range_ratio: Option<f64>,
    /// Tokens of a prefix that all prompts share, before the --input-len tokens of their own
    #[arg(long, visible_alias = "random-prefix-len", value_name = "TOKENS", default_value_t = 0,
          value_parser = value_parser!(u64).range(..=MOST_TOKENS))]
    pub prefix_len: u64,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub likeness: Likeness,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

/// How far the lengths of prompts and of outputs vary.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratios {
    /// Of prompts, in [0, 1).
    pub input: f64,
    /// Of outputs, in [0, 1).
    pub output: f64,
}

impl FromStr for Ratios {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if !text.trim_start().starts_with('{') {
            return ratio(text).map(|ratio| Self { input: ratio, output: ratio });
        }
        let ratios: Self = serde_json::from_str(text)
            .map_err(|error| format!("not {{\"input\":R,\"output\":R}}: {error}"))?;
        ratio(&ratios.input.to_string()).and(ratio(&ratios.output.to_string())).map(|_| ratios)
    }
}

impl RandomArgs {
    /// Lengths of the prompts, without the prefix. Like vLLM, the `special` tokens that a server adds to a prompt are
    /// taken off first.
    pub(crate) fn input_window(&self, special: u64) -> Window {
        Window::around(self.input_len.saturating_sub(special), self.input_ratio(), 0)
    }

    /// Lengths of the outputs.
    pub(crate) fn output_window(&self) -> Window {
        Window::around(self.output_len, self.output_range_ratio.unwrap_or(self.range_ratio.output), 1)
    }

    fn input_ratio(&self) -> f64 {
        self.input_range_ratio.unwrap_or(self.range_ratio.input)
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.likeness.like.is_none() {
            self.check_input(0)?;
        }
        self.common.check_room(self.prefix_len + self.input_window(0).low)
    }

    /// Refuses lengths that allow an empty prompt. vLLM takes off the `special` tokens that a server adds, and counts
    /// the prefix as part of the prompt.
    pub(crate) fn check_input(&self, special: u64) -> Result<()> {
        let prefixed = self.likeness.like.is_some() && self.prefix_len > 0;
        if prefixed || self.input_window(special).low > 0 {
            return Ok(());
        }
        Err(self.too_short(special))
    }

    /// Lengths that allow an empty prompt.
    pub(crate) fn too_short(&self, special: u64) -> Error {
        let ratio = self.input_ratio();
        Error::usage(format!(
            "--input-len {}: with --range-ratio {ratio} and {special} special tokens, prompts may shrink to nothing; \
             the smallest --input-len for these is {}",
            self.input_len,
            special + (1.0 / (1.0 - ratio)).ceil() as u64
        ))
    }
}
