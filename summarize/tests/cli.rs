//! Files, runs, exit codes and messages.

mod common;

use std::fs;

use common::{
    end, failed, lines, row, run, start, summaries, summarize, summarize_into_closed_pipe, summary, us,
};
use records::{Prompt, Record, StoppedBy, Summary, Timing};

const T0: &str = "2026-12-01T00:00:00Z";
const T4: &str = "2026-12-01T00:00:04Z";

/// A request in each of ten seconds.
fn rows() -> Vec<Timing> {
    (0..10).map(|n| Timing { id: n.to_string(), ..row(f64::from(n), 0.1, 0.9, 10) }).collect()
}

fn whole(name: &str, started_at: &str) -> String {
    run(&start(name, started_at), &rows(), &end(name, 10.0, 10))
}

#[test]
fn shards_overlap_and_repeats_add_up() {
    let shards = summary(&(whole("a", T0) + &whole("b", T4)));
    assert_eq!((shards.duration, shards.completed), (Some(14.0), 20));
    assert_eq!(shards.runs, ["a", "b"]);
    assert_eq!(shards.max_output_tokens_per_s, Some(20.0));
    let repeats = summary(&(whole("a", T0) + &whole("b", "2026-12-01T02:00:00+01:00")));
    assert_eq!((repeats.duration, repeats.max_output_tokens_per_s), (Some(20.0), Some(10.0)));
    assert_eq!(repeats.started_at.as_deref(), Some(T0));
}

#[test]
fn files_and_standard_input_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.jsonl");
    fs::write(&file, whole("a", T0)).unwrap();
    let merged = summaries(&[file.to_str().unwrap(), "-"], &whole("b", T4));
    assert_eq!(merged[0].runs, ["a", "b"]);
    let twice = summarize(&[file.to_str().unwrap(), file.to_str().unwrap()], "");
    assert_eq!(twice.code, Some(0));
    assert!(
        twice.stderr.contains("rows with the run, id and phase of an earlier row: 10;"),
        "{}",
        twice.stderr
    );
}

#[test]
fn settings_are_those_that_all_runs_share() {
    let mut a = start("a", T0);
    a.model = "m".to_owned();
    a.max_concurrency = Some(8);
    a.labels.extend([("gpu".to_owned(), "h200".to_owned()), ("engine".to_owned(), "x".to_owned())]);
    let mut b = a.clone();
    b.run = "b".to_owned();
    b.max_concurrency = Some(16);
    b.labels.insert("engine".to_owned(), "y".to_owned());
    let input = run(&a, &rows(), &end("a", 10.0, 10)) + &run(&b, &rows(), &end("b", 10.0, 10));
    let merged = summary(&input);
    assert_eq!((merged.model_id.as_deref(), merged.max_concurrency), (Some("m"), None));
    assert_eq!(merged.labels.into_iter().collect::<Vec<_>>(), [("gpu".to_owned(), "h200".to_owned())]);
}

#[test]
fn each_workload_has_its_summary_over_the_whole_run() {
    let labelled: Vec<Timing> = rows()
        .into_iter()
        .enumerate()
        .map(|(n, row)| Timing { workload: (n < 4).then(|| "short".to_owned()), ..row })
        .collect();
    let all = summaries(&["--by", "workload"], &run(&start("a", T0), &labelled, &end("a", 10.0, 10)));
    let shown: Vec<_> =
        all.iter().map(|s| (s.workload.as_deref(), s.completed, s.request_throughput)).collect();
    assert_eq!(shown, [(Some("short"), 4, Some(0.4)), (None, 6, Some(0.6))]);
    let refused = summarize(&["--by", "workload", "--format", "vllm"], "");
    assert_eq!(refused.code, Some(2));
}

#[test]
fn a_run_that_was_cut_off_is_reported_and_is_a_no() {
    let input = whole("a", T0);
    let cut: String = input.split_inclusive('\n').take(6).collect();
    let done = summarize(&["--format", "json"], &cut);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("warning: run a was cut off"), "{}", done.stderr);
    let figures = Summary::from_line(done.stdout.trim_end()).unwrap();
    assert_eq!((figures.completed, figures.duration), (5, Some(4.9)));
    assert!(figures.warnings[0].starts_with("run a was cut off"));
}

