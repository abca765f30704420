//! The JSON body of a request.

use records::Prompt;
use serde_json::{Map, Value, json};

use crate::{api::Api, args::Sampling, like::Like, python_json};

/// Makes bodies: what the row says, what all rows share, and what is laid over.
pub(crate) struct Template {
    api: &'static dyn Api,
    model: String,
    length_field: String,
    /// The client to be.
    like: Option<Like>,
    /// Flags and `--extra-body`; null removes a field, but in a body like vLLM's it is sent.
    shared: Map<String, Value>,
}

impl Template {
    /// For these flags.
    pub(crate) fn new(api: &'static dyn Api, model: &str, sampling: &Sampling, like: Option<Like>) -> Self {
        Self {
            api,
            model: model.to_owned(),
            length_field: sampling.length_field.clone().unwrap_or_else(|| api.length_field().to_owned()),
            like,
            shared: shared(sampling, like),
        }
    }

    /// What is laid over each request, for the record.
    pub(crate) fn shared(&self) -> &Map<String, Value> {
        &self.shared
    }

    /// The body for one row, serialised; or what is wrong with the row.
    pub(crate) fn body(&self, mut prompt: Prompt) -> Result<Vec<u8>, String> {
        let own = prompt.extra_body.take().unwrap_or_default();
        let mut body = match self.like {
            None => self.plain(prompt)?,
            Some(like) => self.vllm(prompt, like, &own)?,
        };
        for (key, value) in self.shared.iter().chain(&own) {
            if value.is_null() && self.like.is_none() {
                body.shift_remove(key);
            } else {
                body.insert(key.clone(), value.clone());
            }
        }
        let bytes = if self.like.is_some() { python_json::to_vec(&body) } else { serde_json::to_vec(&body) };
        bytes.map_err(|error| error.to_string())
    }

    fn plain(&self, prompt: Prompt) -> Result<Map<String, Value>, String> {
        let length = prompt.max_tokens.map(|tokens| (self.length_field.as_str(), tokens.into()));
        let input = self.api.input(prompt, None)?;
        Ok(fields(
            [Some(("model", self.model.as_str().into())), Some(input), length].into_iter().chain(stream()),
        ))
    }

    /// What vLLM's client has in its bodies, in its order: `endpoint_request_func.py`.
    fn vllm(
        &self,
        prompt: Prompt,
        like: Like,
        own: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let length = prompt.max_tokens.ok_or("no `max_tokens`, which vLLM's client always sends; add it")?;
        let input = self.api.input(prompt, Some(like))?;
        let [before, after] = self.api.vllm_fields();
        let temperature = like.temperature().map(|default| ("temperature", default.into()));
        let length = Some((self.length_field.as_str(), length.into()));
        let first =
            [Some(("model", self.model.as_str().into())), Some(input), temperature, before, length, after];
        // Its flag `--ignore-eos`, which it sets by itself for some datasets, stands before what is laid over.
        let ignore_eos = own.get("ignore_eos").map(|value| ("ignore_eos", value.clone()));
        Ok(fields(first.into_iter().chain(stream()).chain([ignore_eos])))
    }
}

fn stream() -> [Option<(&'static str, Value)>; 2] {
    [Some(("stream", true.into())), Some(("stream_options", json!({ "include_usage": true })))]
}

fn fields<'a>(given: impl Iterator<Item = Option<(&'a str, Value)>>) -> Map<String, Value> {
    given.flatten().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// In the order of vLLM's client.
fn shared(sampling: &Sampling, like: Option<Like>) -> Map<String, Value> {
    let temperature = sampling.temperature.or_else(|| like.and_then(Like::temperature));
    let given = [
        ("ignore_eos", sampling.ignore_eos.then(|| true.into())),
        ("top_p", sampling.top_p.map(Value::from)),
        ("top_k", sampling.top_k.map(Value::from)),
        ("min_p", sampling.min_p.map(Value::from)),
        ("temperature", temperature.map(Value::from)),
        ("frequency_penalty", sampling.frequency_penalty.map(Value::from)),
        ("presence_penalty", sampling.presence_penalty.map(Value::from)),
        ("repetition_penalty", sampling.repetition_penalty.map(Value::from)),
    ];
    let mut body = fields(given.into_iter().map(|(key, value)| Some((key, value?))));
    body.extend(sampling.extra_body.clone().unwrap_or_default());
    body
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{Args, api};

    fn body(flags: &[&str], row: &str) -> Value {
        let args = Args::try_parse_from(["x"].iter().chain(flags)).unwrap();
        let template = Template::new(args.backend, "m", &args.sampling, args.like);
        serde_json::from_slice(&template.body(serde_json::from_str(row).unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn the_default_body_is_small() {
        assert_eq!(
            body(&[], r#"{"prompt":"a","max_tokens":4}"#),
            json!({"model":"m","prompt":"a","max_tokens":4,"stream":true,"stream_options":{"include_usage":true}})
        );
        assert_eq!(
            body(&["--backend", "openai-chat"], r#"{"prompt":"a","output_tokens":4}"#),
            json!({"model":"m","messages":[{"role":"user","content":"a"}],"max_completion_tokens":4,
                "stream":true,"stream_options":{"include_usage":true}})
        );
    }

    #[test]
    fn flags_then_extra_body_then_the_row_have_the_last_word() {
        let flags = ["--ignore-eos", "--temperature", "0.5", "--top-k", "3", "--extra-body"];
        let flags = [&flags[..], &[r#"{"temperature":1,"stop":["x"],"stream_options":null}"#]].concat();
        let body = body(&flags, r#"{"prompt":"a","extra_body":{"top_k":null,"stop":["y"]}}"#);
        assert_eq!(
            body,
            json!({"model":"m","prompt":"a","stream":true,"ignore_eos":true,"temperature":1,"stop":["y"]})
        );
    }

    #[test]
    fn the_length_field_can_be_chosen() {
        let flags = ["--backend", "openai-chat", "--length-field", "max_tokens"];
        let body = body(&flags, r#"{"messages":[{"role":"user","content":"a"}],"max_tokens":4}"#);
        assert_eq!(body["max_tokens"], 4);
        assert_eq!(body.get("max_completion_tokens"), None);
    }

    #[test]
    fn messages_need_a_chat_endpoint() {
        let args = Args::try_parse_from(["x"]).unwrap();
        let row = serde_json::from_str(r#"{"messages":[]}"#).unwrap();
        let problem = Template::new(api::named("openai"), "m", &args.sampling, None).body(row).unwrap_err();
        assert!(problem.contains("--backend openai-chat"), "{problem}");
    }
}
