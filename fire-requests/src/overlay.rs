//! What is laid over each request's body: flags, and `--extra-body`.

use records::{Error, Result};
use serde_json::{Map, Value};

use crate::{Args, like::Like, sampling::Sampling};

/// Fields by their names; null removes one, but in a body like vLLM's it is sent.
pub(crate) type Overlay = Map<String, Value>;

/// The overlay of these flags. Fails on a flag that the backend has no field for.
pub(crate) fn of(args: &Args) -> Result<Overlay> {
    let (api, sampling) = (args.backend, &args.sampling);
    let refused =
        |flag: &str, reason: &str| Err(Error::usage(format!("--{flag}: --backend {} {reason}", api.name())));
    if args.like.is_some() && api.vllm_fields().is_none() {
        return refused("like", "is none of those that it reproduces; they are openai and openai-chat");
    }
    if let Some(field) = sampling.length_field.as_deref().filter(|field| !api.length_fields().contains(field))
    {
        return refused("length-field", &format!("has no {field}; it is {} there", api.length_field()));
    }
    let mut fields = Map::new();
    for (name, value) in given(sampling, args.like) {
        match (api.sampling_field(name), value) {
            (_, None) => {}
            (Some(field), Some(value)) => {
                fields.insert(field.to_owned(), value);
            }
            (None, Some(_)) => {
                let reason = "has no such field; leave it out, or put what the server has into --extra-body";
                return refused(&name.replace('_', "-"), reason);
            }
        }
    }
    let mut overlay = match api.section() {
        Some(section) if !fields.is_empty() => Map::from_iter([(section.to_owned(), fields.into())]),
        _ => fields,
    };
    if args.sampling.no_stream {
        lay(&mut overlay, map(api.mode(false)), api.section(), Nulls::Kept);
    }
    lay(&mut overlay, sampling.extra_body.clone().unwrap_or_default(), api.section(), Nulls::Kept);
    Ok(overlay)
}

/// In the order of vLLM's client, by its names.
fn given(sampling: &Sampling, like: Option<Like>) -> [(&'static str, Option<Value>); 8] {
    let temperature = sampling.temperature.or_else(|| like.and_then(Like::temperature));
    [
        ("ignore_eos", sampling.ignore_eos.then(|| true.into())),
        ("top_p", sampling.top_p.map(Value::from)),
        ("top_k", sampling.top_k.map(Value::from)),
        ("min_p", sampling.min_p.map(Value::from)),
        ("temperature", temperature.map(Value::from)),
        ("frequency_penalty", sampling.frequency_penalty.map(Value::from)),
        ("presence_penalty", sampling.presence_penalty.map(Value::from)),
        ("repetition_penalty", sampling.repetition_penalty.map(Value::from)),
    ]
}

/// What a null that is laid over does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// It removes the field.
    Remove,
    /// It is a value like others.
    Kept,
}

/// Sets fields: a known one keeps its place. Those of the section are set one by one, so that it keeps the others.
pub(crate) fn lay(
    body: &mut Map<String, Value>,
    over: Map<String, Value>,
    section: Option<&str>,
    nulls: Nulls,
) {
    for (key, value) in over {
        match (body.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) if section == Some(key.as_str()) => {
                lay(old, new, None, nulls);
            }
            (_, Value::Null) if nulls == Nulls::Remove => {
                body.shift_remove(&key);
            }
            (_, value) => {
                body.insert(key, value);
            }
        }
    }
}

/// Fields as a JSON object.
pub(crate) fn map(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn flags_that_an_api_has_not_are_refused() {
        for (flags, part) in [
            (
                &["--backend", "anthropic", "--ignore-eos"] as &[&str],
                "--ignore-eos: --backend anthropic has no such field",
            ),
            (&["--backend", "tgi", "--min-p", "0.1"], "--min-p: --backend tgi"),
            (&["--backend", "ollama", "--ignore-eos"], "--ignore-eos: --backend ollama"),
            (&["--backend", "openai-responses", "--presence-penalty", "1"], "--presence-penalty: "),
            (
                &["--backend", "sglang", "--length-field", "max_tokens"],
                "has no max_tokens; it is max_new_tokens there",
            ),
            (&["--backend", "anthropic", "--like", "vllm-0.33"], "--like: --backend anthropic"),
        ] {
            let args = Args::try_parse_from(["x"].iter().chain(flags)).unwrap();
            let problem = of(&args).unwrap_err().to_string();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
