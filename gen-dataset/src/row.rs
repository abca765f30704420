//! One line of a `custom` file.

use records::{Kind, Prompt, Record};
use serde_json::{Map, Value};

/// Fields of a request's body that a row might state beside its prompt, where nothing would read them.
const BODY_FIELDS: &[&str] = &[
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
    "structured_outputs",
    "temperature",
    "tool_choice",
    "tools",
    "top_k",
    "top_logprobs",
    "top_p",
];

/// Reads a line; the problem, if there is one, says the remedy.
pub(crate) fn read(line: &str) -> Result<Prompt, String> {
    let kind = Kind::of(line)?;
    if !["", Prompt::KIND].contains(&kind.name()) {
        return Err(format!("a {} record, not a prompt; give rows with `prompt` or `messages`", kind.name()));
    }
    kind.check_version::<Prompt>()?;
    refuse_body_fields(line)?;
    let row = Prompt::from_line(line)?;
    match (&row.prompt, &row.messages) {
        (None, None) => Err("no `prompt` or `messages`; give the row one of them".to_owned()),
        (Some(_), Some(_)) => Err("both `prompt` and `messages`; leave one of them out".to_owned()),
        (_, Some(messages)) => check_messages(messages).map(|()| row),
        _ => Ok(row),
    }
}

fn refuse_body_fields(line: &str) -> Result<(), String> {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(line) else { return Ok(()) };
    match fields.keys().find(|key| BODY_FIELDS.contains(&key.as_str())) {
        Some(key) if key == "max_completion_tokens" => {
            Err(format!("`{key}` would be lost; call it `max_tokens`"))
        }
        Some(key) => {
            Err(format!("`{key}` would be lost; put it into `extra_body`: {{\"{key}\":{}}}", fields[key]))
        }
        None => Ok(()),
    }
}

fn check_messages(messages: &[Value]) -> Result<(), String> {
    if messages.is_empty() {
        return Err("`messages` is empty; give at least one".to_owned());
    }
    match messages.iter().position(|message| message.get("role").and_then(Value::as_str).is_none()) {
        Some(at) => Err(format!("`messages[{at}]` has no `role`; write {{\"role\":\"user\",\"content\":…}}")),
        None => Ok(()),
    }
}

/// The texts of a row, to be counted; `None` if its messages hold anything else, which no tokenizer counts.
pub(crate) fn texts(row: &Prompt) -> Option<Vec<&str>> {
    if let Some(prompt) = &row.prompt {
        return Some(vec![prompt]);
    }
    let mut texts = Vec::new();
    for message in row.messages.iter().flatten() {
        if message.get("tool_calls").is_some() {
            return None;
        }
        match message.get("content")? {
            Value::String(text) => texts.push(text.as_str()),
            Value::Array(parts) => {
                for part in parts {
                    texts.push(part.get("text")?.as_str()?);
                }
            }
            _ => return None,
        }
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_say_the_remedy() {
        for (line, problem) in [
            ("{\"text\":\"x\"}", "no `prompt` or `messages`; give the row one of them"),
            ("{\"prompt\":null}", "no `prompt` or `messages`; give the row one of them"),
            ("{\"prompt\":\"x\",\"messages\":[]}", "both `prompt` and `messages`; leave one of them out"),
            ("{\"messages\":[]}", "`messages` is empty; give at least one"),
            (
                "{\"messages\":[\"x\"]}",
                "`messages[0]` has no `role`; write {\"role\":\"user\",\"content\":…}",
            ),
            (
                "{\"prompt\":\"x\",\"temperature\":0.5}",
                "`temperature` would be lost; put it into `extra_body`: {\"temperature\":0.5}",
            ),
            (
                "{\"prompt\":\"x\",\"max_completion_tokens\":5}",
                "`max_completion_tokens` would be lost; call it `max_tokens`",
            ),
            (
                "{\"kind\":\"timing\",\"prompt\":\"x\"}",
                "a timing record, not a prompt; give rows with `prompt` or `messages`",
            ),
            (
                "{\"prompt\":\"x\"}{\"prompt\":\"y\"}",
                "more follows the first JSON value at column 15; put each object on a line of its own",
            ),
        ] {
            assert_eq!(read(line).unwrap_err(), problem, "{line}");
        }
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let row = read("{\"prompt\":\"x\",\"category\":\"math\",\"output_tokens\":7}").unwrap();
        assert_eq!((row.prompt.as_deref(), row.max_tokens), (Some("x"), Some(7)));
    }

    #[test]
    fn only_text_is_counted() {
        for (messages, expected) in [
            (r#"[{"role":"system","content":"a"},{"role":"user","content":"b"}]"#, Some(vec!["a", "b"])),
            (r#"[{"role":"user","content":[{"type":"text","text":"a"}]}]"#, Some(vec!["a"])),
            (
                r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{}}]}]"#,
                None,
            ),
            (r#"[{"role":"assistant","content":null,"tool_calls":[]}]"#, None),
        ] {
            let row = read(&format!("{{\"messages\":{messages}}}")).unwrap();
            assert_eq!(texts(&row), expected, "{messages}");
        }
    }
}
