//! The JSON body of a request.

use records::Prompt;
use serde_json::{Map, Value};

use crate::{
    Args,
    api::Api,
    like::Like,
    overlay::{Nulls, Overlay, lay, map},
    python_json,
};

/// Makes bodies: what the row says, what all rows share, and what is laid over.
pub(crate) struct Template {
    api: &'static dyn Api,
    model: String,
    length_field: String,
    stream: bool,
    /// The client to be.
    like: Option<Like>,
    overlay: Overlay,
}

impl Template {
    /// For these flags, `overlay` being theirs.
    pub(crate) fn new(args: &Args, model: &str, overlay: Overlay) -> Self {
        let length_field = args.sampling.length_field.as_deref();
        Self {
            api: args.backend,
            model: model.to_owned(),
            length_field: length_field.unwrap_or(args.backend.length_field()).to_owned(),
            stream: !args.sampling.no_stream,
            like: args.like,
            overlay,
        }
    }

    /// What is laid over each request, for the record.
    pub(crate) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// The body for one row, serialised; or what is wrong with the row.
    pub(crate) fn body(&self, mut prompt: Prompt) -> Result<Vec<u8>, String> {
        let own = prompt.extra_body.take().unwrap_or_default();
        let mut body = match self.like {
            None => self.plain(prompt)?,
            Some(like) => self.vllm(prompt, like, &own)?,
        };
        let nulls = if self.like.is_some() { Nulls::Kept } else { Nulls::Remove };
        for over in [self.overlay.clone(), own] {
            lay(&mut body, over, self.api.section(), nulls);
        }
        let bytes = if self.like.is_some() { python_json::to_vec(&body) } else { serde_json::to_vec(&body) };
        bytes.map_err(|error| error.to_string())
    }

    fn plain(&self, prompt: Prompt) -> Result<Map<String, Value>, String> {
        let length = prompt.max_tokens.map(|tokens| (self.length_field.clone(), tokens.into()));
        let mut body = Map::new();
        if self.api.names_model() {
            body.insert("model".to_owned(), self.model.as_str().into());
        }
        body.extend(map(self.api.input(prompt, None)?));
        match self.api.section() {
            Some(section) => body.extend([(section.to_owned(), Map::from_iter(length).into())]),
            None => body.extend(length),
        }
        if self.stream {
            body.extend(map(self.api.mode(true)));
        }
        Ok(body)
    }

