//! Reports on their way out.

mod csv;
mod markdown;
mod text;

use records::{Output, Result};

use crate::{Format, Report, sheet::Choice};

/// Writes all reports in one format.
pub(crate) fn write(
    reports: &[Report],
    format: Format,
    choice: Choice<'_>,
    output: &mut Output,
) -> Result<()> {
    match format {
        Format::Text => reports.iter().try_for_each(|report| output.text(&text::report(report, choice))),
        Format::Vllm => reports.iter().try_for_each(|report| output.text(&text::vllm(report, choice))),
        Format::Json => reports.iter().try_for_each(|report| output.record(&report.summary)),
        Format::Csv => output.text(&csv::table(reports)?),
        Format::Markdown => output.text(&markdown::table(reports, choice)),
    }
}
