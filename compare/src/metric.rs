//! The metrics: what each is called, where it is read and which way is better.

use std::{cmp::Ordering, str::FromStr};

use records::{Better, Summary};
use summarize::Percentile;

/// A figure of a summary.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Metric {
    /// Its key in [`Summary`], or `failed_pct`.
    pub(crate) key: String,
    /// What people call it.
    pub(crate) name: String,
    /// What it is counted in; empty for counts.
    pub(crate) unit: &'static str,
    better: Better,
    source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    /// A row of [`SCALARS`].
    Scalar(usize),
    /// An entry of [`Summary::metrics`].
    Distribution(Statistic),
}

/// A figure that a summary holds once.
struct Scalar {
    key: &'static str,
    name: &'static str,
    unit: &'static str,
    better: Better,
    /// Whether it is shown unasked.
    main: bool,
    read: fn(&Summary) -> Option<f64>,
}

const fn row(
    key: &'static str,
    name: &'static str,
    (unit, better): (&'static str, Better),
    main: bool,
    read: fn(&Summary) -> Option<f64>,
) -> Scalar {
    Scalar { key, name, unit, better, main, read }
}

const DURATION: &str = "duration";
const FEWER: (&str, Better) = ("", Better::Lower);
const COUNT: (&str, Better) = ("", Better::Neither);
const REQUESTS: (&str, Better) = ("req/s", Better::Higher);
const TOKENS: (&str, Better) = ("tok/s", Better::Higher);

/// Failures first: nothing else means much where requests fail.
#[rustfmt::skip]
const SCALARS: &[Scalar] = &[
    row("failed_pct", "Failed share", ("%", Better::Lower), true, failed_pct),
    row("failed", "Failed requests", FEWER, true, |s| Some(s.failed as f64)),
    row("request_throughput", "Request throughput", REQUESTS, true, |s| s.request_throughput),
    row("request_goodput", "Request goodput", REQUESTS, true, |s| s.request_goodput),
    row("output_throughput", "Output token throughput", TOKENS, true, |s| s.output_throughput),
    row("total_token_throughput", "Total token throughput", TOKENS, true, |s| s.total_token_throughput),
    row("max_output_tokens_per_s", "Peak output token throughput", TOKENS, false, |s| s.max_output_tokens_per_s),
    row(DURATION, "Duration", ("s", Better::Lower), false, |s| s.duration),
    row("num_prompts", "Requests", COUNT, false, |s| Some(s.num_prompts as f64)),
    row("completed", "Successful requests", COUNT, false, |s| Some(s.completed as f64)),
    row("total_input_tokens", "Total input tokens", COUNT, false, |s| Some(s.total_input_tokens as f64)),
    row("total_output_tokens", "Total generated tokens", COUNT, false, |s| Some(s.total_output_tokens as f64)),
    row("cached_tokens", "Cached prompt tokens", COUNT, false, |s| s.cached_tokens.map(|n| n as f64)),
    row("estimated_tokens", "Requests with estimated tokens", COUNT, false, |s| Some(s.estimated_tokens as f64)),
    row("short_outputs", "Requests with short outputs", COUNT, false, |s| Some(s.short_outputs as f64)),
    row("max_concurrent_requests", "Peak concurrent requests", COUNT, false, |s| s.max_concurrent_requests),
];

/// Latencies, in milliseconds: their key's end and their name.
const DISTRIBUTIONS: [(&str, &str); 4] =
    [("ttft_ms", "TTFT"), ("tpot_ms", "TPOT"), ("itl_ms", "ITL"), ("e2el_ms", "E2EL")];

/// What a summary says about a distribution.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Statistic {
    Mean,
    Median,
    Std,
    Percentile(Percentile),
}

const MAIN: [Statistic; 3] = [Statistic::Mean, Statistic::Median, Statistic::Percentile(Percentile::P99)];

impl Statistic {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "mean" => Some(Self::Mean),
            "median" => Some(Self::Median),
            "std" => Some(Self::Std),
            _ => text.strip_prefix('p')?.parse().ok().map(Self::Percentile),
        }
    }

    /// As the key begins, and as people write it.
    fn names(self) -> (String, String) {
        match self {
            Self::Mean => ("mean".into(), "Mean".into()),
            Self::Median => ("median".into(), "Median".into()),
            Self::Std => ("std".into(), "Std".into()),
            Self::Percentile(p) => (format!("p{p}"), format!("P{p}")),
        }
    }
}

/// Failed requests in percent of those measured.
pub(crate) fn failed_pct(summary: &Summary) -> Option<f64> {
    let all = summary.completed + summary.failed;
    (all > 0).then(|| 100.0 * summary.failed as f64 / all as f64)
}

impl Metric {
    fn scalar(index: usize) -> Self {
        let Scalar { key, name, unit, better, .. } = SCALARS[index];
        Self { key: key.into(), name: name.into(), unit, better, source: Source::Scalar(index) }
    }

    fn distribution(statistic: Statistic, (key, name): (&str, &str)) -> Self {
        let (prefix, title) = statistic.names();
        Self {
            key: format!("{prefix}_{key}"),
            name: format!("{title} {name}"),
            unit: "ms",
            better: Better::Lower,
            source: Source::Distribution(statistic),
        }
    }

    /// Its value in `summary`; `None` where it was not measured.
    pub(crate) fn value(&self, summary: &Summary) -> Option<f64> {
        let value = match self.source {
            Source::Scalar(index) => (SCALARS[index].read)(summary),
            Source::Distribution(_) => summary.metrics.get(&self.key).copied().flatten(),
        };
        value.filter(|value| value.is_finite())
    }

