//! guidellm's columns (`GenerativeColumnMapper` in `src/guidellm/data/preprocessors/mappers.py` of
//! vllm-project/guidellm).

use super::fields::Fields;

/// Fields that tell its rows.
pub(super) const KEYS: [&str; 4] =
    ["output_tokens_count", "completion_tokens_count", "prompt_tokens_count", "input_tokens_count"];

const PREFIX: &str = "put it into the prompt, or write the request as `messages`";
const MEDIA: &str = "write the request as `messages`, which hold images, audio and video as parts";
const REFUSED: [(&str, &str); 8] = [
    ("prefix", PREFIX),
    ("system", PREFIX),
    ("system_prompt", PREFIX),
    ("image", MEDIA),
    ("video", MEDIA),
    ("audio", MEDIA),
    ("tool_response", "write the request as `messages`, complete"),
    ("relative_timestamp", "give it as `at_us`, in microseconds"),
];

/// What changes a request and has no place in ours.
pub(super) fn refuse(fields: &Fields) -> Result<(), String> {
    fields.refuse(&REFUSED)?;
    match fields.names().find(|name| is_turn(name)) {
        Some(name) => {
            Err(format!("`{name}`: a conversation in one row; write a row with `messages` for each request"))
        }
        None => Ok(()),
    }
}

/// Columns with a number, as `prompt_1`, are the turns of a conversation.
fn is_turn(name: &str) -> bool {
    let number = name.strip_prefix("prompt").and_then(|rest| rest.strip_prefix(['_', '-']));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
