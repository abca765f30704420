//! What makes two runs unlike, so that their difference is not the server's alone.

use records::Summary;

use crate::{change::Change, metric, number, pair::Labelled};

type Setting = (&'static str, fn(&Summary) -> Option<String>);
type Amount = (&'static str, fn(&Summary) -> u64);

/// What a fair comparison must find equal.
const SETTINGS: [Setting; 11] = [
    ("model_id", |s| s.model_id.clone()),
    ("like", |s| Some(s.like.clone().unwrap_or_else(|| "none".into()))),
    ("backend", |s| s.backend.clone()),
    ("endpoint", |s| s.endpoint.clone()),
    ("body", |s| s.body.clone().map(|body| serde_json::Value::Object(body).to_string())),
    ("max_concurrency", |s| Some(s.max_concurrency.map_or_else(|| "none".into(), |limit| limit.to_string()))),
    ("request_rate", |s| s.request_rate.map(|rate| rate.to_string())),
    ("burstiness", |s| s.burstiness.map(|burstiness| burstiness.to_string())),
    ("ramp_up", |s| Some(ramp(s).unwrap_or_else(|| "none".into()))),
    ("num_prompts", |s| (s.num_prompts > 0).then(|| s.num_prompts.to_string())),
    ("dataset_sha256", |s| s.dataset_sha256.clone()),
];

/// Amounts of work, which vary a little from run to run.
const AMOUNTS: [Amount; 2] =
    [("total_input_tokens", |s| s.total_input_tokens), ("total_output_tokens", |s| s.total_output_tokens)];

/// How far amounts may be apart, as a share of the larger.
const TOLERANCE: f64 = 0.01;

/// Everything about the pair that a reader must know before believing its figures.
pub(crate) fn warnings(baseline: Labelled<'_>, candidate: Labelled<'_>) -> Vec<String> {
    let mut warnings: Vec<_> = failures(baseline, candidate).into_iter().collect();
    let mut unstated = Vec::new();
    for (name, read) in SETTINGS {
        match (read(baseline.summary), read(candidate.summary)) {
            (Some(old), Some(new)) if old != new => {
                warnings.push(format!("{name} differs: {} {old}, {} {new}", baseline.label, candidate.label));
            }
            (Some(_), None) | (None, Some(_)) => unstated.push(name),
            _ => {}
        }
    }
    if !unstated.is_empty() {
        let (old, new) = (baseline.label, candidate.label);
        warnings.push(format!("only one of {old} and {new} states {}: not compared", unstated.join(", ")));
    }
    warnings.extend(AMOUNTS.into_iter().filter_map(|it| amount(it, baseline, candidate)));
    warnings
}

fn ramp(summary: &Summary) -> Option<String> {
    let (start, end) = (summary.ramp_up_start_rps?, summary.ramp_up_end_rps?);
    Some(format!("{} from {start} to {end}", summary.ramp_up_strategy.as_ref()?))
}

/// Failing requests are quick, and those that survive had the server to themselves.
fn failures(baseline: Labelled<'_>, candidate: Labelled<'_>) -> Option<String> {
    let old = metric::failed_pct(baseline.summary)?;
    let new = metric::failed_pct(candidate.summary)?;
    (new > old).then(|| {
        format!(
            "{} fails more requests than {} ({}% against {}%): its other figures are those of the requests that \
             survived, so it is no improvement",
            candidate.label,
            baseline.label,
            number::value(new, "%"),
            number::value(old, "%")
        )
    })
}

fn amount((name, read): Amount, baseline: Labelled<'_>, candidate: Labelled<'_>) -> Option<String> {
    let (old, new) = (read(baseline.summary), read(candidate.summary));
    let apart = old.abs_diff(new) as f64 > TOLERANCE * old.max(new) as f64;
    apart.then(|| {
        let percent = Change::new(old as f64, new as f64).percent;
        let change = percent.map(|percent| format!(" ({})", number::percent(percent))).unwrap_or_default();
        format!("{name} differs: {} {old}, {} {new}{change}", baseline.label, candidate.label)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(old: &Summary, new: &Summary) -> Vec<String> {
        warnings(Labelled { label: "base", summary: old }, Labelled { label: "new", summary: new })
    }

    #[test]
    fn each_difference_is_named() {
        let base = Summary {
            model_id: Some("a".into()),
            backend: Some("openai".into()),
            endpoint: Some("/v1/completions".into()),
            body: Some(serde_json::Map::from_iter([("ignore_eos".to_owned(), true.into())])),
            max_concurrency: Some(8),
            request_rate: "4".parse().ok(),
            burstiness: "1".parse().ok(),
            num_prompts: 100,
            dataset_sha256: Some("00".into()),
            completed: 100,
            total_input_tokens: 800,
            total_output_tokens: 1000,
            ..Summary::default()
        };
        let new = Summary {
            model_id: Some("b".into()),
            backend: Some("openai-chat".into()),
            endpoint: Some("/v1/chat/completions".into()),
            body: Some(serde_json::Map::new()),
            max_concurrency: None,
            request_rate: "inf".parse().ok(),
            burstiness: "2".parse().ok(),
            like: Some("vllm-0.33".into()),
            ramp_up_strategy: Some("linear".into()),
            ramp_up_start_rps: "1".parse().ok(),
            ramp_up_end_rps: "8".parse().ok(),
            num_prompts: 50,
            dataset_sha256: None,
            completed: 50,
            total_input_tokens: 1600,
            total_output_tokens: 1010,
            ..Summary::default()
        };
        assert_eq!(
            of(&base, &new),
            [
                "model_id differs: base a, new b",
                "like differs: base none, new vllm-0.33",
                "backend differs: base openai, new openai-chat",
                "endpoint differs: base /v1/completions, new /v1/chat/completions",
                r#"body differs: base {"ignore_eos":true}, new {}"#,
                "max_concurrency differs: base 8, new none",
                "request_rate differs: base 4, new inf",
                "burstiness differs: base 1, new 2",
                "ramp_up differs: base none, new linear from 1 to 8",
                "num_prompts differs: base 100, new 50",
                "only one of base and new states dataset_sha256: not compared",
                "total_input_tokens differs: base 800, new 1600 (+100.0%)",
            ]
        );
        assert!(of(&base, &base).is_empty());
    }
}