    /// Which way is better between these two: a duration says something only about the same number of answers.
    pub(crate) fn better(&self, baseline: &Summary, candidate: &Summary) -> Better {
        let other_work = baseline.completed != candidate.completed;
        if self.key == DURATION && other_work { Better::Neither } else { self.better }
    }

    /// The percentile it is, if it is one.
    pub(crate) fn percentile(&self) -> Option<Percentile> {
        match self.source {
            Source::Distribution(Statistic::Percentile(percentile)) => Some(percentile),
            _ => None,
        }
    }
}

impl FromStr for Metric {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(index) = SCALARS.iter().position(|scalar| scalar.key == text) {
            return Ok(Self::scalar(index));
        }
        text.split_once('_')
            .and_then(|(prefix, end)| {
                let distribution = DISTRIBUTIONS.into_iter().find(|(key, _)| *key == end)?;
                Some(Self::distribution(Statistic::parse(prefix)?, distribution))
            })
            .ok_or_else(|| format!("no metric is called '{text}'; did you mean {}?", near(text).join(", ")))
    }
}

/// Which metrics to show.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Selection {
    /// Those that matter most.
    Main,
    /// Whatever either side holds.
    All,
    /// Those asked for, measured or not.
    Named(Vec<Metric>),
}

impl Selection {
    /// The metrics to show for `summaries`. All but named ones must be there on one side at least.
    pub(crate) fn metrics(&self, summaries: &[&Summary]) -> Vec<Metric> {
        let (head, tail): (Vec<_>, Vec<_>) = (0..SCALARS.len()).partition(|index| SCALARS[*index].main);
        let candidates: Vec<Metric> = match self {
            Self::Named(metrics) => return metrics.clone(),
            Self::Main => head.into_iter().map(Metric::scalar).chain(distributions(&MAIN)).collect(),
            Self::All => {
                let statistics = statistics(summaries);
                let head = head.into_iter().map(Metric::scalar);
                head.chain(distributions(&statistics)).chain(tail.into_iter().map(Metric::scalar)).collect()
            }
        };
        let present = |metric: &Metric| summaries.iter().any(|summary| metric.value(summary).is_some());
        candidates.into_iter().filter(present).collect()
    }
}

fn distributions(statistics: &[Statistic]) -> impl Iterator<Item = Metric> {
    DISTRIBUTIONS.into_iter().flat_map(|distribution| {
        statistics.iter().map(move |statistic| Metric::distribution(*statistic, distribution))
    })
}

/// Those that occur, percentiles from low to high.
fn statistics(summaries: &[&Summary]) -> Vec<Statistic> {
    let keys = summaries.iter().flat_map(|summary| summary.metrics.keys());
    let mut found: Vec<_> = keys.filter_map(|key| Statistic::parse(key.split_once('_')?.0)).collect();
    found.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    found.dedup();
    found
}

/// The names most like `text`, nearest first.
fn near(text: &str) -> Vec<String> {
    let scalars = (0..SCALARS.len()).map(Metric::scalar);
    let mut names: Vec<_> = scalars.chain(distributions(&MAIN)).map(|metric| metric.key).collect();
    let holds = |name: &String| !text.is_empty() && name.contains(text);
    names.sort_by_cached_key(|name| if holds(name) { 0 } else { distance(text, name) });
    names.truncate(3);
    names
}

/// Levenshtein's edit distance.
fn distance(a: &str, b: &str) -> usize {
    let mut costs: Vec<usize> = (0..=b.len()).collect();
    for (row, left) in a.bytes().enumerate() {
        let mut diagonal = row;
        costs[0] = row + 1;
        for (column, right) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = costs[column + 1];
            costs[column + 1] = replaced.min(diagonal + 1).min(costs[column] + 1);
        }
    }
    costs[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Result<String, String> {
        text.parse::<Metric>().map(|metric| metric.key)
    }

    #[test]
    fn names_are_the_summarys_keys() {
        for name in ["failed", "failed_pct", "mean_ttft_ms", "p99.9_e2el_ms", "max_output_tokens_per_s"] {
            assert_eq!(key(name).unwrap(), name);
        }
        assert_eq!(key("p99.0_itl_ms").unwrap(), "p99_itl_ms");
        for name in ["p101_ttft_ms", "mean_ttft", "ttft_ms", "", "failures"] {
            assert!(key(name).is_err(), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_gets_its_neighbours() {
        for (name, neighbour) in [
            ("request_throughputs", "request_throughput"),
            ("mean_tftt_ms", "mean_ttft_ms"),
            ("itl", "mean_itl_ms"),
            ("total_throughput", "total_token_throughput"),
        ] {
            assert!(key(name).unwrap_err().contains(neighbour), "{:?}", key(name));
        }
    }

    #[test]
    fn all_orders_percentiles_by_number() {
        let keys = ["p99_itl_ms", "p99.9_itl_ms", "p5_itl_ms", "mean_itl_ms"];
        let metrics = keys.iter().map(|key| ((*key).to_owned(), Some(1.0))).collect();
        let summary = Summary { metrics, ..Summary::default() };
        let shown = Selection::All.metrics(&[&summary]);
        let shown: Vec<_> =
            shown.iter().map(|metric| metric.key.as_str()).filter(|key| key.ends_with("itl_ms")).collect();
        assert_eq!(shown, ["mean_itl_ms", "p5_itl_ms", "p99_itl_ms", "p99.9_itl_ms"]);
    }
}
