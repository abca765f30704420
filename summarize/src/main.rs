//! `summarize`: the command.

use std::process::ExitCode;

use clap::Parser;
use records::Output;
use summarize::Args;

fn main() -> ExitCode {
    records::finish("summarize", summarize::run(&Args::parse(), Output::stdout()))
}
