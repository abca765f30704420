//! The command line.

use clap::{Parser, ValueEnum};
use summarize::Options;

use crate::{
    metric::{Metric, Selection},
    rule::Rule,
    source::Source,
};

/// Compare baseline and candidate benchmark runs.
///
/// Each input is a timing file of `fire-requests`, the output of `summarize --format json`, or a result file of
/// `vllm bench serve`. The first is the baseline, each further one a candidate. Settings that differ between the two
/// are named in warnings.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub struct Args {
    /// Baseline, then candidates; `-` is standard input. LABEL defaults to the file's name without its extension
    #[arg(value_name = "[LABEL=]FILE", required = true, num_args = 2..)]
    pub(crate) inputs: Vec<Source>,

    /// Compare each workload with its namesake; the default compares whole runs
    #[arg(long, value_name = "KEY")]
    pub(crate) by: Option<Grouping>,

    /// How to print the comparison
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,

    /// Show these metrics, separated by commas, and those that `--fail-if` names
    ///
    /// The names are the summary's keys, such as `request_throughput` or `p99_ttft_ms`. The default is failures,
    /// throughputs, and mean, median and p99 of each latency.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) metrics: Vec<Metric>,

    /// Show every metric that either side holds
    #[arg(long, conflicts_with = "metrics")]
    pub(crate) all: bool,

    /// Exit 1 if any candidate breaks RULE; may be given several times
    ///
    /// RULE is METRIC, `>` or `<`, and a threshold. `p99_ttft_ms>+5%` and `request_throughput<-3%` look at the change
    /// against the baseline, `p99_ttft_ms>200` at the candidate's own value in the metric's unit. A metric that
    /// either side lacks is an error (exit 2), not a pass. Against a baseline of 0, any rise is above every
    /// percentage.
    #[arg(long, value_name = "RULE")]
    pub(crate) fail_if: Vec<Rule>,
}

const EXAMPLES: &str = "\
Exit codes: 0 compared, 1 a --fail-if rule is broken, 2 usage, unreadable input or failed write.

Examples:
  compare base.jsonl new.jsonl
  compare vllm=a.json trt=b.json --fail-if 'p99_ttft_ms>+5%' --format markdown
  summarize --format json new.jsonl | compare base.json new=- --fail-if 'failed>0'";

/// What to pair the figures by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Grouping {
    /// The workload label of the rows.
    Workload,
}

/// The forms of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns for people
    Text,
    /// One comparison record a line
    Json,
    /// One row for each metric and candidate
    Csv,
    /// GitHub tables
    Markdown,
}

impl Format {
    /// Whether the report itself carries the warnings.
    pub(crate) fn shows_warnings(self) -> bool {
        matches!(self, Self::Text | Self::Markdown)
    }
}

impl Args {
    pub(crate) fn selection(&self) -> Selection {
        match (self.all, self.metrics.is_empty()) {
            (true, _) => Selection::All,
            (false, true) => Selection::Main,
            (false, false) => Selection::Named(self.metrics.clone()),
        }
    }

    /// How to fold raw timings: with every percentile that is asked for by name.
    pub(crate) fn fold_options(&self) -> Options {
        let mut options = Options { by_workload: self.by.is_some(), ..Options::default() };
        let named = self.metrics.iter().chain(self.fail_if.iter().map(|rule| &rule.metric));
        for percentile in named.filter_map(Metric::percentile) {
            if !options.percentiles.contains(&percentile) {
                options.percentiles.push(percentile);
            }
        }
        options
    }
}
