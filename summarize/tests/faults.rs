//! Faults that other tools' reports have had, each with the figures that a right report gives.

mod common;

use common::{assert_close, end, failed, lines, row, run, start, summaries, summarize, summary, warmup};
use records::Timing;

fn metric(summary: &records::Summary, key: &str) -> Option<f64> {
    *summary.metrics.get(key).unwrap_or_else(|| panic!("no {key}"))
}

#[test]
fn every_request_failed() {
    let input = lines(&vec![failed(0.0, 0.01); 5]);
    let figures = summary(&input);
    assert_eq!((figures.completed, figures.failed), (0, 5));
    assert_eq!(figures.request_throughput, Some(0.0));
    assert_eq!(figures.output_throughput, Some(0.0));
    assert_eq!(figures.total_token_throughput, Some(0.0));
    assert!(figures.metrics.values().all(Option::is_none));

    let done = summarize(&[], &input);
    assert_eq!(done.code, Some(1));
    assert!(done.stdout.contains("Failed requests:                         5         \n"), "{}", done.stdout);
    assert!(done.stdout.contains("Mean TTFT (ms):                          n/a       \n"), "{}", done.stdout);
    assert!(done.stdout.contains("http 503: no healthy upstream            5         \n"), "{}", done.stdout);
    let rows_without_times = lines(&[Timing { sent_us: None, e2e_us: None, ..failed(0.0, 0.0) }]);
    assert_eq!(summary(&rows_without_times).request_throughput, Some(0.0));
}

#[test]
fn answers_of_one_token_have_no_tpot() {
    let (long, one) = (row(0.0, 0.1, 1.0, 10), row(0.0, 0.2, 0.2, 1));
    assert_close(metric(&summary(&lines(&[long, one.clone()])), "mean_tpot_ms"), 100.0, "mean TPOT");

    let alone = lines(&[one]);
    let figures = summary(&alone);
    for key in ["mean_tpot_ms", "p99_tpot_ms", "mean_itl_ms", "std_itl_ms"] {
        assert_eq!(metric(&figures, key), None, "{key}");
    }
    let text = summarize(&[], &alone).stdout;
    assert!(text.contains("Median TPOT (ms):                        n/a       \n"), "{text}");
    let vllm = summarize(&["--format", "vllm"], &alone).stdout;
    assert!(vllm.contains("Median TPOT (ms):                        0.00      \n"), "{vllm}");
}

#[test]
fn percentiles_interpolate_between_ranks() {
    for (count, step, wanted) in
        [(100_u32, 0.001, [50.5, 90.1, 99.01]), (4, 0.01, [25.0, 37.0, 39.7]), (1, 0.007, [7.0, 7.0, 7.0])]
    {
        let rows: Vec<Timing> = (1..=count).map(|n| row(0.0, step * f64::from(n), 1.0, 2)).collect();
        let all = summaries(&["--metric-percentiles", "50,90,99"], &lines(&rows));
        for (p, wanted) in ["p50", "p90", "p99"].iter().zip(wanted) {
            assert_close(metric(&all[0], &format!("{p}_ttft_ms")), wanted, &format!("{p} of {count}"));
        }
    }
}

#[test]
fn failures_enter_no_statistic() {
    let mut rows: Vec<Timing> = (0..8).map(|_| row(0.0, 0.1, 1.0, 10)).collect();
    rows.extend([failed(0.0, 0.01), failed(0.0, 0.01)]);
    let figures = summary(&run(&start("a", "2026-12-01T00:00:00Z"), &rows, &end("a", 10.0, 10)));
    assert_eq!((figures.completed, figures.failed, figures.num_prompts), (8, 2, 10));
    assert_eq!((figures.total_input_tokens, figures.total_output_tokens), (800, 80));
    assert_eq!((figures.request_throughput, figures.output_throughput), (Some(0.8), Some(8.0)));
    assert_close(metric(&figures, "mean_e2el_ms"), 1000.0, "mean latency");
    assert_eq!(figures.failures.get("http"), Some(&2));
}

#[test]
fn the_peak_rate_is_not_below_the_average() {
    let four_events_of_four_tokens = Timing { output_tokens: Some(16), ..row(0.0, 0.5, 2.0, 4) };
    let figures = summary(&lines(&[four_events_of_four_tokens]));
    assert_eq!((figures.max_output_tokens_per_s, figures.output_throughput), (Some(8.0), Some(8.0)));
}

#[test]
fn prompt_tokens_count_once() {
    let rows = [row(0.0, 0.1, 1.0, 50), row(9.0, 0.1, 1.0, 50)];
    let figures = summary(&lines(&rows));
    assert_eq!((figures.output_throughput, figures.total_token_throughput), (Some(10.0), Some(30.0)));
}

