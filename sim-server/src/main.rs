//! `sim-server`: an OpenAI-compatible server in front of a simulated engine.

use std::process::ExitCode;

use clap::Parser;
use sim_server::Args;

fn main() -> ExitCode {
    records::finish("sim-server", sim_server::run(&Args::parse()))
}
