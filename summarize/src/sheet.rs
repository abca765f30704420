//! A report as sections of labelled lines, before it is text or a table.

use records::{Client, ClientVerdict, Micros, Summary};

use crate::{Metric, Percentile, Report};

/// Lines under one head.
#[derive(Debug)]
pub(crate) struct Section {
    /// The head.
    pub title: &'static str,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// A label and its value.
#[derive(Debug)]
pub(crate) struct Line {
    /// What it is, as printed.
    pub label: String,
    /// How much of it.
    pub cell: Cell,
}

/// A value.
#[derive(Debug)]
pub(crate) enum Cell {
    /// A count.
    Count(u64),
    /// A figure, printed with two decimals; `None`: n/a.
    Figure(Option<f64>),
    /// A word.
    Word(String),
}

impl Cell {
    /// As printed, with `missing` for what is not there.
    pub(crate) fn show(&self, missing: &str) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Figure(Some(value)) => format!("{value:.2}"),
            Self::Figure(None) => missing.to_owned(),
            Self::Word(word) => word.clone(),
        }
    }
}

/// Which latencies to print, and which percentiles of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice<'a> {
    /// In any order: the report has its own.
    pub metrics: &'a [Metric],
    /// In the order given.
    pub percentiles: &'a [Percentile],
}

/// The lines of vLLM 0.33's block, in its order and with its labels. Where none of the chosen metrics was measured,
/// those that were are shown besides: answers that were not streamed have a latency alone.
pub(crate) fn block(summary: &Summary, choice: Choice<'_>) -> Vec<Section> {
    let mut sections = vec![Section { title: "Serving Benchmark Result", lines: overview(summary) }];
    let measured = |metric: Metric| summary.metrics.get(&metric.key("mean")).copied().flatten().is_some();
    let nothing = !choice.metrics.iter().any(|&metric| measured(metric));
    let shown = |metric: &Metric| choice.metrics.contains(metric) || nothing && measured(*metric);
    for metric in Metric::ALL.into_iter().filter(shown) {
        let line = |name: &str, key: &str| {
            let value = summary.metrics.get(&metric.key(key)).copied().flatten();
            figure(&format!("{name} {} (ms)", metric.label()), value)
        };
        let mut lines = vec![line("Mean", "mean"), line("Median", "median")];
        lines.extend(choice.percentiles.iter().map(|p| line(&format!("P{p}"), &format!("p{p}"))));
        sections.push(Section { title: metric.title(), lines });
    }
    sections
}

fn overview(summary: &Summary) -> Vec<Line> {
    let mut lines =
        vec![count("Successful requests", summary.completed), count("Failed requests", summary.failed)];
    lines.extend(summary.max_concurrency.map(|limit| count("Maximum request concurrency", limit)));
    let rate = summary.request_rate.map(records::Rate::get).filter(|rate| rate.is_finite());
    lines.extend(rate.map(|rate| figure("Request rate configured (RPS)", Some(rate))));
    lines.extend([
        figure("Benchmark duration (s)", summary.duration),
        count("Total input tokens", summary.total_input_tokens),
        count("Total generated tokens", summary.total_output_tokens),
        figure("Request throughput (req/s)", summary.request_throughput),
    ]);
    lines.extend(summary.request_goodput.map(|rate| figure("Request goodput (req/s)", Some(rate))));
    lines.extend([
        figure("Output token throughput (tok/s)", summary.output_throughput),
        figure("Peak output token throughput (tok/s)", summary.max_output_tokens_per_s),
        figure("Peak concurrent requests", summary.max_concurrent_requests),
        figure("Total token throughput (tok/s)", summary.total_token_throughput),
    ]);
    lines
}

/// What vLLM's block does not say. Sections may be empty.
pub(crate) fn supplement(report: &Report) -> Vec<Section> {
    let summary = &report.summary;
    vec![
        Section { title: "Failures", lines: failures(report) },
        Section { title: "Requests", lines: requests(summary) },
        Section { title: "Client", lines: summary.client.as_ref().map(client).unwrap_or_default() },
    ]
}

fn client(client: &Client) -> Vec<Line> {
    let ms = |us: Option<Micros>| us.map(Micros::ms);
    let verdict = match client.verdict {
        ClientVerdict::Ok => "ok",
        ClientVerdict::ClientBound => "client-bound",
    };
    vec![
        Line { label: "Client verdict:".to_owned(), cell: Cell::Word(verdict.to_owned()) },
        figure("P99 send lag (ms)", ms(client.send_lag_p99_us)),
        figure("P99 read lag (ms)", ms(client.read_lag_p99_us)),
        figure("Client CPU (% of one core)", client.cpu_pct),
        figure("Busiest client thread (% of the time)", client.thread_cpu_pct),
        count("Connections opened", client.connections),
    ]
}

fn failures(report: &Report) -> Vec<Line> {
    let mut lines: Vec<Line> = report
        .failures
        .iter()
        .map(|(reason, times)| Line { label: reason.clone(), cell: Cell::Count(*times) })
        .collect();
    let told: u64 = report.failures.iter().map(|(_, times)| times).sum();
    let other = report.summary.failed - told;
    if other > 0 {
        lines.push(count("Other reasons", other));
    }
    lines
}

fn requests(summary: &Summary) -> Vec<Line> {
    let mut lines = vec![
        count("Warm-up requests left out", summary.warmups),
        count("Outputs shorter than asked for", summary.short_outputs),
        count("Outputs with estimated token counts", summary.estimated_tokens),
    ];
    lines.extend(summary.cached_tokens.map(|tokens| count("Input tokens from prefix cache", tokens)));
    lines
}

fn count(label: &str, count: u64) -> Line {
    Line { label: format!("{label}:"), cell: Cell::Count(count) }
}

fn figure(label: &str, value: Option<f64>) -> Line {
    Line { label: format!("{label}:"), cell: Cell::Figure(value) }
}
