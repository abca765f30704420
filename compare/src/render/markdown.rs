//! GitHub's tables.

use super::{CAVEAT, change, notes, one_line, title, unmatched, value, word};
use crate::report::{Report, Row, Table};

pub(super) fn lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for table in &report.tables {
        if let Some(workload) = &table.workload {
            lines.extend([format!("### {}", escaped(workload)), String::new()]);
        }
        lines.extend(grid(table));
        lines.push(String::new());
        lines.extend(list(&notes(table)));
    }
    lines.extend(list(&unmatched(report).collect::<Vec<_>>()));
    lines.push(CAVEAT.to_owned());
    lines
}

fn grid(table: &Table) -> Vec<String> {
    let mut header = vec!["metric".to_owned(), escaped(&table.baseline)];
    for label in &table.candidates {
        header.extend([escaped(label), "change".to_owned()]);
    }
    let rule =
        std::iter::once("---").chain(header.iter().skip(1).map(|_| "---:")).map(str::to_owned).collect();
    [header, rule].into_iter().chain(table.rows.iter().map(cells)).map(|cells| line(&cells)).collect()
}

fn cells(row: &Row) -> Vec<String> {
    let unit = row.metric.unit;
    let mut cells = vec![title(&row.metric), value(row.cells.first().and_then(|cell| cell.baseline), unit)];
    for cell in &row.cells {
        cells.push(value(cell.value, unit));
        cells.push(format!("{} {}", change(cell), word(cell)).trim_end().to_owned());
    }
    cells
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// The notes as a list, with the blank line that ends it.
fn list(notes: &[String]) -> Vec<String> {
    let end = (!notes.is_empty()).then(String::new);
    notes.iter().map(|note| format!("- {}", escaped(note))).chain(end).collect()
}

/// A bar would end the cell, and a `<` may begin a tag.
fn escaped(text: &str) -> String {
    one_line(text).replace('|', "\\|").replace('<', "&lt;")
}
