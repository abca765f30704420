//! Faults seen in other tools that compare benchmarks.

use records::Direction::{Better, Same, Worse};

use crate::process::{comparisons, of, run};

#[test]
fn zero_baseline_is_judged_without_a_percentage() {
    let rows = comparisons(&["base.json", "failing.json", "--all"]);
    let failed = of(&rows, "failed");
    assert_eq!((failed.change, failed.change_pct, failed.direction), (Some(60.0), None, Some(Worse)));
    let estimated = of(&rows, "short_outputs");
    assert_eq!((estimated.change, estimated.change_pct, estimated.direction), (Some(0.0), None, None));

    let same = comparisons(&["base.json", "wider.json"]);
    let failed = of(&same, "failed");
    assert_eq!((failed.change, failed.change_pct, failed.direction), (Some(0.0), None, Some(Same)));

    let text = run(&["base.json", "failing.json", "--metrics", "failed"]).stdout;
    assert!(text.contains("+60, new from 0  worse"), "{text}");
    let gated = run(&["base.json", "failing.json", "--fail-if", "failed>+5%"]);
    assert_eq!(gated.code, Some(1));
    assert!(
        gated.stderr.contains("FAILED rule failed>+5%: 0 → 60 (+60, new from 0) in failing"),
        "{gated:?}"
    );
    assert_eq!(run(&["base.json", "wider.json", "--fail-if", "failed>+5%"]).code, Some(0));
}

#[test]
fn each_metric_knows_its_direction() {
    let rows = comparisons(&["c03-base.json", "c03-new.json", "--all"]);
    for (metric, direction) in [
        ("request_throughput", Better),
        ("output_throughput", Worse),
        ("mean_ttft_ms", Worse),
        ("p99_itl_ms", Better),
        ("request_goodput", Better),
        ("failed", Worse),
        ("duration", Better),
        ("median_ttft_ms", Same),
    ] {
        assert_eq!(of(&rows, metric).direction, Some(direction), "{metric}");
    }
    assert_eq!(of(&rows, "num_prompts").direction, None);
    let other_work = comparisons(&["base.json", "failing.json", "--metrics", "duration"]);
    assert_eq!(of(&other_work, "duration").direction, None, "a shorter run of fewer answers is no better");
}

#[test]
fn unlike_runs_are_said_to_be() {
    let ran = run(&["base.json", "wider.json"]);
    let warnings = [
        "warning: max_concurrency differs: base 8, wider 16\n",
        "warning: total_input_tokens differs: base 800, wider 1600 (+100.0%)\n",
        "warning: wider: client-bound: 2 of 100 requests were sent late\n",
    ];
    for warning in warnings {
        assert!(ran.stdout.contains(warning), "{}", ran.stdout);
    }
    assert_eq!(ran.stderr, warnings.map(|warning| format!("compare: {warning}")).concat());
    let csv = run(&["base.json", "wider.json", "--format", "csv"]);
    assert!(!csv.stdout.contains("warning") && csv.stderr.contains(warnings[0]), "{csv:?}");
}

#[test]
fn failures_come_first_and_are_no_improvement() {
    let rows = comparisons(&["base.json", "failing.json"]);
    assert_eq!(rows[0].metric, "failed_pct");
    assert_eq!((rows[0].baseline, rows[0].value, rows[0].direction), (Some(0.0), Some(60.0), Some(Worse)));
    let ran = run(&["base.json", "failing.json"]);
    let first = ran.stdout.lines().nth(1).unwrap();
    assert!(first.starts_with("Failed share (%)") && first.ends_with("worse"), "{first}");
    let note = "failing fails more requests than base (60.00% against 0%)";
    assert!(ran.stdout.contains(note) && ran.stderr.contains(note), "{ran:?}");
    assert!(ran.stdout.contains("so it is no improvement"));
}

/// The first row of a table.
fn cells(text: &str) -> Vec<&str> {
    text.lines().nth(1).unwrap().split_whitespace().collect()
}

#[test]
fn small_values_keep_their_digits() {
    let text = run(&["base.json", "failing.json", "--metrics", "mean_itl_ms"]).stdout;
    assert_eq!(cells(&text), ["Mean", "ITL", "(ms)", "12.35", "0.0146", "-99.9%", "better"]);
    let rows = [0.004, 0.006].map(|rate| {
        let text = format!(
            r#"{{"completed":1,"total_input_tokens":1,"total_output_tokens":1,"total_token_throughput":1,"request_throughput":{rate}}}"#
        );
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rate-{rate}.json"));
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let text = run(&[&rows[0], &rows[1], "--metrics", "request_throughput"]).stdout;
    assert_eq!(cells(&text), ["Request", "throughput", "(req/s)", "0.00400", "0.00600", "+50.0%", "better"]);
}
