//! How a prompt becomes tokens.
//!
//! There is no tokenizer: a word with the blank before it is a token, and so is each other character. For
//! `gen-dataset random`, which draws whole words, that is exact within a percent, and near enough for other text in
//! alphabetic scripts. Cutting from the start
//! keeps what matters for prefix caching: prompts that start alike have the same first tokens.

use crate::{engine::BLOCK_TOKENS, words::mix};

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
        let mut rest = text;
        while !rest.is_empty() {
            let (token, after) = rest.split_at(token_len(rest));
            self.push(token.chars().fold(0, |hash, c| mix(hash) ^ u64::from(u32::from(c))));
            rest = after;
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

/// Bytes of the token that `text` starts with; `text` is not empty.
fn token_len(text: &str) -> usize {
    let blank = usize::from(text.starts_with(' '));
    let word = text[blank..].find(|c| !in_word(c)).unwrap_or(text.len() - blank);
    if word > 0 { blank + word } else { text.chars().next().map_or(0, char::len_utf8) }
}

/// Letters and digits of scripts that put blanks between words, which Chinese and Japanese do not.
fn in_word(c: char) -> bool {
    c.is_alphanumeric() && !matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}')
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
    fn a_word_with_its_blank_is_a_token_and_so_is_any_other_character() {
        for (given, tokens) in [
            ("", 0),
            (" ", 1),
            ("a", 1),
            (" Caf\u{e9} au lait", 3),
            ("it's 42.", 5),
            ("a  b", 3),
            ("\u{65e5}\u{672c}\u{8a9e}", 3),
            ("a\n\nb", 4),
        ] {
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
        let (a, b) = (text(&" x".repeat(80)), text(&(" x".repeat(40) + &" y".repeat(40))));
        assert_eq!(a.blocks.len(), 5);
        assert_eq!(a.blocks[..2], b.blocks[..2]);
        assert_ne!(a.blocks[2], b.blocks[2]);
        assert_ne!(a.blocks[3], b.blocks[3]);
        assert_eq!(a.blocks.iter().collect::<std::collections::HashSet<_>>().len(), 5);
    }
}
