//! One metric of two runs, side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Record;

/// One metric, baseline against one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The workload, with `--by workload`.
    #[serde(default)]
    pub workload: Option<String>,
    /// The metric's key in [`crate::Summary`], or `failed_pct`: failed requests in percent of all measured.
    pub metric: String,
    /// Its unit, as printed.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// The baseline's label.
    pub baseline_label: String,
    /// The candidate's label.
    pub label: String,
    /// The baseline's value.
    pub baseline: Option<f64>,
    /// The candidate's value.
    pub value: Option<f64>,
    /// `value - baseline`.
    pub change: Option<f64>,
    /// `change` in percent of the baseline; null where the baseline is 0.
    pub change_pct: Option<f64>,
    /// Which way it went.
    pub direction: Option<Direction>,
    /// The `--fail-if` rules that it breaks.
    #[serde(default)]
    pub failed_rules: Vec<String>,
}

impl Record for Comparison {
    const KIND: &'static str = "comparison";
    const VERSION: u32 = 1;
}

/// Which direction of a metric is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Throughputs.
    Higher,
    /// Latencies and failures.
    Lower,
    /// Neither: a property of the load, not of the server.
    Neither,
}

/// Which way a metric went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Improved.
    Better,
    /// Got worse.
    Worse,
    /// Did not change.
    Same,
}
