//! Arguments, exit codes and streams.

use std::io::Write;

use crate::process::{Ran, command, comparisons, finish, of, run, run_with};

fn refused(arguments: &[&str], input: &str) -> String {
    let ran = run_with(arguments, input);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}: {}", ran.stderr);
    ran.stderr
}

#[test]
fn exit_codes() {
    assert_eq!(run(&["base.json", "wider.json"]).code, Some(0));
    assert_eq!(run(&["base.json", "wider.json", "--fail-if", "p99_ttft_ms>+25%"]).code, Some(0));
    let broken = run(&["base.json", "wider.json", "--fail-if", "p99_ttft_ms>+5%", "--fail-if", "failed>0"]);
    assert_eq!(broken.code, Some(1));
    let failures: Vec<_> = broken.stderr.lines().filter(|line| line.contains("FAILED")).collect();
    let expected = "compare: FAILED rule p99_ttft_ms>+5%: 2500.00 → 3050.00 (+22.0%) in wider";
    assert_eq!(failures, [expected]);
    refused(&["base.json", "wider.json", "--no-such-flag"], "");
}

#[test]
fn a_rule_that_cannot_be_checked_does_not_pass() {
    for (files, rule, expected) in [
        (
            ["base.json", "failing.json"],
            "p99_itl_ms>+5%",
            "failing has no p99_itl_ms, so it cannot be checked",
        ),
        (
            ["failing.json", "base.json"],
            "p99_itl_ms>500",
            "failing has no p99_itl_ms, so it cannot be checked",
        ),
        (["base.json", "wider.json"], "request_goodput<1", "base has no request_goodput"),
    ] {
        let message = refused(&[&files[..], &["--fail-if", rule]].concat(), "");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn bad_rules_and_names_are_usage_errors() {
    for (flag, value, expected) in [
        ("--fail-if", "p99_ttft_ms>5%", "such as 'p99_ttft_ms>+5%'"),
        ("--fail-if", "p99_ttft>+5%", "did you mean p99_ttft_ms"),
        ("--metrics", "failed,request_throughputs", "did you mean request_throughput"),
        ("--by", "model", "workload"),
    ] {
        let message = refused(&["base.json", "wider.json", flag, value], "");
        assert!(
            message.contains(value.split(',').next_back().unwrap()) && message.contains(expected),
            "{message}"
        );
    }
}

#[test]
fn rules_reach_metrics_that_are_not_chosen() {
    let arguments = ["base.json", "wider.json", "--metrics", "failed", "--fail-if", "p99_ttft_ms > +5%"];
    assert_eq!(run(&arguments).code, Some(1));
    let rows = comparisons(&arguments);
    assert_eq!(rows.len(), 2);
    assert_eq!(of(&rows, "p99_ttft_ms").failed_rules, ["p99_ttft_ms > +5%"]);
    assert!(of(&rows, "failed").failed_rules.is_empty());
}

#[test]
fn inputs_that_cannot_be_used() {
    for (arguments, input, expected) in [
        (&["base.json"][..], "", "2 values required"),
        (&["base.json", "absent.json"], "", "compare: absent.json: No such file"),
        (&["base.json", "../data"], "", "compare: ../data is a folder"),
        (&["-", "new=-"], "", "compare: standard input (-) can be read only once"),
        (&["base.json", "base.json"], "", "compare: two inputs are called 'base.json'"),
        (&["base.json", "-"], "", "compare: stdin: holds no timing and no summary"),
        (
            &["base.json", "-"],
            "\n\n{\"kind\":\"summary\",\"completed\":\"x\"}\n",
            "compare: stdin:3: invalid type",
        ),
        (&["base.json", "-"], "not json\n", "compare: stdin:1: not a JSON object"),
        (&["base.json", "lab-baseline.jsonl"], "", "give --by workload"),
        (&["base.json", "lab-baseline.jsonl", "--by", "workload"], "", "compare: no workload in common"),
    ] {
        let message = refused(arguments, input);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn a_workload_of_one_side_is_named() {
    let file = include_str!("data/lab-optimized.jsonl");
    let input = file.replace("ShareGPT", "Extra");
    let arguments = ["lab-baseline.jsonl", "new=-", "--by", "workload"];
    let ran = run_with(&arguments, &input);
    assert_eq!(ran.code, Some(0));
    for expected in [
        "workload 'ShareGPT' is in lab-baseline but not in new: it is not compared",
        "workload 'Extra' is in new but not in lab-baseline: it is not compared",
    ] {
        assert!(ran.stderr.contains(expected) && ran.stdout.contains(expected), "{ran:?}");
    }
    let message = refused(&[&arguments[..], &["--fail-if", "failed>0"]].concat(), &input);
    assert!(message.contains("--fail-if failed>0: it cannot be checked everywhere"), "{message}");
}

#[test]
fn timings_are_folded() {
    let rows =
        comparisons(&["timings-base.jsonl", "timings-new.jsonl", "--metrics", "mean_ttft_ms,p90_tpot_ms"]);
    let ttft = of(&rows, "mean_ttft_ms");
    assert_eq!((ttft.baseline, ttft.value, ttft.change_pct), (Some(50.0), Some(60.0), Some(20.0)));
    assert_eq!(of(&rows, "p90_tpot_ms").metric, "p90_tpot_ms");

    let by = ["timings-base.jsonl", "timings-new.jsonl", "--by", "workload", "--metrics", "mean_ttft_ms"];
    let workloads: Vec<_> = comparisons(&by).into_iter().filter_map(|row| row.workload).collect();
    assert_eq!(workloads, ["short", "long"]);
}

#[test]
fn a_bad_timing_is_named_by_its_line() {
    let timings =
        include_str!("data/timings-new.jsonl").replace("\"outcome\":\"ok\"", "\"outcome\":\"fine\"");
    let message = refused(&["timings-base.jsonl", "-"], &timings);
    assert!(message.starts_with("compare: stdin:2: "), "{message}");
}

#[test]
fn a_result_of_vllm_is_an_input() {
    let ran = run(&["base.json", "vllm=vllm-result.json", "--metrics", "total_token_throughput"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("9055.04"), "{}", ran.stdout);
}

/// Starts `compare`, closes its standard output, and only then lets it read the last of its input.
fn with_closed_stdout(arguments: &[&str]) -> Ran {
    let mut child = command(arguments).spawn().unwrap();
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(include_bytes!("data/wider.json")).unwrap();
    finish(child)
}

#[test]
fn a_closed_stdout_is_no_failure_and_hides_none() {
    let quiet = with_closed_stdout(&["base.json", "-", "--metrics", "failed"]);
    assert_eq!(quiet.code, Some(0));
    assert!(quiet.stderr.lines().all(|line| line.starts_with("compare: warning: ")), "{}", quiet.stderr);
    let gated = with_closed_stdout(&["base.json", "-", "--fail-if", "p99_ttft_ms>+5%"]);
    assert_eq!(gated.code, Some(1));
}

#[test]
fn help_ends_in_examples() {
    let help = run(&["--help"]);
    assert_eq!(help.code, Some(0));
    assert!(help.stdout.trim_end().lines().next_back().unwrap().contains("compare"), "{}", help.stdout);
    assert_eq!(run(&["--version"]).stdout, concat!("compare ", env!("CARGO_PKG_VERSION"), "\n"));
}
