//! One line of a `custom` file.

use records::Prompt;
use serde_json::Value;

use crate::foreign::{self, Foreign};

/// Whether a line is a record of a kind that is not these tools', which only passes by.
pub(crate) fn passes_by(line: &str) -> bool {
    line.contains("\"kind\"") && Prompt::from_row(line) == Ok(None)
}

/// Reads a line in our format or another tool's; the problem, if there is one, says the remedy.
pub(crate) fn read(line: &str) -> Result<Foreign, String> {
    match foreign::read(line)? {
        Some(read) => check(&read.row).map(|()| read),
        None => read_own(line).map(|row| Foreign { row, answer: None }),
    }
}

/// Reads a line in our format.
pub(crate) fn read_own(line: &str) -> Result<Prompt, String> {
    let row = Prompt::from_row(line)?.ok_or("not a prompt; give rows with `prompt` or `messages`")?;
    check(&row).map(|()| row)
}

fn check(row: &Prompt) -> Result<(), String> {
    if row.id.as_deref() == Some("") {
        return Err("`id` is empty; give the row a name, or leave `id` out of all rows".to_owned());
    }
    row.messages.as_deref().map_or(Ok(()), check_messages)
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
            (
                "{\"id\":\"\",\"prompt\":\"x\"}",
                "`id` is empty; give the row a name, or leave `id` out of all rows",
            ),
        ] {
            assert_eq!(read(line).unwrap_err(), problem, "{line}");
        }
    }

    #[test]
    fn records_of_other_kinds_pass_by() {
        for (line, passes) in [
            (r#"{"kind":"gpu","watts":700}"#, true),
            (r#"{"kind":"prompt","v":1,"prompt":"x"}"#, false),
            (r#"{"kind":"timing","v":1}"#, false),
            (r#"{"prompt":"a \"kind\" word"}"#, false),
            (r#"{"kind":"#, false),
        ] {
            assert_eq!(passes_by(line), passes, "{line}");
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
            let row = read_own(&format!("{{\"messages\":{messages}}}")).unwrap();
            assert_eq!(texts(&row), expected, "{messages}");
        }
    }
}
