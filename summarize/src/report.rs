//! The figures of one group of requests.

use indexmap::IndexMap;
use records::{RunStart, Summary};

use crate::{
    Metric, Options,
    clock::Clock,
    distribution::Distribution,
    peaks::{Peaks, Placed},
    runs::{Run, worst},
    sample::{Request, Sample},
};

/// A summary, and what the printed report says besides.
#[derive(Debug)]
pub(crate) struct Report {
    /// The figures.
    pub summary: Summary,
    /// The most frequent reasons of failure.
    pub failures: Vec<(String, u64)>,
}

/// The requests of one run within a group.
pub(crate) struct Part<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its name.
    pub name: String,
    /// Its requests that belong to the group.
    pub sample: Sample,
}

/// How many reasons of failure the printed report gives.
const TOP_FAILURES: usize = 5;

impl Report {
    /// Works out the figures of a group.
    pub(crate) fn new(
        workload: Option<String>,
        parts: Vec<Part<'_>>,
        warnings: &[String],
        options: &Options,
    ) -> Self {
        let runs: Vec<&Run> = parts.iter().map(|part| part.run).collect();
        let names: Vec<String> =
            parts.iter().map(|part| part.name.clone()).filter(|name| !name.is_empty()).collect();
        let clock = Clock::lay(&runs);
        let peaks = Peaks::of(&placed(&parts, &clock), options.peak);
        let mut sample = Sample::default();
        for part in parts {
            sample.merge(part.sample);
        }
        let mut summary = Summary { runs: names, workload, ..settings(&runs) };
        count(&mut summary, &sample);
        rate(&mut summary, &sample.requests, clock.duration, options);
        summary.max_output_tokens_per_s = peaks.output;
        summary.max_concurrent_requests = peaks.concurrency;
        summary.warnings = warnings.to_vec();
        summary.warnings.extend(cautions(&summary, options));
        let failures = sample.failures.top(TOP_FAILURES);
        summary.metrics = metrics(sample, options);
        Self { summary, failures }
    }
}

