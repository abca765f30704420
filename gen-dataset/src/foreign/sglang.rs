//! sglang's `custom` rows (`python/sglang/benchmark/datasets/custom.py` of sgl-project/sglang): the first turn is the
//! prompt, the second one's tokens are the output length, the others are not used.

use serde_json::Value;

use super::{OUTPUTS, fields::Fields};

/// Fields that tell its rows.
pub(super) const KEYS: [&str; 2] = ["conversations", "conversation"];

/// What changes a request and has no place in ours.
pub(super) fn refuse(fields: &Fields) -> Result<(), String> {
    fields.refuse(&[("image", "write the request as `messages`, which hold images as parts")])?;
    match OUTPUTS.into_iter().find(|name| fields.has_any(&[name])) {
        Some(output) => Err(format!(
            "both `conversations`, whose answer gives the output length, and `{output}`; write the question as `prompt`"
        )),
        None => Ok(()),
    }
}

/// Makes the first turn the prompt; the second one's text.
pub(super) fn turns(fields: &mut Fields) -> Result<String, String> {
    let Some(name) = KEYS.into_iter().find(|name| fields.has_any(&[name])) else { return Ok(String::new()) };
    let turns = fields.take(name).unwrap_or_default();
    let turns = turns.as_array().ok_or_else(|| format!("`{name}` is no list of turns; make it one"))?;
    let [question, answer, ..] = turns.as_slice() else {
        return Err(format!("`{name}` has {} turn; give a question and its answer", turns.len()));
    };
    let text = |turn: &Value, at: u8| {
        let text = turn.get("content").or_else(|| turn.get("value")).and_then(Value::as_str);
        let text = text.map(str::to_owned);
        text.ok_or_else(|| format!("`{name}[{at}]` has no `content` or `value`; give it one, a string"))
    };
    fields.set("prompt", Value::String(text(question, 0)?));
    text(answer, 1)
}
