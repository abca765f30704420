//! `--like`: which client to be.

use clap::ValueEnum;

/// A client whose requests and arrival times are reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Like {
    /// `vllm bench serve` of vLLM 0.11
    #[value(name = "vllm-0.11")]
    Vllm011,
    /// `vllm bench serve` of vLLM 0.33
    #[value(name = "vllm-0.33")]
    Vllm033,
}

impl Like {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vllm011 => "vllm-0.11",
            Self::Vllm033 => "vllm-0.33",
        }
    }

    /// What its `--request-id-prefix` is when nobody gives one.
    pub(crate) fn request_id_prefix(self) -> String {
        match self {
            Self::Vllm011 => "benchmark-serving".to_owned(),
            Self::Vllm033 => format!("bench-{:08x}-", rand::random::<u32>()),
        }
    }

    /// The temperature that it sends when nobody gives one.
    pub(crate) fn temperature(self) -> Option<f64> {
        (self == Self::Vllm011).then_some(0.0)
    }
}
