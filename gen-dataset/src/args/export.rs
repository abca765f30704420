//! `export`: its arguments.
#![allow(clippy::doc_markdown, reason = "the comments on arguments are printed by --help, backticks and all")]

use std::path::PathBuf;

use crate::export::Tool;

pub(super) const HELP: &str = "\
A row becomes a line, in the same order; each needs a `max_tokens` (`gen-dataset custom --output-len` gives them one). \
`messages` are refused where a format has only text. What else a format has no place for is counted on stderr: `id`, \
`workload`, `at_us` or `extra_body`; aiperf's times are given to all rows or none. `prompt_tokens` goes to guidellm, \
while the others count anew. stderr also says with which flags the other tool sends these requests in this order. \
Sampling parameters and the load are set by its own flags; mind their defaults.

No tokenizer is loaded. `gen-dataset custom` reads all four formats back.

Examples:
  gen-dataset random --num-prompts 200 | gen-dataset export --to vllm > prompts.jsonl
  gen-dataset export --to aiperf prompts.jsonl > trace.jsonl";

/// `export`
#[derive(clap::Args)]
pub struct ExportArgs {
    /// The rows, JSON lines; `-` or none: standard input
    pub file: Option<PathBuf>,
    /// The tool to write for
    #[arg(long, value_name = "TOOL")]
    pub to: Tool,
}
