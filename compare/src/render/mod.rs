//! The report in each of its forms.

mod csv;
mod json;
mod markdown;
mod text;

use records::{Comparison, Direction, Output, Result};

use crate::{
    args::Format,
    metric::Metric,
    number,
    report::{Report, Table},
};

/// Writes `report` to `output`.
pub(crate) fn write(report: &Report, format: Format, output: &mut Output) -> Result<()> {
    match format {
        Format::Text => text::lines(report).iter().try_for_each(|line| output.line(line))?,
        Format::Markdown => markdown::lines(report).iter().try_for_each(|line| output.line(line))?,
        Format::Csv => output.text(&csv::render(report))?,
        Format::Json => json::write(report, output)?,
    }
    output.flush()
}

/// Under every table for people.
const CAVEAT: &str = "One run a side (or several merged into one) shows a difference, not its significance.";

fn title(metric: &Metric) -> String {
    if metric.unit.is_empty() { metric.name.clone() } else { format!("{} ({})", metric.name, metric.unit) }
}

fn value(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "n/a".to_owned(), |value| number::value(value, unit))
}

/// In percent, or as a difference where there is nothing to take a percentage of.
fn change(cell: &Comparison) -> String {
    match (cell.change, cell.change_pct) {
        (_, Some(percent)) => number::percent(percent),
        (Some(0.0), None) => "0".to_owned(),
        (Some(change), None) => format!("{}, new from 0", number::signed(change, &cell.unit)),
        (None, None) => "n/a".to_owned(),
    }
}

fn word(cell: &Comparison) -> &'static str {
    match cell.direction {
        Some(Direction::Better) => "better",
        Some(Direction::Worse) => "worse",
        Some(Direction::Same) => "same",
        None => "",
    }
}

/// Every broken rule of `report`, in words.
pub(crate) fn failures(report: &Report) -> Vec<String> {
    report.tables.iter().flat_map(table_failures).collect()
}

fn table_failures(table: &Table) -> impl Iterator<Item = String> {
    table.rows.iter().flat_map(|row| &row.cells).flat_map(|cell| {
        let place = cell.workload.as_ref().map(|name| format!(", workload {name}")).unwrap_or_default();
        let (old, new) = (value(cell.baseline, &cell.unit), value(cell.value, &cell.unit));
        let end = format!("{old} → {new} ({}) in {}{place}", change(cell), cell.label);
        cell.failed_rules.iter().map(move |rule| format!("FAILED rule {rule}: {end}"))
    })
}

/// Everything to be said about `table` under it.
fn notes(table: &Table) -> Vec<String> {
    let warnings = table.warnings.iter().map(|warning| format!("warning: {warning}"));
    table_failures(table).chain(warnings).map(|note| one_line(&note)).collect()
}

/// What to say about the workloads that no table shows.
fn unmatched(report: &Report) -> impl Iterator<Item = String> {
    report.unmatched.iter().map(|unmatched| format!("warning: {unmatched}"))
}

/// A name that stays on its line.
fn one_line(text: &str) -> String {
    text.replace(|letter: char| letter.is_control(), " ")
}
