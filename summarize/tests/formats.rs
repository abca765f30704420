//! Each format against a file under `tests/golden`. `UPDATE=1 cargo test -p summarize` rewrites them.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::{env, fs, path::Path};

use common::{end, failed, row, run, start, summarize, warmup};
use records::{Client, ClientVerdict, Micros, Outcome, Rate, RunStart, Timing, TokensFrom};

/// Two workloads, failures of two kinds, a warm-up, short and estimated answers, a client that kept up.
fn input() -> String {
    let a = RunStart {
        model: "m|x".to_owned(),
        backend: "openai-chat".to_owned(),
        request_rate: Rate::new(2.0),
        max_concurrency: Some(4),
        labels: [("gpu".to_owned(), "h200, 1".to_owned())].into(),
        ..start("a", "2026-12-01T00:00:00Z")
    };
    let labelled = |workload: &str, row: Timing| Timing { workload: Some(workload.to_owned()), ..row };
    let rows = [
        labelled("long", warmup(row(-2.0, 1.0, 2.0, 5))),
        labelled("long", Timing { cached_tokens: Some(64), ..row(0.0, 0.25, 2.0, 8) }),
        labelled("long", Timing { max_tokens: Some(8), ..row(0.5, 0.5, 2.5, 5) }),
        labelled("short", Timing { tokens_from: Some(TokensFrom::Events), ..row(1.0, 0.125, 0.25, 2) }),
        labelled("short", failed(1.5, 0.01)),
        labelled("short", failed(2.0, 0.02)),
        labelled("short", Timing { outcome: Outcome::Timeout, error: None, ..failed(2.5, 0.5) }),
    ];
    let mut end = end("a", 3.0, 6);
    end.client = Some(Client {
        send_lag_p50_us: Some(Micros::new(20.0)),
        send_lag_p99_us: Some(Micros::new(180.0)),
        send_lag_max_us: Some(Micros::new(250.0)),
        read_lag_p50_us: Some(Micros::new(30.0)),
        read_lag_p99_us: None,
        cpu_pct: Some(31.25),
        threads: Some(2),
        thread_cpu_pct: Some(20.5),
        thread_wait_pct: Some(0.5),
        peak_in_flight: 3,
        connections: 4,
        verdict: ClientVerdict::Ok,
        ..Client::default()
    });
    run(&a, &rows, &end)
}

fn check(name: &str, args: &[&str]) {
    let done = summarize(args, &input());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &done.stdout).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(done.stdout, golden, "{name} is not as it was; UPDATE=1 rewrites it");
}

#[test]
fn text() {
    check("report.txt", &["--percentile-metrics", "ttft,tpot,itl,e2el", "--goodput", "ttft:300"]);
}

#[test]
fn text_by_workload() {
    check("report-by-workload.txt", &["--by", "workload"]);
}

#[test]
fn vllm() {
    check("report-vllm.txt", &["--format", "vllm"]);
}

#[test]
fn json() {
    check("report.jsonl", &["--format", "json", "--by", "workload", "--metric-percentiles", "50,99.9"]);
}

#[test]
fn csv() {
    check("report.csv", &["--format", "csv", "--by", "workload"]);
}

#[test]
fn markdown() {
    check("report.md", &["--format", "markdown", "--by", "workload"]);
}
