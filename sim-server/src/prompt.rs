//! How a prompt becomes tokens.
//!
//! There is no tokenizer: [`CHARS_PER_TOKEN`] characters are a token, and so is a shorter rest. That is within a
//! few percent for text made of random tokens (5.0 characters a token with Qwen3's vocabulary) and about a tenth low
//! for English. Cutting from the start keeps what matters for prefix caching: prompts that start alike have the same
//! first tokens.

use crate::{engine::BLOCK_TOKENS, words::mix};

/// Characters in a token.
pub const CHARS_PER_TOKEN: usize = 5;

/// A prompt as the engine sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    /// Its length.
    pub tokens: u32,
    /// One hash for each full block, which depends on all tokens up to the block's end.
    pub blocks: Vec<u64>,
    /// A hash of everything.
    pub hash: u64,
}

impl Prompt {
    /// Adds one token.
    pub fn push(&mut self, token: u64) {
        self.hash = mix(self.hash ^ mix(token));
        self.tokens += 1;
        if self.tokens.is_multiple_of(BLOCK_TOKENS) {
            self.blocks.push(self.hash);
        }
    }

    /// Adds the tokens of `text`.
    pub fn push_text(&mut self, text: &str) {
        let mut token = 0;
        let mut chars = 0;
        for c in text.chars() {
            token = mix(token) ^ u64::from(u32::from(c));
            chars += 1;
            if chars == CHARS_PER_TOKEN {
                self.push(token);
                (token, chars) = (0, 0);
            }
        }
        if chars > 0 {
            self.push(token);
        }
    }

    /// Adds a chat message: 5 tokens beside its text, as Qwen's template has.
    pub fn push_message(&mut self, role: &str, parts: &[&str]) {
        let role = role.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)));
        for mark in [0, role, 2] {
            self.push(mark);
        }
        for part in parts {
            self.push_text(part);
        }
        for mark in 3..5 {
            self.push(mark);
        }
    }

    /// Adds the 3 tokens that open the answer in a chat.
    pub fn open_answer(&mut self) {
        for mark in 5..8 {
            self.push(mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Prompt {
        let mut prompt = Prompt::default();
        prompt.push_text(text);
        prompt
    }

    #[test]
    fn five_characters_or_the_rest_are_a_token() {
        for (given, tokens) in [("", 0), ("a", 1), ("abcde", 1), ("abcdef", 2), ("äöüßé", 1)] {
            assert_eq!(text(given).tokens, tokens, "{given:?}");
        }
    }

    #[test]
    fn a_chat_adds_five_a_message_and_three() {
        let mut prompt = Prompt::default();
        prompt.push_message("user", &["Name three rivers."]);
        prompt.open_answer();
        assert_eq!(prompt.tokens, 12);
    }

    #[test]
    fn blocks_agree_as_far_as_the_text_does() {
        let (a, b) = (text(&"x".repeat(400)), text(&("x".repeat(200) + &"y".repeat(200))));
        assert_eq!(a.blocks.len(), 5);
        assert_eq!(a.blocks[..2], b.blocks[..2]);
        assert_ne!(a.blocks[2], b.blocks[2]);
        assert_ne!(a.blocks[3], b.blocks[3]);
        assert_eq!(a.blocks.iter().collect::<std::collections::HashSet<_>>().len(), 5);
    }
}
