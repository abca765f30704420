//! JSON Schemas of the records, generated from the types; the committed copies lie in `records/schemas/`.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::{Calibration, Comparison, Prompt, Record, RunEnd, RunStart, Summary, Timing};

/// Every kind with its schema (JSON Schema 2020-12).
#[must_use]
pub fn all() -> Vec<(&'static str, Value)> {
    vec![
        (Prompt::KIND, of::<Prompt>()),
        (RunStart::KIND, of::<RunStart>()),
        (Timing::KIND, of::<Timing>()),
        (RunEnd::KIND, of::<RunEnd>()),
        (Summary::KIND, of::<Summary>()),
        (Comparison::KIND, of::<Comparison>()),
        (Calibration::KIND, of::<Calibration>()),
    ]
}

fn of<T: Record + JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let mut all = serde_json::Map::new();
    all.insert("kind".to_owned(), json!({ "const": T::KIND }));
    all.insert("v".to_owned(), json!({ "const": T::VERSION }));
    all.extend(properties);
    schema["properties"] = Value::Object(all);
    schema
}
