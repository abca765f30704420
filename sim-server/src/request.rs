//! The request: which fields have a meaning here, and what is refused.

use serde::Deserialize;

use crate::{
    input::{Input, Message, chat_prompt, completion_prompt},
    prompt::Prompt,
    refusal::Refusal,
    words::mix,
};

/// Which of the two APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `/v1/completions`
    Completions,
    /// `/v1/chat/completions`
    Chat,
}

/// What the server holds requests against.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The one model.
    pub model: String,
    /// Longest prompt and answer together.
    pub max_model_len: u32,
    /// Seed of answers.
    pub seed: u64,
    /// Whether an answer may end before `max_tokens`.
    pub early_stop: bool,
}

/// A request that can be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The API it came through.
    pub api: Api,
    /// What to answer.
    pub prompt: Prompt,
    /// Length of the answer.
    pub output_tokens: u32,
    /// Whether the answer ends by itself, with an end-of-sequence token as its last, rather than at the length asked.
    pub stops: bool,
    /// If each token is to be sent as it comes: which events carry the usage.
    pub stream: Option<StreamUsage>,
    /// Chooses the words.
    pub key: u64,
}

/// Which events of a stream carry the usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamUsage {
    /// None.
    Never,
    /// One more, after the last token.
    AtEnd,
    /// That one, and each token's.
    Always,
}

/// Mean length of an answer that ends by itself.
const MEAN_ANSWER: f64 = 200.0;

/// vLLM's default for completions.
const COMPLETIONS_MAX_TOKENS: u32 = 16;

#[derive(Deserialize)]
struct Fields {
    model: Option<String>,
    prompt: Option<Input>,
    messages: Option<Vec<Message>>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    min_tokens: Option<u32>,
    n: Option<u32>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    ignore_eos: Option<bool>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

impl StreamOptions {
    fn usage(&self) -> StreamUsage {
        match (self.include_usage, self.continuous_usage_stats) {
            (Some(true), Some(true)) => StreamUsage::Always,
            (Some(true), _) => StreamUsage::AtEnd,
            _ => StreamUsage::Never,
        }
    }
}

impl Job {
    /// Reads a request's body.
    pub fn parse(api: Api, body: &[u8], limits: &Limits) -> Result<Self, Refusal> {
        let fields: Fields = serde_json::from_slice(body)
            .map_err(|error| Refusal::bad(None, format!("The body is not a request in JSON: {error}")))?;
        if let Some(model) = fields.model.as_ref().filter(|&model| *model != limits.model) {
            return Err(Refusal::unknown_model(model));
        }
        if fields.n.is_some_and(|n| n != 1) {
            return Err(Refusal::bad("n", "n must be 1: this server gives one answer a request."));
        }
        let prompt = fields.prompt(api)?;
        let key = mix(limits.seed) ^ prompt.hash;
        let (output_tokens, stops) = fields.answer_length(api, prompt.tokens, key, limits)?;
        let usage = fields.stream_options.map_or(StreamUsage::Never, |options| options.usage());
        Ok(Self {
            api,
            prompt,
            output_tokens,
            stops,
            stream: fields.stream.unwrap_or(false).then_some(usage),
            key,
        })
    }
}

impl Fields {
    fn prompt(&self, api: Api) -> Result<Prompt, Refusal> {
        let (prompt, param) = match api {
            Api::Chat => (chat_prompt(self.messages.as_deref().unwrap_or_default()), "messages"),
            Api::Completions => (completion_prompt(self.prompt.as_ref())?, "prompt"),
        };
        if prompt.tokens == 0 {
            return Err(Refusal::bad(param, format!("`{param}` must not be missing or empty.")));
        }
        Ok(prompt)
    }

