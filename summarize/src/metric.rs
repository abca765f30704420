//! The four latencies.

use clap::ValueEnum;

/// A latency of which the report gives mean, median and percentiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Metric {
    /// Time to first token.
    Ttft,
    /// Time per output token after the first, one value a request.
    Tpot,
    /// Inter-token latency, one value for each gap between output events.
    Itl,
    /// End-to-end latency.
    E2el,
}

impl Metric {
    /// In the order of the report.
    pub const ALL: [Self; 4] = [Self::Ttft, Self::Tpot, Self::Itl, Self::E2el];

    /// The key of one of its figures, such as `p99_ttft_ms`.
    #[must_use]
    pub fn key(self, figure: &str) -> String {
        let name = match self {
            Self::Ttft => "ttft",
            Self::Tpot => "tpot",
            Self::Itl => "itl",
            Self::E2el => "e2el",
        };
        format!("{figure}_{name}_ms")
    }

    /// As the report abbreviates it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Ttft => "TTFT",
            Self::Tpot => "TPOT",
            Self::Itl => "ITL",
            Self::E2el => "E2EL",
        }
    }

    /// The head of its section.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Ttft => "Time to First Token",
            Self::Tpot => "Time per Output Token (excl. 1st token)",
            Self::Itl => "Inter-token Latency",
            Self::E2el => "End-to-end Latency",
        }
    }
}