#[test]
fn rows_missing_from_a_finished_run_and_interruptions_are_said() {
    let without_a_row: String =
        whole("a", T0).split_inclusive('\n').filter(|line| !line.contains(r#""id":"3""#)).collect();
    assert!(summary(&without_a_row).warnings[0].starts_with("run a sent 10 requests, but only 9 rows"));
    let mut stopped = end("a", 10.0, 10);
    (stopped.stopped_by, stopped.unsent) = (StoppedBy::Signal, 7);
    let input = run(&start("a", T0), &rows(), &stopped);
    assert_eq!(summary(&input).warnings[0], "run a was interrupted, with 7 rows read but unsent");
}

#[test]
fn input_of_other_kinds() {
    let prompt = Prompt { id: Some("1".to_owned()), ..Prompt::default() }.to_line() + "\n";
    let report = Summary::default().to_line() + "\n";
    for (input, message) in [
        (
            prompt.as_str(),
            "summarize: stdin:1: this is a prompt, not a timing; pipe it through fire-requests first\n",
        ),
        (
            &report,
            "summarize: stdin:1: this is a summary, a finished report; give the timing rows it was made from\n",
        ),
        ("", "summarize: stdin: no timing rows, nothing to summarize; give the output of fire-requests\n"),
        ("{\"a\":1}\n", "summarize: stdin:1: no field `kind`; this is not a record of these tools\n"),
        (
            "{\"kind\":\"run_start\",\"run\":\"a\",\"started_at\":\"now\"}\n",
            "summarize: stdin:1: `started_at` is not an RFC 3339 instant: 'now'\n",
        ),
    ] {
        let done = summarize(&[], input);
        assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (Some(2), "", message));
    }
    let sidecar = "{\"kind\":\"gpu\",\"v\":1}\n".repeat(3) + &lines(&rows());
    let done = summarize(&["--format", "vllm"], &sidecar);
    assert_eq!(done.stderr, "summarize: warning: records of unknown kinds were passed over: gpu\n");
    assert_eq!(done.code, Some(0));
}

#[test]
fn arguments_are_refused_with_a_reason() {
    for (args, message) in [
        (&["no-such-file.jsonl"][..], "summarize: no-such-file.jsonl: "),
        (&["."], "summarize: . is a folder"),
        (&["--goodput", "ttft:200", "run.jsonl"], "name files before --goodput"),
        (&["--metric-percentiles", "101"], "a number from 0 to 100"),
        (&["--percentile-metrics", "ttfb"], "possible values: ttft, tpot, itl, e2el"),
        (&["--colour"], "unexpected argument"),
    ] {
        let done = summarize(args, "");
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(done.stderr.contains(message), "{args:?}: {}", done.stderr);
    }
}

#[test]
fn goodput_counts_requests_within_every_limit() {
    let input =
        lines(&[row(0.0, 0.1, 1.0, 10), row(1.0, 0.3, 1.0, 10), row(2.0, 0.1, 2.0, 10), failed(0.0, 0.1)]);
    let goodput = |args: &[&str]| summaries(args, &input)[0].request_goodput;
    assert_eq!(goodput(&[]), None);
    assert_eq!(goodput(&["--goodput", "ttft:200", "e2el:1500"]), Some(0.25));
    assert_eq!(goodput(&["--goodput", "ttft:200", "--goodput", "tpot:500"]), Some(0.5));
}

#[test]
fn a_closed_pipe_is_success_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.jsonl");
    fs::write(&file, whole("a", T0)).unwrap();
    let done = summarize_into_closed_pipe(file.to_str().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
}

#[test]
fn help_ends_with_examples() {
    let done = summarize(&["--help"], "");
    assert_eq!(done.code, Some(0));
    assert!(done.stdout.contains("summarize run-*.jsonl --by workload"), "{}", done.stdout);
    assert!(summarize(&["--version"], "").stdout.starts_with("summarize "));
}

/// Answers that were not streamed have a latency, and tokens, and nothing in between.
#[test]
fn whole_answers_have_a_latency_and_no_first_token() {
    let answer = |at: f64, latency: f64| Timing {
        ttft_us: None,
        e2e_us: us(latency),
        events_us: us(latency).into_iter().collect(),
        events: "w".to_owned(),
        ..row(at, 0.0, latency, 8)
    };
    let input = run(&start("a", T0), &[answer(0.0, 1.0), answer(1.0, 3.0)], &end("a", 4.0, 2));
    let summary = summary(&input);
    assert_eq!((summary.completed, summary.output_throughput), (2, Some(4.0)));
    assert_eq!(summary.metrics["mean_e2el_ms"], Some(2000.0));
    for metric in ["mean_ttft_ms", "mean_tpot_ms", "mean_itl_ms"] {
        assert_eq!(summary.metrics[metric], None, "{metric}");
    }
    let text = summarize(&[], &input).stdout;
    assert!(text.contains("Mean TTFT (ms):                          n/a"), "{text}");
    assert!(text.contains("Mean E2EL (ms):                          2000.00"), "{text}");
}
