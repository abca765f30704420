//! One row for each metric and candidate, with unrounded values.

use csv::Writer;
use records::{Better, Comparison};

use super::word;
use crate::report::Report;

const HEADER: [&str; 12] = [
    "workload",
    "metric",
    "unit",
    "better",
    "baseline_label",
    "label",
    "baseline",
    "value",
    "change",
    "change_pct",
    "direction",
    "failed_rules",
];

pub(super) fn render(report: &Report) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    let cells = report.tables.iter().flat_map(|table| table.rows.iter().flat_map(|row| &row.cells));
    let rows = std::iter::once(HEADER.map(str::to_owned)).chain(cells.map(fields));
    for row in rows {
        writer.write_record(&row).expect("rows of one length go into memory");
    }
    let bytes = writer.into_inner().expect("memory takes what is flushed");
    String::from_utf8(bytes).expect("made of strings")
}

fn fields(cell: &Comparison) -> [String; 12] {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let better = match cell.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "neither",
    };
    [
        cell.workload.clone().unwrap_or_default(),
        cell.metric.clone(),
        cell.unit.clone(),
        better.to_owned(),
        cell.baseline_label.clone(),
        cell.label.clone(),
        number(cell.baseline),
        number(cell.value),
        number(cell.change),
        number(cell.change_pct),
        word(cell).to_owned(),
        cell.failed_rules.join("; "),
    ]
}
