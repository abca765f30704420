//! Each format, to the letter. `UPDATE=1 cargo test -p compare` rewrites the files.

use std::{fs, path::Path};

use crate::process::run;

fn assert_golden(name: &str, arguments: &[&str]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let fresh = run(arguments).stdout;
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &fresh).unwrap();
    }
    let committed = fs::read_to_string(&path).expect("a golden file; UPDATE=1 writes it");
    assert_eq!(committed, fresh, "{} is out of date", path.display());
}

const INPUTS: [&str; 5] = ["base.json", "failing.json", "wide|r=wider.json", "--fail-if", "p99_ttft_ms>+5%"];

/// The rule cannot be checked on `failing`'s p99 ITL, so it looks at TTFT, which every input holds.
fn in_format(format: &str, name: &str) {
    assert_golden(name, &[&INPUTS[..], &["--format", format]].concat());
}

#[test]
fn text() {
    in_format("text", "several.txt");
}

#[test]
fn json() {
    in_format("json", "several.jsonl");
}

#[test]
fn csv() {
    in_format("csv", "several.csv");
}

#[test]
fn markdown() {
    in_format("markdown", "several.md");
}

#[test]
fn workloads() {
    let files = ["lab-baseline.jsonl", "lab-optimized.jsonl", "--by", "workload"];
    assert_golden("workloads.txt", &files);
    assert_golden("workloads.md", &[&files[..], &["--format", "markdown"]].concat());
}

#[test]
fn every_metric() {
    assert_golden("all.txt", &["base.json", "wider.json", "--all"]);
}