    /// What vLLM's client has in its bodies, in its order: `endpoint_request_func.py`.
    fn vllm(
        &self,
        prompt: Prompt,
        like: Like,
        own: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let length = prompt.max_tokens.ok_or("no `max_tokens`, which vLLM's client always sends; add it")?;
        let [before, after] = self.api.vllm_fields().unwrap_or_default();
        let temperature = like.temperature().map(|default| ("temperature", default.into()));
        let mut body = Map::from_iter([("model".to_owned(), self.model.as_str().into())]);
        body.extend(map(self.api.input(prompt, Some(like))?));
        body.extend(map([temperature, before].into_iter().flatten()));
        body.insert(self.length_field.clone(), length.into());
        body.extend(map(after.into_iter().chain(self.api.mode(true))));
        // Its flag `--ignore-eos`, which it sets by itself for some datasets, stands before what is laid over.
        body.extend(map(own.get("ignore_eos").map(|value| ("ignore_eos", value.clone()))));
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;
    use crate::overlay;

    fn body(flags: &[&str], row: &str) -> Value {
        let args = Args::try_parse_from(["x"].iter().chain(flags)).unwrap();
        let template = Template::new(&args, "m", overlay::of(&args).unwrap());
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
        for backend in ["openai", "sglang", "tgi", "llamacpp"] {
            let args = Args::try_parse_from(["x", "--backend", backend]).unwrap();
            let row = serde_json::from_str(r#"{"messages":[]}"#).unwrap();
            let problem = Template::new(&args, "m", Map::new()).body(row).unwrap_err();
            assert!(problem.contains("--backend openai-chat"), "{problem}");
        }
    }

    #[test]
    fn each_api_is_asked_in_its_own_terms() {
        let row = r#"{"prompt":"a","max_tokens":4}"#;
        let user = json!([{"role":"user","content":"a"}]);
        for (backend, streamed, whole) in [
            (
                "openai-responses",
                json!({"model":"m","input":"a","max_output_tokens":4,"stream":true,"store":false,"temperature":0.0}),
                json!({"model":"m","input":"a","max_output_tokens":4,"temperature":0.0,"stream":false,"store":false}),
            ),
            (
                "anthropic",
                json!({"model":"m","messages":user,"max_tokens":4,"stream":true,"temperature":0.0}),
                json!({"model":"m","messages":user,"max_tokens":4,"temperature":0.0,"stream":false}),
            ),
            (
                "sglang",
                json!({"text":"a","sampling_params":{"max_new_tokens":4,"temperature":0.0},"stream":true}),
                json!({"text":"a","sampling_params":{"max_new_tokens":4,"temperature":0.0},"stream":false}),
            ),
            (
                "tgi",
                json!({"inputs":"a","parameters":{"max_new_tokens":4,"temperature":0.0}}),
                json!({"inputs":"a","parameters":{"max_new_tokens":4,"temperature":0.0,"details":true}}),
            ),
            (
                "llamacpp",
                json!({"model":"m","prompt":"a","n_predict":4,"stream":true,"temperature":0.0}),
                json!({"model":"m","prompt":"a","n_predict":4,"temperature":0.0,"stream":false}),
            ),
            (
                "ollama",
                json!({"model":"m","messages":user,"options":{"num_predict":4,"temperature":0.0},"stream":true}),
                json!({"model":"m","messages":user,"options":{"num_predict":4,"temperature":0.0},"stream":false}),
            ),
        ] {
            let flags = ["--backend", backend, "--temperature", "0"];
            assert_eq!(body(&flags, row), streamed, "{backend}");
            assert_eq!(body(&[&flags[..], &["--no-stream"]].concat(), row), whole, "{backend}");
        }
    }

    #[test]
    fn a_section_keeps_what_is_not_laid_over() {
        let flags = ["--backend", "sglang", "--top-k", "3", "--extra-body"];
        let flags = [&flags[..], &[r#"{"sampling_params":{"stop":["x"],"top_k":5}}"#]].concat();
        assert_eq!(
            body(&flags, r#"{"prompt":"a","max_tokens":4,"extra_body":{"sampling_params":{"top_k":null}}}"#),
            json!({"text":"a","sampling_params":{"max_new_tokens":4,"stop":["x"]},"stream":true})
        );
        assert_eq!(body(&["--backend", "tgi"], r#"{"prompt":"a"}"#), json!({"inputs":"a","parameters":{}}));
    }

    #[test]
    fn names_are_those_of_the_api() {
        for backend in ["llamacpp", "ollama"] {
            let body = body(&["--backend", backend, "--repetition-penalty", "1.5"], r#"{"prompt":"a"}"#);
            let fields = body.get("options").unwrap_or(&body);
            assert_eq!((&fields["repeat_penalty"], fields.get("repetition_penalty")), (&json!(1.5), None));
        }
    }

    #[test]
    fn system_messages_of_anthropic_have_a_field_of_their_own() {
        let system = |first: &str| {
            let row = format!(r#"{{"messages":[{first}{{"role":"user","content":"a"}}],"max_tokens":4}}"#);
            let body = body(&["--backend", "anthropic"], &row);
            assert_eq!(body["messages"], json!([{"role":"user","content":"a"}]));
            body.get("system").cloned()
        };
        let block = |text: &str| json!({"type":"text","text":text});
        assert_eq!(system(""), None);
        assert_eq!(system(r#"{"role":"system","content":"b"},"#), Some(json!("b")));
        assert_eq!(
            system(
                r#"{"role":"system","content":"b"},{"role":"system","content":[{"type":"text","text":"c"}]},"#
            ),
            Some(json!([block("b"), block("c")]))
        );
    }
}
