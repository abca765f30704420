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

impl fmt::Display for Like {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vllm033 => "vllm-0.33",
            Self::Vllm011 => "vllm-0.11",
        })
    }
}
