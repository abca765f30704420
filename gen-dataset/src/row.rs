//! One line of a `custom` file.

use records::Prompt;
use serde_json::Value;

/// Reads a line; the problem, if there is one, says the remedy.
pub(crate) fn read(line: &str) -> Result<Prompt, String> {
    let row = Prompt::from_row(line)?.ok_or("not a prompt; give rows with `prompt` or `messages`")?;
    row.messages.as_deref().map_or(Ok(()), check_messages).map(|()| row)
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
            ("{\"messages\":[]}", "`messages` is empty; give at least one"),
            (
                "{\"messages\":[\"x\"]}",
                "`messages[0]` has no `role`; write {\"role\":\"user\",\"content\":…}",
            ),
        ] {
            assert_eq!(read(line).unwrap_err(), problem, "{line}");
        }
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
