//! Sampling as other tools do it, draw by draw: the same flags and seed give the same prompts.
//!
//! The algorithms are those of vLLM's `vllm/benchmarks/datasets.py`, in versions 0.11.0 and 0.33.0.

mod custom;
mod length_loop;
mod oversample;
mod prefix_repetition;
mod random;
mod sharegpt;

use std::fmt;

use clap::ValueEnum;
use records::Result;

use crate::Tokens;

pub(crate) use self::{
    custom::Custom, prefix_repetition::PrefixRepetition, random::Random, sharegpt::ShareGpt,
};

/// The tool, and its version, to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Like {
    /// `vllm bench serve` 0.33
    #[value(name = "vllm-0.33")]
    Vllm033,
    /// `vllm bench serve` 0.11
    #[value(name = "vllm-0.11")]
    Vllm011,
}

impl Like {
    /// Special tokens around one text by the `transformers` of that version's time (4 for 0.11, 5 for 0.33).
    fn special_count(self, tokens: &Tokens) -> u64 {
        match self {
            Self::Vllm033 => tokens.special_count(),
            Self::Vllm011 => tokens.old_special_count(),
        }
    }

    /// The text of `ids`, by the same.
    fn decode(self, tokens: &Tokens, ids: &[u32]) -> Result<String> {
        match self {
            Self::Vllm033 => tokens.decode(ids),
            Self::Vllm011 => tokens.decode_clean(ids),
        }
    }
}

impl fmt::Display for Like {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vllm033 => "vllm-0.33",
            Self::Vllm011 => "vllm-0.11",
        })
    }
}
