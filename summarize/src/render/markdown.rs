//! A table for an issue or a report: a line a metric, a column a summary.

use std::fmt::Write;

use indexmap::IndexMap;

use crate::{
    Report,
    sheet::{self, Choice, Line, Section},
};

/// The lines of the text report; those that only some of the summaries have are blank in the others.
pub(super) fn table(reports: &[Report], choice: Choice<'_>) -> String {
    let mut text = format!("| metric |{}\n", columns(reports.iter().map(head)));
    let _ = writeln!(text, "|---|{}", "---:|".repeat(reports.len()));
    for (label, cells) in rows(reports, choice) {
        let cells = cells.into_iter().map(Option::unwrap_or_default);
        let _ = writeln!(text, "| {} |{}", escaped(label.trim_end_matches(':')), columns(cells));
    }
    text
}

/// Section by section, so that a line which one summary lacks still stands with its kin.
fn rows(reports: &[Report], choice: Choice<'_>) -> impl Iterator<Item = (String, Vec<Option<String>>)> {
    let mut sections = IndexMap::<&str, IndexMap<String, Vec<Option<String>>>>::new();
    for (column, report) in reports.iter().enumerate() {
        let sheet = sheet::block(&report.summary, choice).into_iter().chain(sheet::supplement(report));
        for Section { title, lines } in sheet {
            let section = sections.entry(title).or_default();
            for Line { label, cell } in lines {
                let row = section.entry(label).or_insert_with(|| vec![None; reports.len()]);
                row[column] = Some(cell.show("n/a"));
            }
        }
    }
    sections.into_values().flatten()
}

fn head(report: &Report) -> String {
    let summary = &report.summary;
    match &summary.workload {
        Some(workload) => workload.clone(),
        None if summary.runs.is_empty() => "value".to_owned(),
        None => summary.runs.join(", "),
    }
}

fn columns(cells: impl Iterator<Item = String>) -> String {
    cells.fold(String::new(), |mut row, cell| {
        let _ = write!(row, " {} |", escaped(&cell));
        row
    })
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
