//! The committed JSON Schemas are those of the types. `UPDATE=1 cargo test -p records` rewrites them.

use std::{fs, path::Path};

#[test]
fn committed_schemas_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    for (kind, schema) in records::schema::all() {
        let path = folder.join(format!("{kind}.schema.json"));
        let fresh = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &fresh).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(committed, fresh, "{} is out of date: UPDATE=1 cargo test -p records", path.display());
    }
}
