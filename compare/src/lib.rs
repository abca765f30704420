//! Compares a baseline run with one or more candidates, metric by metric.
//!
//! Each input becomes a [`records::Summary`] (raw timings are folded with `summarize`'s library). The summaries are
//! paired by workload, every metric knows which way is better, and each pair of values becomes one
//! [`records::Comparison`], which `--fail-if` rules then look at.

mod args;
mod change;
mod metric;
mod number;
mod pair;
mod render;
mod report;
mod rule;
mod side;
mod source;
mod unlike;

use std::io::{self, IsTerminal, Write};

use records::{Error, Exit, Output, Result};

pub use args::{Args, Format, Grouping};
use report::Report;

/// Reads the inputs, writes the comparison to `output` and what else there is to say to `messages`.
///
/// Answers [`Exit::No`] if a `--fail-if` rule is broken, even to a reader that has gone away.
pub fn run(args: &Args, output: &mut Output, messages: &mut dyn Write) -> Result<Exit> {
    let sides = side::read_all(&args.inputs, &args.fold_options())?;
    let pairing = pair::pair(&sides, args.by.is_some())?;
    let report = Report::new(&pairing, &args.selection(), &args.fail_if)?;

    // A terminal shows both streams: there the report's own warnings would stand twice.
    if !(args.format.shows_warnings() && io::stdout().is_terminal()) {
        for warning in side::warnings(&sides).chain(report.warnings()) {
            say(messages, &format!("warning: {warning}"));
        }
    }
    let written = render::write(&report, args.format, output);
    let failures = render::failures(&report);
    for failure in &failures {
        say(messages, failure);
    }
    match written {
        Ok(()) | Err(Error::ClosedPipe) if !failures.is_empty() => Ok(Exit::No),
        written => written.map(|()| Exit::Done),
    }
}

fn say(messages: &mut dyn Write, message: &str) {
    // A closed stderr leaves nobody to tell.
    let _ = writeln!(messages, "compare: {message}");
}
