//! The tools that rows can be written for.

use std::fmt;

use clap::ValueEnum;
use records::Prompt;
use serde_json::Value;

use super::{Tally, aiperf, guidellm, sglang, vllm};

/// Another benchmark tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tool {
    /// `vllm bench serve --dataset-name custom`: text
    Vllm,
    /// sglang's `bench_serving`, `--dataset-name openai`: chat messages
    Sglang,
    /// `aiperf profile --custom-dataset-type mooncake_trace`: text or messages, and times
    Aiperf,
    /// `guidellm run --data kind=json_file`: text
    Guidellm,
}

impl Tool {
    /// The tool's row for ours, which asks for `output` tokens. Takes from ours what theirs carries.
    pub(super) fn row(self, row: &mut Prompt, output: u64) -> Result<Value, String> {
        match self {
            Self::Vllm => vllm::row(row, output),
            Self::Sglang => sglang::row(row, output),
            Self::Aiperf => Ok(aiperf::row(row, output)),
            Self::Guidellm => guidellm::row(row, output),
        }
    }

    /// The command that sends the rows, in their order.
    pub(super) fn command(self, tally: &Tally) -> String {
        match self {
            Self::Vllm => vllm::command(tally),
            Self::Sglang => sglang::command(tally),
            Self::Aiperf => aiperf::command(tally),
            Self::Guidellm => guidellm::command(tally),
        }
    }

    /// The row's text, in a format that has nothing but text.
    pub(super) fn text(self, row: &mut Prompt) -> Result<String, String> {
        row.prompt.take().ok_or_else(|| {
            format!("`messages` have no place in {self}'s rows, which are text; export --to sglang or aiperf")
        })
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::Aiperf => "aiperf",
            Self::Guidellm => "guidellm",
        })
    }
}