    /// How many tokens to generate, and whether the answer ends by itself.
    fn answer_length(
        &self,
        api: Api,
        prompt: u32,
        key: u64,
        limits: &Limits,
    ) -> Result<(u32, bool), Refusal> {
        let asked = self.max_completion_tokens.or(self.max_tokens);
        if asked == Some(0) {
            return Err(Refusal::bad("max_tokens", "max_tokens must be at least 1, got 0."));
        }
        let wanted = match (asked, api) {
            (Some(asked), _) => asked,
            (None, Api::Completions) => COMPLETIONS_MAX_TOKENS,
            (None, Api::Chat) => limits.max_model_len.saturating_sub(prompt).max(1),
        };
        let total = u64::from(prompt) + u64::from(wanted);
        if total > u64::from(limits.max_model_len) {
            return Err(too_long(limits.max_model_len, wanted, prompt, total));
        }
        let may_stop =
            self.ignore_eos != Some(true) && (limits.early_stop || (asked.is_none() && api == Api::Chat));
        let own = own_length(key).max(self.min_tokens.unwrap_or(0));
        Ok(if may_stop && own <= wanted { (own, true) } else { (wanted, false) })
    }
}

/// The length, at least 2, at which the answer `key` ends by itself: exponentially distributed.
fn own_length(key: u64) -> u32 {
    let uniform = (mix(!key) >> 11) as f64 / (1_u64 << 53) as f64;
    2 + (-(1.0 - uniform).ln() * (MEAN_ANSWER - 2.0)).round() as u32
}

fn too_long(max_model_len: u32, wanted: u32, prompt: u32, total: u64) -> Refusal {
    Refusal::bad(
        "input_tokens",
        format!(
            "This model's maximum context length is {max_model_len} tokens. However, you requested {wanted} output \
             tokens and your prompt contains {prompt} input tokens, for a total of {total} tokens. Please reduce the \
             length of the input prompt or the number of requested output tokens. (parameter=input_tokens, \
             value={prompt})"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(early_stop: bool) -> Limits {
        Limits { model: "m".to_owned(), max_model_len: 1000, seed: 0, early_stop }
    }

    fn parse(api: Api, body: &str) -> Result<Job, Refusal> {
        Job::parse(api, body.as_bytes(), &limits(false))
    }

    #[test]
    fn lengths_are_as_asked() {
        let completions = |body| parse(Api::Completions, body).unwrap().output_tokens;
        assert_eq!(completions(r#"{"prompt":"x"}"#), 16);
        assert_eq!(completions(r#"{"prompt":"x","max_tokens":7}"#), 7);
        assert_eq!(completions(r#"{"prompt":"x","max_tokens":7,"max_completion_tokens":8}"#), 8);
        let chat = r#"{"messages":[{"role":"user","content":"x"}],"ignore_eos":true}"#;
        assert_eq!(parse(Api::Chat, chat).unwrap().output_tokens, 1000 - 9);
    }

    #[test]
    fn what_cannot_be_served_is_refused_with_its_field() {
        for (body, status, param) in [
            (r#"{"prompt":"x","model":"other"}"#, 404, Some("model")),
            (r#"{"prompt":"x","n":2}"#, 400, Some("n")),
            (r#"{"prompt":["x","y"]}"#, 400, Some("prompt")),
            (r#"{"prompt":""}"#, 400, Some("prompt")),
            ("{}", 400, Some("prompt")),
            (r#"{"prompt":"x","max_tokens":0}"#, 400, Some("max_tokens")),
            (r#"{"prompt":"x","max_tokens":1000}"#, 400, Some("input_tokens")),
            (r#"{"prompt":"#, 400, None),
        ] {
            let refusal = parse(Api::Completions, body).unwrap_err();
            assert_eq!((refusal.status.as_u16(), refusal.param), (status, param), "{body}");
        }
    }

    #[test]
    fn early_stops_are_seeded_and_obey_ignore_eos() {
        let job = |number: u32, extra: &str| {
            let body = format!(r#"{{"prompt":"{number}","max_tokens":900{extra}}}"#);
            Job::parse(Api::Completions, body.as_bytes(), &limits(true)).unwrap()
        };
        assert_eq!(job(1, ""), job(1, ""));
        let lengths: Vec<f64> = (0..2000).map(|number| f64::from(job(number, "").output_tokens)).collect();
        let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
        assert!((mean - MEAN_ANSWER).abs() < 15.0, "{mean}");
        assert_eq!(job(1, r#","ignore_eos":true"#).output_tokens, 900);
        assert!(job(1, r#","min_tokens":800"#).output_tokens >= 800);
    }
}