#[test]
fn a_torn_last_line_is_left_out_and_said() {
    let rows = lines(&vec![row(0.0, 0.1, 1.0, 10); 5]);
    let torn = format!("{rows}{}", &rows[..60]);
    let done = summarize(&["--format", "json"], &torn);
    assert_eq!(done.code, Some(0));
    assert_eq!(done.stderr, "summarize: warning: stdin:6: the last line is torn and was left out\n");
    assert_eq!(summary(&torn).completed, 5);
    assert!(summary(&torn).warnings.contains(&"stdin:6: the last line is torn and was left out".to_owned()));
}

#[test]
fn a_broken_line_elsewhere_stops_it() {
    let line = lines(&[row(0.0, 0.1, 1.0, 10)]);
    let broken = summarize(&[], &format!("{line}{}\n{line}", &line[..60]));
    assert_eq!((broken.code, broken.stdout.as_str()), (Some(2), ""));
    assert!(broken.stderr.starts_with("summarize: stdin:2: not JSON: "), "{}", broken.stderr);
    let glued = summarize(&[], &format!("{}{line}", line.trim_end()));
    assert_eq!(glued.code, Some(2));
    assert!(glued.stderr.contains("put each object on a line of its own"), "{}", glued.stderr);
}

#[test]
fn warmups_are_in_no_figure_and_no_duration() {
    let mut rows = vec![warmup(row(0.0, 1.0, 5.0, 10)), warmup(row(5.0, 1.0, 5.0, 10))];
    rows.extend((0..10).map(|n| row(10.0 + f64::from(n), 0.1, 1.0, 10)));
    let whole = run(&start("a", "2026-12-01T00:00:00Z"), &rows, &end("a", 20.0, 10));
    for input in [lines(&rows), whole] {
        let figures = summary(&input);
        assert_eq!((figures.completed, figures.warmups), (10, 2));
        assert_eq!((figures.duration, figures.output_throughput), (Some(10.0), Some(10.0)));
        assert_close(metric(&figures, "mean_e2el_ms"), 1000.0, "mean latency");
    }
    let only_warmups = summarize(&[], &lines(&rows[..2]));
    assert_eq!(only_warmups.code, Some(1), "no measured request succeeded");
}

#[test]
fn one_row_has_a_duration() {
    let figures = summary(&lines(&[row(5.0, 0.5, 2.0, 10)]));
    assert_eq!(figures.duration, Some(2.0));
    assert_eq!((figures.request_throughput, figures.output_throughput), (Some(0.5), Some(5.0)));
}

#[test]
fn no_duration_no_rates() {
    let input = lines(&[row(5.0, 0.0, 0.0, 1)]);
    let figures = summary(&input);
    assert_eq!(figures.duration, Some(0.0));
    let rates = [figures.request_throughput, figures.output_throughput, figures.total_token_throughput];
    assert_eq!(rates, [None; 3]);
    let text = summarize(&[], &input).stdout;
    assert!(text.contains("Request throughput (req/s):              n/a       \n"), "{text}");
    assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
}

#[test]
fn tpot_is_vllms() {
    let figures = summary(&lines(&[row(0.0, 1.0, 1.9, 10)]));
    assert_close(metric(&figures, "mean_tpot_ms"), 100.0, "TPOT");
    assert_close(metric(&figures, "mean_itl_ms"), 100.0, "ITL");
}

#[test]
fn rows_without_events_have_no_itl() {
    let bare = Timing { events_us: Vec::new(), events: String::new(), ..row(0.0, 0.1, 1.0, 10) };
    let figures = summary(&lines(&[bare]));
    assert_close(metric(&figures, "mean_tpot_ms"), 100.0, "TPOT");
    assert_eq!((metric(&figures, "mean_itl_ms"), figures.max_output_tokens_per_s), (None, None));
    assert!(figures.warnings.iter().any(|warning| warning.starts_with("no peak output rate")));
}

#[test]
fn a_row_without_counts_is_said() {
    let input = lines(&[Timing { output_tokens: None, ..row(0.0, 0.1, 1.0, 10) }, row(0.0, 0.1, 1.0, 10)]);
    assert_eq!(summary(&input).total_output_tokens, 10);
    let done = summarize(&["--format", "vllm"], &input);
    assert_eq!(done.stderr, "summarize: warning: successful requests without a token count, taken as 0: 1\n");
}

#[test]
fn a_percentile_beyond_the_data_is_said() {
    let beyond = |count| {
        let rows = vec![row(0.0, 0.1, 1.0, 10); count];
        summary(&lines(&rows)).warnings
    };
    assert_eq!(beyond(99), ["p99 needs at least 100 requests; from 99 it is close to the maximum"]);
    assert!(beyond(100).is_empty());
}

#[test]
fn a_row_without_its_time_of_sending_has_no_place() {
    let unsent = Timing { sent_us: None, ..row(0.0, 0.1, 1.0, 10) };
    let figures = summary(&lines(&[unsent, row(1.0, 0.1, 1.0, 10)]));
    assert_eq!((figures.completed, figures.duration), (2, Some(1.0)));
    assert_eq!(figures.max_concurrent_requests, Some(1.0));
}
