//! `compare`: baseline and candidate benchmark runs side by side.

use std::{io, process::ExitCode};

use clap::Parser;
use compare::Args;
use records::Output;

fn main() -> ExitCode {
    let args = Args::parse();
    records::finish("compare", compare::run(&args, &mut Output::stdout(), &mut io::stderr()))
}
