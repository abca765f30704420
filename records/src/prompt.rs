//! What to send: one row a request.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

use crate::{AnyRecord, Kind, Micros, Record};

/// Fields of a request's body that a row might state beside its prompt: unread there, they would change the answer
/// if they were obeyed, and the figures if they were not.
const BODY_FIELDS: [&str; 28] = [
    "best_of",
    "chat_template_kwargs",
    "frequency_penalty",
    "guided_json",
    "ignore_eos",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "min_p",
    "min_tokens",
    "model",
    "n",
    "presence_penalty",
    "reasoning_effort",
    "repetition_penalty",
    "response_format",
    "seed",
    "stop",
    "stop_token_ids",
    "stream",
    "stream_options",
    "structured_outputs",
    "temperature",
    "tool_choice",
    "tools",
    "top_k",
    "top_logprobs",
    "top_p",
];

/// Fields of other tools' rows that change a request and have no place in ours, and what to do about them.
const HOMELESS: [(&[&str], &str); 3] = [
    (
        &["image", "images", "audio", "audios", "video", "videos"],
        "write the request as `messages`, which hold it as a part",
    ),
    (&["system", "system_prompt"], "write the request as `messages`, this as the first of them"),
    (
        &["timestamp", "relative_timestamp", "delay"],
        "call it `at_us`, in µs from the run's start, or delete it",
    ),
];

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
    /// The conversation that it is a turn of: it is sent when the turn before it has been answered, and carries that
    /// one's messages and the server's answer before its own.
    #[serde(default, deserialize_with = "text_or_number", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its place in the conversation; where no turn states one, their order in the dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Words that were drawn from NumPy's global generator to make the dataset, the same in each of its rows.
    /// `fire-requests --like` draws arrival times after them, as vLLM's client does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numpy_words: Option<u64>,
    /// Fields laid over the request's body, last of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_body: Option<Map<String, Value>>,
}

impl Record for Prompt {
    const KIND: &'static str = "prompt";
    const VERSION: u32 = 1;
}

impl Prompt {
    /// Reads a line that need not come from these tools. `None`: a record of an unknown kind, which only passes by.
    ///
    /// Fails, with the remedy, on other records, on a row without one of `prompt` and `messages`, and on a row that
    /// holds a field of the request's body, which belongs into `extra_body`.
    pub fn from_row(line: &str) -> Result<Option<Self>, String> {
        let kind = Kind::of(line)?;
        match kind.name() {
            "" | Self::KIND => kind.check_version::<Self>()?,
            name if AnyRecord::knows(name) => {
                return Err(format!("a {name} record, not a prompt; give rows with `prompt` or `messages`"));
            }
            name => {
                let fields = fields(line)?;
                return match ["prompt", "messages"].iter().find(|field| fields.contains_key(**field)) {
                    Some(field) => Err(format!(
                        "a `{field}`, but `kind` is \"{name}\", which says that it is none; give `kind` another name"
                    )),
                    None => Ok(None),
                };
            }
        }
        let row = Self::from_line(line)?;
        let fields = fields(line)?;
        Self::refuse_body_fields(fields.keys().map(String::as_str))?;
        refuse_homeless(&fields)?;
        match (&row.prompt, &row.messages) {
            (None, None) => Err("no `prompt` or `messages`; give the row one of them".to_owned()),
            (Some(_), Some(_)) => Err("both `prompt` and `messages`; leave one of them out".to_owned()),
            _ => Ok(Some(row)),
        }
    }

    /// Whether a row's field of this name belongs into a request's body.
    #[must_use]
    pub fn is_body_field(name: &str) -> bool {
        BODY_FIELDS.contains(&name)
    }

    /// Fails, with the remedy, on the first of a row's fields that belongs into a request's body.
    pub fn refuse_body_fields<'a>(mut names: impl Iterator<Item = &'a str>) -> Result<(), String> {
        match names.find(|name| Self::is_body_field(name)) {
            Some(field @ "max_completion_tokens") => {
                Err(format!("`{field}` would be lost; call it `max_tokens`"))
            }
            Some(field) => {
                Err(format!("`{field}` would be lost; put it into the row's `extra_body`: {{\"{field}\":…}}"))
            }
            None => Ok(()),
        }
    }
}

fn fields(line: &str) -> Result<IndexMap<String, Value>, String> {
    serde_json::from_str(line).map_err(|error| error.to_string())
}

/// A time that is no number is a remark on the row, and none of its request.
fn refuse_homeless(fields: &IndexMap<String, Value>) -> Result<(), String> {
    for (names, remedy) in HOMELESS {
        let given = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => false,
            Some(value) => value.is_number() || !["timestamp", "relative_timestamp", "delay"].contains(&name),
        };
        if let Some(name) = names.iter().find(|name| given(name)) {
            return Err(format!("`{name}` would be lost; {remedy}"));
        }
    }
    Ok(())
}

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Number(number) => Ok(Some(number.to_string())),
        other => {
            Err(de::Error::custom(format!("`id` and `session` must be a string or a number, not {other}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_anybody_are_read() {
        let row = Prompt::from_row(r#"{"prompt":"x","category":"math","output_tokens":7,"id":3}"#);
        let row = row.unwrap().unwrap();
        assert_eq!(
            (row.prompt.as_deref(), row.max_tokens, row.id.as_deref()),
            (Some("x"), Some(7), Some("3"))
        );
        assert_eq!(Prompt::from_row(r#"{"kind":"gpu","watts":700}"#), Ok(None));
    }

    #[test]
    fn problems_say_the_remedy() {
        for (line, problem) in [
            (r#"{"text":"x"}"#, "no `prompt` or `messages`; give the row one of them"),
            (r#"{"prompt":null}"#, "no `prompt` or `messages`; give the row one of them"),
            (r#"{"prompt":"x","messages":[]}"#, "both `prompt` and `messages`; leave one of them out"),
            (
                r#"{"prompt":"x","temperature":0.5}"#,
                "`temperature` would be lost; put it into the row's `extra_body`: {\"temperature\":…}",
            ),
            (
                r#"{"prompt":"x","image":"a.png"}"#,
                "`image` would be lost; write the request as `messages`, which hold it as a part",
            ),
            (
                r#"{"prompt":"x","timestamp":5}"#,
                "`timestamp` would be lost; call it `at_us`, in µs from the run's start, or delete it",
            ),
            (
                r#"{"kind":"math","prompt":"x"}"#,
                "a `prompt`, but `kind` is \"math\", which says that it is none; give `kind` another name",
            ),
            (
                r#"{"prompt":"x","max_completion_tokens":5}"#,
                "`max_completion_tokens` would be lost; call it `max_tokens`",
            ),
            (
                r#"{"kind":"timing","prompt":"x"}"#,
                "a timing record, not a prompt; give rows with `prompt` or `messages`",
            ),
            (
                r#"{"prompt":"x"}{"prompt":"y"}"#,
                "more follows the first JSON value at column 15; put each object on a line of its own",
            ),
        ] {
            assert_eq!(Prompt::from_row(line).unwrap_err(), problem, "{line}");
        }
    }
}
