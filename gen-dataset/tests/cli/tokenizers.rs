//! Small tokenizers for the tests.

use serde_json::{Value, json};

use crate::tool::Tool;

/// Like Llama 2's: `SentencePiece` with byte fallback, a BOS from the post-processor, 105 words of one syllable, and
/// added tokens of which one is not flagged special.
pub(crate) fn sentencepiece(tool: &Tool) -> String {
    let mut tokens: Vec<String> = ["<unk>", "<s>", "</s>"].map(str::to_owned).to_vec();
    tokens.extend((0..=255).map(|byte| format!("<0x{byte:02X}>")));
    tokens.extend(('a'..='z').map(String::from));
    tokens.push("▁".to_owned());
    let mut merges = Vec::new();
    for (consonant, vowel) in syllables() {
        merges.push([consonant.to_string(), vowel.to_string()]);
        tokens.push(format!("{consonant}{vowel}"));
    }
    for (consonant, vowel) in syllables() {
        merges.push(["▁".to_owned(), format!("{consonant}{vowel}")]);
        tokens.push(format!("▁{consonant}{vowel}"));
    }
    let end = tokens.len();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [
            added(0, "<unk>", true), added(1, "<s>", true), added(2, "</s>", true),
            added(end, "<|end|>", true), added(end + 1, "<|video|>", false),
        ],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ]},
        "pre_tokenizer": null,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ]},
        "model": model(&tokens, &merges, &json!("<unk>"), true),
    });
    save(tool, "sentencepiece.json", &tokenizer)
}

/// No words at all: eight letters and all their pairs, which merge across the borders of what was drawn, and an
/// added token that such text can spell.
pub(crate) fn letters(tool: &Tool) -> String {
    let letters = || ('a'..='h').map(String::from);
    let mut tokens: Vec<String> = letters().collect();
    let mut merges = Vec::new();
    for one in letters() {
        for other in letters() {
            tokens.push(format!("{one}{other}"));
            merges.push([one.clone(), other]);
        }
    }
    let end = tokens.len();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [added(end, "<|end|>", true), added(end + 1, "cab", false)],
        "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
        "model": model(&tokens, &merges, &Value::Null, false),
    });
    save(tool, "letters.json", &tokenizer)
}

fn syllables() -> impl Iterator<Item = (char, char)> {
    let consonants = ('a'..='z').filter(|letter| !"aeiou".contains(*letter));
    consonants.flat_map(|consonant| "aeiou".chars().map(move |vowel| (consonant, vowel)))
}

fn added(id: usize, content: &str, special: bool) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
           "normalized": false, "special": special})
}

fn model(tokens: &[String], merges: &[[String; 2]], unknown: &Value, byte_fallback: bool) -> Value {
    let vocab: serde_json::Map<String, Value> =
        tokens.iter().enumerate().map(|(id, token)| (token.clone(), json!(id))).collect();
    json!({"type": "BPE", "dropout": null, "unk_token": unknown, "continuing_subword_prefix": null,
           "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": byte_fallback, "ignore_merges": false,
           "vocab": vocab, "merges": merges})
}

fn save(tool: &Tool, name: &str, tokenizer: &Value) -> String {
    tool.write(name, tokenizer.to_string()).display().to_string()
}
