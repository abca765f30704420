//! `gen-dataset`: see `lib.rs`.

use std::process::ExitCode;

use clap::Parser;
use records::Output;

fn main() -> ExitCode {
    records::finish("gen-dataset", gen_dataset::run(&gen_dataset::Args::parse(), &mut Output::stdout()))
}
