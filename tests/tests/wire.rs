//! Writers are strict: what the tools write has the fields of the schema, all of them and no other.

use std::collections::BTreeMap;

use end_to_end::{Sim, bash, err, out, rows, run};
use serde_json::Value;

#[test]
fn every_row_has_the_fields_of_its_schema() {
    let sim = Sim::start(&["--preset", "fixed", "--ttft-ms", "5", "--tpot-ms", "1"]);
    let script = format!(
        "set -o pipefail
         gen-dataset random --input-len 8 --output-len 4 --num-prompts 6 --workload w | tee prompts.jsonl
         fire-requests prompts.jsonl --base-url {url} --ignore-eos --num-warmups 1 | tee run.jsonl
         fire-requests prompts.jsonl --base-url {url} --endpoint /v1/nothing --output failed.jsonl; cat failed.jsonl
         summarize run.jsonl --format json --goodput ttft:200 --by workload
         compare run.jsonl again=run.jsonl --format json",
        url = sim.url
    );
    let folder = tempfile::tempdir().unwrap();
    let output = run(bash(&script).current_dir(folder.path()));
    assert!(output.status.success(), "{}", err(&output));
    let schemas: BTreeMap<&str, Value> = records::schema::all().into_iter().collect();
    let mut seen = BTreeMap::new();
    for row in rows(&out(&output)) {
        let kind = row["kind"].as_str().expect("every row has a kind").to_owned();
        conforms(&row, &schemas[kind.as_str()]);
        *seen.entry(kind).or_insert(0) += 1;
    }
    let kinds: Vec<&str> = seen.keys().map(String::as_str).collect();
    assert_eq!(kinds, ["comparison", "prompt", "run_end", "run_start", "summary", "timing"]);
    assert_eq!(seen["timing"], 6 + 1 + 6);
}

fn conforms(row: &Value, schema: &Value) {
    let fields = row.as_object().expect("a row is an object");
    let known = schema["properties"].as_object().expect("a schema has properties");
    let order: Vec<&str> = fields.keys().take(2).map(String::as_str).collect();
    assert_eq!(order, ["kind", "v"], "{row}");
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(fields.contains_key(required), "no {required} in {row}");
    }
    for field in fields.keys() {
        let metric = row["kind"] == "summary" && field.ends_with("_ms");
        assert!(known.contains_key(field) || metric, "{field} is not in the schema: {row}");
    }
}
