//! `--max-model-len`: the model's context.

use records::{Error, Prompt, Result};
use serde_json::json;

use crate::Tokens;

/// Keeps prompt and output of each row within the model's context, and counts what that took.
pub(crate) struct Limit<'a> {
    tokens: &'a Tokens,
    most: Option<u64>,
    chat: bool,
    shortened: u64,
    dropped: u64,
}

impl<'a> Limit<'a> {
    /// `most` tokens for the output and for the prompt, with what a server adds to it: special tokens or, for a `chat`
    /// endpoint, the chat template.
    pub(crate) fn new(tokens: &'a Tokens, most: Option<u64>, chat: bool) -> Self {
        Self { tokens, most, chat, shortened: 0, dropped: 0 }
    }

    /// The row with its output cut to what fits; `None` if not even one output token does.
    pub(crate) fn fit(&mut self, mut row: Prompt) -> Result<Option<Prompt>> {
        let (Some(most), Some(output)) = (self.most, row.max_tokens) else { return Ok(Some(row)) };
        let room = most.saturating_sub(self.prompt_tokens(&row)?);
        if room == 0 {
            self.dropped += 1;
            return Ok(None);
        }
        if output > room {
            self.shortened += 1;
            row.max_tokens = Some(room);
        }
        Ok(Some(row))
    }

    /// Tokens of the prompt as the server will have it.
    fn prompt_tokens(&self, row: &Prompt) -> Result<u64> {
        let unknown = "--max-model-len needs `prompt_tokens`, which cannot be counted for messages with parts other \
                       than text; state it in the row";
        let name = |problem: &str| {
            Error::usage(format!("row {}: {problem}", row.id.as_deref().unwrap_or("without id")))
        };
        let prompt = row.prompt_tokens.ok_or_else(|| name(unknown))?;
        if !self.chat {
            return Ok(prompt.saturating_add(self.tokens.special_count()));
        }
        let one = [json!({"role": "user", "content": row.prompt})];
        let text = self.tokens.chat(row.messages.as_deref().unwrap_or(&one));
        self.tokens.count(&text.map_err(|error| name(&error.to_string()))?)
    }

    /// What was changed, if anything was.
    pub(crate) fn remark(&self) -> Option<String> {
        (self.shortened + self.dropped > 0).then(|| {
            format!(
                "--max-model-len {}: output shortened in {} rows, {} rows dropped (prompt too long)",
                self.most.unwrap_or_default(),
                self.shortened,
                self.dropped
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(limit: &mut Limit, prompt: u64, output: u64) -> Option<u64> {
        let row = Prompt { prompt_tokens: Some(prompt), max_tokens: Some(output), ..Prompt::default() };
        limit.fit(row).unwrap().and_then(|row| row.max_tokens)
    }

    #[test]
    fn the_rows_own_output_counts() {
        let tokens = Tokens::load("qwen3").unwrap();
        let mut limit = Limit::new(&tokens, Some(256), false);
        for (prompt, output, fits) in [
            (100, 100, Some(100)),
            (246, 10, Some(10)),
            (250, 10, Some(6)),
            (100, 200, Some(156)),
            (255, 1, Some(1)),
            (256, 1, None),
            (300, 10, None),
        ] {
            assert_eq!(fitted(&mut limit, prompt, output), fits, "{prompt}+{output}");
        }
        assert_eq!(
            limit.remark().unwrap(),
            "--max-model-len 256: output shortened in 2 rows, 2 rows dropped (prompt too long)"
        );
    }

    #[test]
    fn a_chat_templates_tokens_count() {
        let tokens = Tokens::load("qwen3").unwrap();
        let row = Prompt {
            prompt: Some("Hello".to_owned()),
            prompt_tokens: Some(1),
            max_tokens: Some(10),
            ..Prompt::default()
        };
        // <|im_start|> user ⏎ Hello <|im_end|> ⏎ <|im_start|> assistant ⏎
        let fitted = Limit::new(&tokens, Some(12), true).fit(row).unwrap().unwrap();
        assert_eq!(fitted.max_tokens, Some(3));
    }

    #[test]
    fn no_limit_changes_nothing() {
        let tokens = Tokens::load("qwen3").unwrap();
        let mut limit = Limit::new(&tokens, None, false);
        assert_eq!(fitted(&mut limit, 1 << 40, 10), Some(10));
        assert_eq!(limit.remark(), None);
    }

    #[test]
    fn an_unknown_prompt_length_cannot_be_judged() {
        let tokens = Tokens::load("qwen3").unwrap();
        let row = Prompt { max_tokens: Some(1), ..Prompt::default() };
        let error = Limit::new(&tokens, Some(256), false).fit(row).unwrap_err().to_string();
        assert!(error.contains("`prompt_tokens`"), "{error}");
    }
}
