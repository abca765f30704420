//! One record a line.

use records::{Output, Result};

use crate::report::Report;

pub(super) fn write(report: &Report, output: &mut Output) -> Result<()> {
    let rows = report.tables.iter().flat_map(|table| &table.rows);
    rows.flat_map(|row| &row.cells).try_for_each(|cell| output.record(cell))
}
