//! The JSON body of a request.

use records::Prompt;
use serde_json::{Map, Value, json};

use crate::{api::Api, args::Sampling};

/// Makes bodies: what the row says, what all rows share, and what is laid over.
pub(crate) struct Template {
    api: &'static dyn Api,
    model: String,
    length_field: String,
    /// Flags and `--extra-body`; null removes a field.
    shared: Map<String, Value>,
}

impl Template {
    /// For these flags.
    pub(crate) fn new(api: &'static dyn Api, model: &str, sampling: &Sampling) -> Self {
        Self {
            api,
            model: model.to_owned(),
            length_field: sampling.length_field.clone().unwrap_or_else(|| api.length_field().to_owned()),
            shared: shared(sampling),
        }
    }

    /// What is laid over each request, for the record.
    pub(crate) fn shared(&self) -> &Map<String, Value> {
        &self.shared
    }

    /// The body for one row, serialised; or what is wrong with the row.
    pub(crate) fn body(&self, mut prompt: Prompt) -> Result<Vec<u8>, String> {
        let own = prompt.extra_body.take().unwrap_or_default();
        let max_tokens = prompt.max_tokens;
        let (field, input) = self.api.input(prompt)?;
        let mut body = Map::new();
        body.insert("model".to_owned(), self.model.as_str().into());
        body.insert(field.to_owned(), input);
        if let Some(tokens) = max_tokens {
            body.insert(self.length_field.clone(), tokens.into());
        }
        body.insert("stream".to_owned(), true.into());
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
        for (key, value) in self.shared.iter().chain(&own) {
            if value.is_null() {
                body.shift_remove(key);
            } else {
                body.insert(key.clone(), value.clone());
            }
        }
        serde_json::to_vec(&body).map_err(|error| error.to_string())
    }
}

fn shared(sampling: &Sampling) -> Map<String, Value> {
    let numbers = [
        ("temperature", sampling.temperature),
        ("top_p", sampling.top_p),
        ("min_p", sampling.min_p),
        ("frequency_penalty", sampling.frequency_penalty),
        ("presence_penalty", sampling.presence_penalty),
        ("repetition_penalty", sampling.repetition_penalty),
    ];
    let mut body = Map::new();
    if sampling.ignore_eos {
        body.insert("ignore_eos".to_owned(), true.into());
    }
    if let Some(top_k) = sampling.top_k {
        body.insert("top_k".to_owned(), top_k.into());
    }
    let given = numbers.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
    body.extend(given);
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
        let template = Template::new(args.backend, "m", &args.sampling);
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
        let problem = Template::new(api::named("openai"), "m", &args.sampling).body(row).unwrap_err();
        assert!(problem.contains("--backend openai-chat"), "{problem}");
    }
}