fn placed<'a>(parts: &'a [Part<'_>], clock: &Clock) -> Vec<Placed<'a>> {
    let parts = parts.iter().zip(&clock.offsets);
    parts
        .map(|(part, &offset)| Placed { offset, requests: &part.sample.requests, gaps: &part.sample.gaps })
        .collect()
}

/// What was asked of all runs alike, and how their clients fared.
fn settings(runs: &[&Run]) -> Summary {
    let first = runs.iter().filter_map(|run| run.anchor().zip(run.start())).min_by_key(|(anchor, _)| *anchor);
    Summary {
        started_at: first.map(|(_, start)| start.started_at.clone()),
        backend: common(runs, |start| text(&start.backend)),
        like: common(runs, |start| start.like.clone()),
        base_url: common(runs, |start| text(&start.base_url)),
        endpoint: common(runs, |start| text(&start.endpoint)),
        body: common(runs, |start| Some(start.body.clone())),
        model_id: common(runs, |start| text(&start.model)),
        request_rate: common(runs, |start| start.request_rate),
        burstiness: common(runs, |start| start.burstiness),
        ramp_up_strategy: common(runs, |start| start.ramp_up_strategy.clone()),
        ramp_up_start_rps: common(runs, |start| start.ramp_up_start_rps),
        ramp_up_end_rps: common(runs, |start| start.ramp_up_end_rps),
        max_concurrency: common(runs, |start| start.max_concurrency),
        labels: shared_labels(runs),
        dataset_sha256: same(runs.iter().map(|run| run.end().and_then(|end| end.dataset_sha256.clone()))),
        client: runs.iter().filter_map(|run| run.end()?.client.clone()).reduce(worst),
        ..Summary::default()
    }
}

fn common<T: PartialEq>(runs: &[&Run], field: impl Fn(&RunStart) -> Option<T>) -> Option<T> {
    same(runs.iter().map(|run| run.start().and_then(&field)))
}

/// The value that all agree on.
fn same<T: PartialEq>(mut values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = values.next()??;
    values.all(|value| value.as_ref() == Some(&first)).then_some(first)
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn shared_labels(runs: &[&Run]) -> records::Labels {
    let of = |run: &Run| run.start().map(|start| start.labels.clone()).unwrap_or_default();
    let mut labels = runs.first().map(|run| of(run)).unwrap_or_default();
    for run in runs {
        let other = of(run);
        labels.retain(|key, value| other.get(key) == Some(value));
    }
    labels
}

fn count(summary: &mut Summary, sample: &Sample) {
    summary.completed = sample.requests.len() as u64;
    summary.failed = sample.failures.count();
    summary.num_prompts = summary.completed + summary.failed;
    summary.total_input_tokens = sample.totals.input;
    summary.total_output_tokens = sample.totals.output;
    summary.failures = sample.failures.by_outcome();
    summary.estimated_tokens = sample.totals.estimated;
    summary.short_outputs = sample.totals.short;
    summary.cached_tokens = sample.totals.cached;
    summary.warmups = sample.warmups;
}

/// Counts over the duration. Where all failed that is 0 however long it took; else a rate needs a duration above 0.
fn rate(summary: &mut Summary, requests: &[Request], duration: Option<f64>, options: &Options) {
    let all_failed = summary.completed == 0 && summary.failed > 0;
    let per_second = |count: u64| match duration {
        _ if all_failed => Some(0.0),
        Some(secs) if secs > 0.0 => Some(count as f64 / secs),
        _ => None,
    };
    let (input, output) = (summary.total_input_tokens, summary.total_output_tokens);
    summary.duration = duration;
    summary.request_throughput = per_second(summary.completed);
    summary.output_throughput = per_second(output);
    summary.total_token_throughput = per_second(input.saturating_add(output));
    summary.request_goodput = options.goodput.and_then(|goodput| {
        // vLLM counts the TPOT of an answer of one token as 0.
        let tpot = |request: &Request| if request.tokens <= 1 { Some(0.0) } else { request.tpot() };
        let good = requests.iter().filter(|r| goodput.met(r.ttft, tpot(r), r.e2el)).count();
        per_second(good as u64)
    });
}

/// Warnings about figures that the data cannot carry.
fn cautions(summary: &Summary, options: &Options) -> Vec<String> {
    let mut cautions = Vec::new();
    if summary.completed > 0 && summary.max_output_tokens_per_s.is_none() {
        cautions.push("no peak output rate: some rows do not say when their tokens came".to_owned());
    }
    for percentile in &options.percentiles {
        let needed = percentile.values_needed().unwrap_or(0);
        if summary.completed > 0 && summary.completed < needed {
            cautions.push(format!(
                "p{percentile} needs at least {needed} requests; from {} it is close to the maximum",
                summary.completed
            ));
        }
    }
    cautions
}

/// Keys and units of vLLM's result files: seconds times 1000.
fn metrics(sample: Sample, options: &Options) -> IndexMap<String, Option<f64>> {
    let each = |value: fn(&Request) -> Option<f64>| sample.requests.iter().filter_map(value).collect();
    let values = [each(|r| r.ttft), each(Request::tpot), sample.gaps, each(|r| r.e2el)];
    let mut metrics = IndexMap::new();
    for (metric, values) in Metric::ALL.into_iter().zip(values) {
        let values = Distribution::new(values);
        let mut put = |figure: &str, secs: Option<f64>| {
            metrics.insert(metric.key(figure), secs.map(|secs| secs * 1000.0));
        };
        put("mean", values.mean());
        put("median", values.median());
        put("std", values.std());
        for percentile in &options.percentiles {
            put(&format!("p{percentile}"), values.percentile(*percentile));
        }
    }
    metrics
}
