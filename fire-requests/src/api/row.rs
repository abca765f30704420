//! What a row's prompt becomes in the APIs' own terms.

use records::Prompt;
use serde_json::{Value, json};

/// The text of a row, for APIs that complete one.
pub(super) fn text(prompt: Prompt) -> Result<Value, String> {
    prompt.prompt.map(Value::from).ok_or_else(|| {
        "`messages` without `prompt` needs a chat endpoint; give --backend openai-chat".to_owned()
    })
}

/// The messages of a row, for chat APIs: those that it has, or its text as one of a user.
pub(super) fn messages(prompt: Prompt) -> Result<Vec<Value>, String> {
    match (prompt.messages, prompt.prompt) {
        (Some(messages), _) => Ok(messages),
        (None, Some(text)) => Ok(vec![json!({ "role": "user", "content": text })]),
        (None, None) => Err("neither `prompt` nor `messages`".to_owned()),
    }
}
