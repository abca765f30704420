//! Turns per-request timings into a benchmark report: the figures of `vllm bench serve`, by its formulas.
//!
//! [`summaries`] is the whole tool without its printing. It is a fold: rows are added one by one, parts of the input
//! are merged, and at the end each group of requests is worked out.

mod args;
mod clock;
mod distribution;
mod failures;
mod fold;
mod goodput;
mod metric;
mod options;
mod peaks;
mod render;
mod report;
mod runs;
mod sample;
mod sheet;

pub use args::{Args, Format, Group};
pub use goodput::{Goodput, Target};
pub use metric::Metric;
pub use options::{Options, Peak, Percentile};

use fold::{Fold, Folded};
use records::{Error, Exit, Lines, Output, Result, Summary};
use report::Report;

/// Reads the inputs that `args` name and writes the report.
pub fn run(args: &Args, mut output: Output) -> Result<Exit> {
    args.check()?;
    let Folded { reports, warnings, cut_off } = fold(args.inputs()?)?.finish(&args.options());
    for warning in warnings {
        eprintln!("summarize: warning: {warning}");
    }
    render::write(&reports, args.format, args.choice(), &mut output)?;
    output.flush()?;
    let none_succeeded = reports.iter().any(|report| report.summary.completed == 0);
    Ok(if cut_off || none_succeeded { Exit::No } else { Exit::Done })
}

/// One summary a group, merged over all inputs. Warnings travel inside the summaries.
pub fn summaries(inputs: Vec<Lines>, options: &Options) -> Result<Vec<Summary>> {
    let reports = fold(inputs)?.finish(options).reports;
    Ok(reports.into_iter().map(|report| report.summary).collect())
}

fn fold(inputs: Vec<Lines>) -> Result<Fold> {
    let names: Vec<String> = inputs.iter().map(|lines| lines.file().to_owned()).collect();
    let mut all = Fold::default();
    for lines in inputs {
        all.merge(Fold::read(lines)?);
    }
    if all.is_empty() {
        return Err(Error::usage(format!(
            "{}: no timing rows, nothing to summarize; give the output of fire-requests",
            names.join(", ")
        )));
    }
    Ok(all)
}
