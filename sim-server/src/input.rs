//! The shapes in which a prompt is sent.

use serde::Deserialize;

use crate::{prompt::Prompt, refusal::Refusal};

/// The `prompt` of a completion.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Input {
    Text(String),
    Ids(Vec<u32>),
    Texts(Vec<String>),
    IdLists(Vec<Vec<u32>>),
}

/// A message of a chat. Parts that are not text (images) count as nothing.
#[derive(Deserialize)]
pub(crate) struct Message {
    role: String,
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

/// The prompt that a chat amounts to.
pub(crate) fn chat_prompt(messages: &[Message]) -> Prompt {
    let mut prompt = Prompt::default();
    for message in messages {
        let parts: Vec<&str> = match &message.content {
            None => Vec::new(),
            Some(Content::Text(text)) => vec![text],
            Some(Content::Parts(parts)) => parts.iter().map(|part| part.text.as_str()).collect(),
        };
        prompt.push_message(&message.role, &parts);
    }
    if !messages.is_empty() {
        prompt.open_answer();
    }
    prompt
}

/// The prompt of a completion; empty if there is none.
pub(crate) fn completion_prompt(input: Option<&Input>) -> Result<Prompt, Refusal> {
    let mut prompt = Prompt::default();
    match input {
        None => {}
        Some(Input::Text(text)) => prompt.push_text(text),
        Some(Input::Ids(ids)) => ids.iter().for_each(|&id| prompt.push(id.into())),
        Some(Input::Texts(texts)) if texts.len() == 1 => prompt.push_text(&texts[0]),
        Some(Input::IdLists(lists)) if lists.len() == 1 => {
            lists[0].iter().for_each(|&id| prompt.push(id.into()));
        }
        Some(Input::Texts(_) | Input::IdLists(_)) => {
            return Err(Refusal::bad("prompt", "`prompt` must be one prompt: this server takes no batches."));
        }
    }
    Ok(prompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(json: &str) -> Result<u32, Refusal> {
        completion_prompt(Some(&serde_json::from_str(json).unwrap())).map(|prompt| prompt.tokens)
    }

    #[test]
    fn a_completion_takes_text_or_ids_bare_or_as_the_only_one_of_a_list() {
        for (json, tokens) in
            [(r#""two words""#, 2), (r#"["two words"]"#, 2), ("[1,2,3]", 3), ("[[1,2,3]]", 3)]
        {
            assert_eq!(completion(json).unwrap(), tokens, "{json}");
        }
        assert!(completion(r#"["x","y"]"#).is_err());
        assert!(completion("[[1],[2]]").is_err());
    }

    #[test]
    fn a_message_takes_text_or_parts_or_nothing() {
        let image = r#"[{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"two words"}]"#;
        for (content, tokens) in [(r#""two words""#, 10), (image, 10), ("null", 8)] {
            let message = serde_json::from_str(&format!(r#"{{"role":"user","content":{content}}}"#)).unwrap();
            assert_eq!(chat_prompt(&[message]).tokens, tokens, "{content}");
        }
    }
}
