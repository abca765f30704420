//! Fires prompts at an LLM server and writes the timing of each request as a JSON line.

use std::process::ExitCode;

use clap::Parser;
use fire_requests::{Args, run};

fn main() -> ExitCode {
    records::finish("fire-requests", run(&Args::parse()))
}
