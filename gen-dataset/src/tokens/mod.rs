//! The tokenizer, as far as a dataset needs one.

mod alphabet;
mod byte_level;
mod cache;
mod chat;
mod classes;
mod config;
mod file;
mod merges;
mod split;

use hashbrown::HashSet;
use records::{Error, Result};
use serde_json::Value;
use tokenizers::{PostProcessor, Tokenizer};

use crate::locate;
use byte_level::ByteLevel;
use chat::Chat;
pub(crate) use config::Config;
use file::File;

/// A model's tokenizer. Special tokens are never added: what it counts is the text alone.
pub struct Tokens {
    engine: Engine,
    added: HashSet<u32>,
    /// Those that have a role or, where no configuration says so, all that are flagged special.
    special: HashSet<u32>,
    special_count: u64,
    /// By `transformers` before 5.
    old_special_count: u64,
    clean_up: bool,
    /// The chat template, or why it can't be used.
    chat: Option<std::result::Result<Chat, String>>,
}

/// What does the work.
enum Engine {
    /// Byte-level BPE of a known pattern.
    ByteLevel(Box<ByteLevel>),
    /// Any other kind.
    Any(Box<Tokenizer>),
}

impl Tokens {
    /// The tokenizer called `name`: `qwen3` (embedded), a `tokenizer.json`, a model folder, or a Hugging Face model id.
    pub fn load(name: &str) -> Result<Self> {
        locate::load(name)
    }

    /// Reads a `tokenizer.json`, calling it `what` in errors.
    pub fn from_json(what: &str, json: &[u8]) -> Result<Self> {
        Self::byte_level(json).map_or_else(|| Self::any(what, json), Ok)
    }

    fn byte_level(json: &[u8]) -> Option<Self> {
        // Checked once, and not string by string.
        let json = std::str::from_utf8(json).ok()?;
        let file: File = serde_json::from_str(json).ok()?;
        let added = file.added_tokens.iter().map(|token| token.id).collect();
        let special = file.added_tokens.iter().filter(|token| token.special).map(|token| token.id).collect();
        let engine = ByteLevel::new(&file)?;
        let special_count = engine.special_count();
        Some(Self::plain(Engine::ByteLevel(Box::new(engine)), added, special, special_count))
    }

