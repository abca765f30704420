//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use records::{Error, Input, Lines, Result};

use crate::{Goodput, Metric, Options, Peak, Percentile, Target, sheet::Choice};

/// Turn per-request timings into a benchmark report.
///
/// Reads the records of fire-requests and prints the figures of `vllm bench serve`, by its formulas. Rows of several
/// files are merged: runs that overlap on the wall clock count their common time once.
///
/// Percentiles are exact, so memory grows by about 100 bytes a request and 8 a streamed event. Nothing else grows.
#[derive(Debug, Parser)]
#[command(name = "summarize", version, after_help = EXAMPLES)]
pub struct Args {
    /// Files to read and merge; `-`, or none: standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// How to print the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// One report for each value of this field, in order of first appearance, instead of one for all rows
    #[arg(long, value_enum, value_name = "FIELD")]
    pub by: Option<Group>,

    /// Percentiles, 0 to 100, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "P,..", default_value = "99")]
    pub metric_percentiles: Vec<Percentile>,

    /// Latencies to print in text, vllm and markdown, separated by commas; json and csv hold all four
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "METRIC,..",
        default_value = "ttft,tpot,itl"
    )]
    pub percentile_metrics: Vec<Metric>,

    /// Upper limits in ms that make a request a good one: ttft:MS, tpot:MS, e2el:MS
    ///
    /// Several may follow one flag; name files before it, or after `--`.
    #[arg(long, num_args = 1.., value_name = "METRIC:MS")]
    pub goodput: Vec<Target>,
}

const EXAMPLES: &str = "\
Exit status: 0 done; 1 no request of a report succeeded, or a run was cut off; 2 unusable arguments or input.

Examples:
  fire-requests --base-url http://127.0.0.1:8000 prompts.jsonl | summarize
  summarize run-*.jsonl --by workload --format markdown
  summarize --format json --goodput ttft:200 tpot:50 -- run.jsonl | jq .request_goodput";

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// vLLM's block, then failures, client and warnings
    Text,
    /// vLLM's block as release 0.33 prints it, and nothing else; its peak rate counts events, ours tokens
    Vllm,
    /// One object a line, with the keys and units of vLLM's result files
    Json,
    /// One row a report, under the keys of the JSON
    Csv,
    /// A table with one column a report
    Markdown,
}

/// What reports may be split by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// The prompt's label
    Workload,
}

impl Args {
    /// Refuses flags that contradict each other.
    pub fn check(&self) -> Result<()> {
        if self.format == Format::Vllm && self.by.is_some() {
            return Err(Error::usage(
                "--format vllm has no line for a workload's name; leave out --by, or use --format text",
            ));
        }
        Ok(())
    }

    /// Opens everything before anything is read.
    pub fn inputs(&self) -> Result<Vec<Lines>> {
        let hint = "pipe the output of fire-requests in, or name a file of timing rows";
        if self.files.is_empty() {
            return Ok(vec![Input::open(None, hint)?]);
        }
        self.files.iter().map(|file| Input::open(Some(file), hint)).collect()
    }

    /// What to work out.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            by_workload: self.by.is_some(),
            percentiles: self.metric_percentiles.clone(),
            goodput: Goodput::from_targets(&self.goodput),
            peak: if self.format == Format::Vllm { Peak::Events } else { Peak::Tokens },
        }
    }

    /// What to print of it.
    #[must_use]
    pub(crate) fn choice(&self) -> Choice<'_> {
        Choice { metrics: &self.percentile_metrics, percentiles: &self.metric_percentiles }
    }
}
