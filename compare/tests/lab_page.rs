//! Five pairs of real runs whose changes were worked out by hand.

use crate::process::comparisons;

const FILES: [&str; 4] = ["lab-baseline.jsonl", "lab-optimized.jsonl", "--by", "workload"];

fn changes(metric: &str) -> Vec<(String, String)> {
    comparisons(&[&FILES[..], &["--metrics", metric]].concat())
        .into_iter()
        .map(|row| (row.workload.unwrap(), format!("{:.1}", row.change_pct.unwrap())))
        .collect()
}

fn assert_changes(metric: &str, expected: [&str; 5]) {
    let workloads = ["ShareGPT", "Short prompt", "Medium prompt", "Long prompt", "Very long prompt"];
    let expected: Vec<_> = workloads
        .iter()
        .zip(expected)
        .map(|(name, change)| ((*name).to_owned(), change.to_owned()))
        .collect();
    assert_eq!(changes(metric), expected, "{metric}");
}

#[test]
fn throughput() {
    assert_changes("total_token_throughput", ["18.7", "33.1", "7.7", "10.9", "-12.1"]);
}

#[test]
fn time_per_output_token() {
    assert_changes("mean_tpot_ms", ["-40.5", "256.7", "1.6", "4.1", "-30.2"]);
}
