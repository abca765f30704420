//! sglang's `custom` rows (`python/sglang/benchmark/datasets/custom.py` of sgl-project/sglang): the first turn is the
//! prompt, the second one's tokens are the output length, the others are not used. A system prompt, which sglang would
//! take for the question, stays what it is.

use serde_json::{Value, json};

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

/// Makes the question the prompt, or `messages` if a system prompt comes before it; the answer's text.
pub(super) fn turns(fields: &mut Fields) -> Result<String, String> {
    let Some(name) = KEYS.into_iter().find(|name| fields.has_any(&[name])) else { return Ok(String::new()) };
    let turns = fields.take(name).unwrap_or_default();
    let turns = turns.as_array().ok_or_else(|| format!("`{name}` is no list of turns; make it one"))?;
    let first = usize::from(turns.first().is_some_and(|turn| speaker(turn) == Some("system")));
    let [question, answer, ..] = &turns[first..] else {
        return Err(format!("`{name}` has {} turn; give a question and its answer", turns.len() - first));
    };
    if ![None, Some("human"), Some("user")].contains(&speaker(question)) {
        return Err(format!("`{name}[{first}]` is no user's; begin with the question"));
    }
    let text = |at: usize, turn: &Value| {
        let text = turn.get("content").or_else(|| turn.get("value")).and_then(Value::as_str);
        let text = text.map(str::to_owned);
        text.ok_or_else(|| format!("`{name}[{at}]` has no `content` or `value`; give it one, a string"))
    };
    let prompt = text(first, question)?;
    if first == 0 {
        fields.set("prompt", prompt.into());
    } else {
        let system = text(0, &turns[0])?;
        let messages = json!([{"role": "system", "content": system}, {"role": "user", "content": prompt}]);
        fields.set("messages", messages);
    }
    text(first + 1, answer)
}

fn speaker(turn: &Value) -> Option<&str> {
    turn.get("from").or_else(|| turn.get("role"))?.as_str()
}
