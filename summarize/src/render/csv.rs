//! One row a summary, under the keys of its JSON.

use indexmap::IndexMap;
use records::{Error, Result};
use serde_json::Value;

use crate::Report;

/// A header, then the rows. A member of an object has a column of its own, `client.cpu_pct`; a list is one cell.
pub(super) fn table(reports: &[Report]) -> Result<String> {
    let rows: Vec<_> = reports.iter().map(row).collect::<std::result::Result<_, _>>().map_err(failed)?;
    let mut columns: IndexMap<&str, ()> = IndexMap::new();
    for row in &rows {
        columns.extend(row.keys().map(|key| (key.as_str(), ())));
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.keys()).map_err(failed)?;
    for row in &rows {
        let cells = columns.keys().map(|column| row.get(*column).map_or("", String::as_str));
        writer.write_record(cells).map_err(failed)?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(error.into_error()))?;
    String::from_utf8(bytes).map_err(failed)
}

fn row(report: &Report) -> serde_json::Result<IndexMap<String, String>> {
    let mut row = IndexMap::new();
    flatten(&mut row, String::new(), &serde_json::to_value(&report.summary)?);
    Ok(row)
}

fn flatten(row: &mut IndexMap<String, String>, key: String, value: &Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                flatten(row, key, member);
            }
        }
        // An object in other rows.
        Value::Null if ["body", "client"].contains(&key.as_str()) => {}
        _ => {
            row.insert(key, cell(value));
        }
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::write("CSV", std::io::Error::other(error))
}
