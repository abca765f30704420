//! The tokenizer, as far as a dataset needs one.

use std::collections::HashSet;

use records::{Error, Result};
use tokenizers::{
    DecoderWrapper, NormalizerWrapper, PostProcessor, PostProcessorWrapper, PreTokenizerWrapper, Tokenizer,
    TokenizerImpl, models::bpe::BPE,
};

use crate::locate;

/// Named outright, a BPE model is read in one pass; [`Tokenizer`] has to buffer it first to see which model it is.
type BpeTokenizer =
    TokenizerImpl<BPE, NormalizerWrapper, PreTokenizerWrapper, PostProcessorWrapper, DecoderWrapper>;

/// A model's tokenizer. Special tokens are never added: what it counts is the text alone.
pub struct Tokens {
    tokenizer: Tokenizer,
    added: HashSet<u32>,
}

impl Tokens {
    /// The tokenizer called `name`: `qwen3` (embedded), a `tokenizer.json`, a model folder, or a Hugging Face model id.
    pub fn load(name: &str) -> Result<Self> {
        locate::load(name)
    }

    /// Reads a `tokenizer.json`, calling it `what` in errors.
    pub fn from_json(what: &str, json: &[u8]) -> Result<Self> {
        let mut tokenizer = match serde_json::from_slice::<BpeTokenizer>(json) {
            Ok(tokenizer) => Tokenizer::from(tokenizer),
            Err(_) => Tokenizer::from_bytes(json)
                .map_err(|error| Error::usage(format!("{what}: not a tokenizer.json: {error}")))?,
        };
        // Some files carry the settings of a training run; either would falsify every count.
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| Error::usage(format!("{what}: truncation cannot be switched off: {error}")))?;
        let added = tokenizer.get_added_tokens_decoder().into_keys().collect();
        Ok(Self { tokenizer, added })
    }

    /// How many tokens `text` is.
    pub fn count(&self, text: &str) -> Result<u64> {
        self.encode(text).map(|ids| ids.len() as u64)
    }

    /// The tokens of `text`.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        match self.tokenizer.encode_fast(text, false) {
            Ok(encoding) => Ok(encoding.get_ids().to_vec()),
            Err(error) => Err(Error::usage(format!("the tokenizer cannot encode a text: {error}"))),
        }
    }

    /// The text of `ids`.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        self.tokenizer
            .decode(ids, false)
            .map_err(|error| Error::usage(format!("the tokenizer cannot decode its own tokens: {error}")))
    }

    /// Whether `id` lies in the added vocabulary: special tokens, and markers that are not flagged special.
    #[must_use]
    pub fn is_added(&self, id: u32) -> bool {
        self.added.contains(&id)
    }

    /// The ids of the model's own vocabulary, added tokens left out.
    pub(crate) fn base_ids(&self) -> Vec<u32> {
        let size = u32::try_from(self.tokenizer.get_vocab_size(false)).unwrap_or(u32::MAX);
        (0..size).filter(|id| !self.is_added(*id)).collect()
    }

    /// Whether `id` is a marker such as `<unk>` or `[UNK]` that the file does not list as an added token.
    pub(crate) fn is_marker(&self, id: u32) -> bool {
        self.tokenizer.id_to_token(id).is_none_or(|token| {
            token.len() > 2
                && ((token.starts_with('<') && token.ends_with('>'))
                    || (token.starts_with('[') && token.ends_with(']')))
        })
    }

    /// How many special tokens a server puts around the text of one prompt (BOS, say).
    #[must_use]
    pub fn special_count(&self) -> u64 {
        self.tokenizer.get_post_processor().map_or(0, |processor| processor.added_tokens(false)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = r#"{"version":"1.0",
        "truncation":{"direction":"Right","max_length":2,"strategy":"LongestFirst","stride":0},
        "padding":{"strategy":{"Fixed":8},"direction":"Right","pad_to_multiple_of":null,"pad_id":0,
                   "pad_type_id":0,"pad_token":"[PAD]"},
        "added_tokens":[{"id":3,"content":"<|x|>","single_word":false,"lstrip":false,"rstrip":false,
                         "normalized":false,"special":false}],
        "normalizer":null,"pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,
        "model":{"type":"WordLevel","vocab":{"[UNK]":0,"one":1,"two":2},"unk_token":"[UNK]"}}"#;

    #[test]
    fn truncation_and_padding_in_the_file_change_no_count() {
        let tokens = Tokens::from_json("words", WORDS.as_bytes()).unwrap();
        assert_eq!(tokens.count("one two one").unwrap(), 3);
    }

    #[test]
    fn added_tokens_and_markers_are_known() {
        let tokens = Tokens::from_json("words", WORDS.as_bytes()).unwrap();
        assert_eq!(tokens.base_ids(), [0, 1, 2]);
        assert!(tokens.is_added(3) && !tokens.is_added(1));
        assert!(tokens.is_marker(0) && !tokens.is_marker(1));
        assert_eq!(tokens.special_count(), 0);
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        let error = Tokens::from_json("page.html", b"<html>").err().unwrap().to_string();
        assert!(error.starts_with("page.html: not a tokenizer.json: "), "{error}");
    }
}