    /// By the `tokenizers` crate, which reads them all.
    fn any(what: &str, json: &[u8]) -> Result<Self> {
        let mut tokenizer = Tokenizer::from_bytes(json)
            .map_err(|error| Error::usage(format!("{what}: not a tokenizer.json: {error}")))?;
        // Some files carry the settings of a training run; either would falsify every count.
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| Error::usage(format!("{what}: truncation cannot be switched off: {error}")))?;
        let tokens = tokenizer.get_added_tokens_decoder();
        let special = tokens.iter().filter(|(_, token)| token.special).map(|(id, _)| *id).collect();
        let added = tokens.into_keys().collect();
        let special_count =
            tokenizer.get_post_processor().map_or(0, |processor| processor.added_tokens(false));
        Ok(Self::plain(Engine::Any(Box::new(tokenizer)), added, special, special_count as u64))
    }

    fn plain(engine: Engine, added: HashSet<u32>, special: HashSet<u32>, special_count: u64) -> Self {
        let old_special_count = special_count;
        Self { engine, added, special, special_count, old_special_count, clean_up: false, chat: None }
    }

    /// Adds what the model's `tokenizer_config.json` says.
    pub(crate) fn configure(&mut self, config: Config) {
        self.special = self.ids(&config.special);
        self.old_special_count = config.old_special_count.unwrap_or(self.special_count);
        self.clean_up = config.clean_up;
        self.chat = config.template.map(|template| Chat::new(template, config.roles));
    }

    fn ids(&self, names: &[String]) -> HashSet<u32> {
        match &self.engine {
            Engine::ByteLevel(engine) => engine.ids(names),
            Engine::Any(tokenizer) => names.iter().filter_map(|token| tokenizer.token_to_id(token)).collect(),
        }
    }

    /// The text that a server makes of chat messages, up to where the answer begins.
    pub(crate) fn chat(&self, messages: &[Value]) -> Result<String> {
        let chat = self.chat.as_ref().ok_or_else(|| {
            Error::usage(
                "--tokenizer: no chat template is known; put the model's tokenizer_config.json (and \
                 chat_template.jinja, if it has one) beside its tokenizer.json",
            )
        })?;
        let fail = |reason: &String| Error::usage(format!("--tokenizer: the chat template: {reason}"));
        chat.as_ref().map_err(fail)?.text(messages).map_err(|reason| fail(&reason))
    }

    /// How many tokens `text` is.
    pub fn count(&self, text: &str) -> Result<u64> {
        self.encode(text).map(|ids| ids.len() as u64)
    }

    /// The tokens of `text`.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        match &self.engine {
            Engine::ByteLevel(engine) => Ok(engine.encode(text)),
            Engine::Any(tokenizer) => match tokenizer.encode_fast(text, false) {
                Ok(encoding) => Ok(encoding.get_ids().to_vec()),
                Err(error) => Err(Error::usage(format!("the tokenizer cannot encode a text: {error}"))),
            },
        }
    }

    /// The text of `ids`.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        match &self.engine {
            Engine::ByteLevel(engine) => Ok(engine.decode(ids)),
            Engine::Any(tokenizer) => tokenizer.decode(ids, false).map_err(|error| {
                Error::usage(format!("the tokenizer cannot decode its own tokens: {error}"))
            }),
        }
    }

    /// The text of `ids` as `transformers` 4 decodes: where the configuration asks for it, without the spaces before
    /// punctuation.
    pub(crate) fn decode_clean(&self, ids: &[u32]) -> Result<String> {
        let text = self.decode(ids)?;
        Ok(if self.clean_up { cleaned(text) } else { text })
    }

    /// Whether `id` lies in the added vocabulary: special tokens, and markers that are not flagged special.
    #[must_use]
    pub fn is_added(&self, id: u32) -> bool {
        self.added.contains(&id)
    }

    /// Tokens of the model's own vocabulary: Hugging Face's `vocab_size`, which leaves added tokens out.
    #[must_use]
    pub fn vocab_size(&self) -> u32 {
        match &self.engine {
            Engine::ByteLevel(engine) => engine.vocab_size(),
            Engine::Any(tokenizer) => u32::try_from(tokenizer.get_vocab_size(false)).unwrap_or(u32::MAX),
        }
    }

    /// The ids of the model's own vocabulary, added tokens left out.
    pub(crate) fn base_ids(&self) -> Vec<u32> {
        (0..self.vocab_size()).filter(|id| !self.is_added(*id)).collect()
    }

    /// The ids of the model's own vocabulary, special tokens left out.
    pub(crate) fn unspecial_ids(&self) -> Vec<u32> {
        (0..self.vocab_size()).filter(|id| !self.special.contains(id)).collect()
    }

    /// Whether `id` is a word with a space before it that keeps to itself: between other such words, it encodes to the
    /// one token that it is. `None`: this has to be tried.
    pub(crate) fn is_word(&self, id: u32) -> Option<bool> {
        match &self.engine {
            Engine::ByteLevel(engine) => Some(engine.is_word(id)),
            Engine::Any(_) => None,
        }
    }

    /// Prepares for text that is made of `words`, each of which [is one](Self::is_word).
    pub(crate) fn remember(&self, words: &[u32]) {
        if let Engine::ByteLevel(engine) = &self.engine {
            engine.remember(words);
        }
    }

    /// Whether `id` is a marker such as `<unk>` or `[UNK]` that the file does not list as an added token.
    pub(crate) fn is_marker(&self, id: u32) -> bool {
        match &self.engine {
            Engine::ByteLevel(engine) => engine.piece(id).is_empty() || reads_as_marker(engine.piece(id)),
            Engine::Any(tokenizer) => {
                tokenizer.id_to_token(id).is_none_or(|token| reads_as_marker(token.as_bytes()))
            }
        }
    }

    /// How many special tokens a server puts around the text of one prompt (BOS, say).
    #[must_use]
    pub fn special_count(&self) -> u64 {
        self.special_count
    }

    /// The same by `transformers` before version 5, where some classes of tokenizers go by flags of their own.
    pub(crate) fn old_special_count(&self) -> u64 {
        self.old_special_count
    }
}

/// `clean_up_tokenization` of `transformers`, one replacement after the other.
fn cleaned(text: String) -> String {
    const CHANGES: [(&str, &str); 10] = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    CHANGES.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

fn reads_as_marker(token: &[u8]) -> bool {
    matches!(token, [b'<', _, .., b'>'] | [b'[', _, .., b']'])
}
#[cfg(test)]
mod tests;
