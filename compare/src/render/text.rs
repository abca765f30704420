//! Aligned columns.

use super::{CAVEAT, change, notes, one_line, title, unmatched, value, word};
use crate::report::{Report, Row, Table};

pub(super) fn lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for table in &report.tables {
        lines.extend(table.workload.iter().map(|workload| format!("workload: {}", one_line(workload))));
        lines.extend(grid(table));
        lines.extend(notes(table));
        lines.push(String::new());
    }
    lines.extend(unmatched(report));
    lines.push(CAVEAT.to_owned());
    lines
}

/// How a column's cells are set.
#[derive(Clone, Copy)]
enum Align {
    Left,
    Right,
}

fn grid(table: &Table) -> Vec<String> {
    let mut lines = vec![header(table)];
    lines.extend(table.rows.iter().map(cells));
    let mut aligns = vec![Align::Left, Align::Right];
    for _ in &table.candidates {
        aligns.extend([Align::Right, Align::Right, Align::Left]);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let columns: Vec<_> =
        aligns.into_iter().enumerate().map(|(column, align)| (width(column), align)).collect();
    lines.iter().map(|line| aligned(line, &columns)).collect()
}

fn header(table: &Table) -> Vec<String> {
    let mut header = vec!["metric".to_owned(), one_line(&table.baseline)];
    for label in &table.candidates {
        header.extend([one_line(label), "change".to_owned(), String::new()]);
    }
    header
}

fn cells(row: &Row) -> Vec<String> {
    let unit = row.metric.unit;
    let mut cells = vec![title(&row.metric), value(row.cells.first().and_then(|cell| cell.baseline), unit)];
    for cell in &row.cells {
        cells.extend([value(cell.value, unit), change(cell), word(cell).to_owned()]);
    }
    cells
}

fn aligned(line: &[String], columns: &[(usize, Align)]) -> String {
    let padded = line.iter().zip(columns).map(|(cell, (width, align))| match align {
        Align::Left => format!("{cell:<width$}"),
        Align::Right => format!("{cell:>width$}"),
    });
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}
