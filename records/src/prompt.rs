//! What to send: one row a request.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

use crate::{Micros, Record};

/// One request to fire. Either `prompt` or `messages` is present.
///
/// Rows need not come from `gen-dataset`: any object with `prompt` or `messages` will do, and vLLM's
/// `output_tokens` is read as `max_tokens`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Prompt {
    /// Names the request in every later record; unique within a dataset. Rows without one are numbered from 0.
    #[serde(default, deserialize_with = "text_or_number", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A label to group by (`summarize --by workload`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The text to complete; on a chat endpoint, the one user message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Chat messages as the endpoint takes them, in place of `prompt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Value>>,
    /// Tokens in the prompt by the dataset's tokenizer, without a chat template.
    #[serde(default, alias = "prompt_len", skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Output tokens asked for.
    #[serde(default, alias = "output_tokens", skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// When to send it, µs after the run's start; absent: as the arrival process says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_us: Option<Micros>,
    /// Fields laid over the request's body, last of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_body: Option<Map<String, Value>>,
}

impl Record for Prompt {
    const KIND: &'static str = "prompt";
    const VERSION: u32 = 1;
}

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Number(number) => Ok(Some(number.to_string())),
        other => Err(de::Error::custom(format!("`id` must be a string or a number, not {other}"))),
    }
}
