//! Both engines against each other, and what files may say.

use rand::RngExt;

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

/// The embedded file, cut by another pattern, with or without normal form and merges.
fn variants() -> Vec<Vec<u8>> {
    let mut file: serde_json::Value = serde_json::from_slice(locate::QWEN3_JSON).unwrap();
    let mut variants = vec![serde_json::to_vec(&file).unwrap()];
    let regex = &mut file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"];
    *regex = regex.as_str().unwrap().replace(r"|\p{N}|", r"|\p{N}{1,3}|").into();
    file["model"]["ignore_merges"] = true.into();
    variants.push(serde_json::to_vec(&file).unwrap());
    file["pre_tokenizer"] = serde_json::json!({"type": "ByteLevel", "add_prefix_space": false,
        "trim_offsets": true, "use_regex": true});
    file["normalizer"] = serde_json::Value::Null;
    file["model"]["ignore_merges"] = false.into();
    file["added_tokens"][0]["normalized"] = true.into();
    variants.push(serde_json::to_vec(&file).unwrap());
    variants
}

/// Texts of all scripts, of odd spacing, of half characters and markers; of one piece alone, and of many.
fn texts(tokens: &Tokens) -> Vec<String> {
    let mut rng = crate::generator::of_row(0, 0, 0);
    let parts = [
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\u{A0}",
        "\u{3000}",
        "'s",
        "'S",
        "'ll",
        "'RE",
        "'\u{17F}",
        "a",
        "word",
        " Word",
        "1",
        "23",
        "½",
        "٣",
        "é",
        "e\u{301}",
        "\u{301}",
        "\u{212B}",
        "ﬁ",
        "각",
        "世界",
        "ไทย",
        "🚀",
        "👩\u{200D}💻",
        "\u{FFFD}",
        "!",
        "...",
        "(x)",
        "<|endoftext|>",
        "<|im_end|>",
        "<tool_call>",
        "<|",
        "_",
        "\0",
    ];
    let mut texts = vec![String::new(), "a".repeat(5_000), "世".repeat(3_000), "ab ".repeat(3_000)];
    for _ in 0..4_000 {
        let count = rng.random_range(1..12);
        texts.push((0..count).map(|_| parts[rng.random_range(0..parts.len())]).collect());
        let letters = (0..count).map(|_| char::from_u32(rng.random_range(0..0x3_0000)).unwrap_or('x'));
        texts.push(letters.collect());
    }
    for start in (0..151_680).step_by(160) {
        texts.push(tokens.decode(&(start..start + 170).collect::<Vec<_>>()).unwrap());
        let scattered: Vec<u32> = (0..60).map(|_| rng.random_range(0..151_680)).collect();
        texts.push(tokens.decode(&scattered).unwrap());
    }
    texts
}

#[test]
fn both_engines_are_equal() {
    for json in variants() {
        let ours = Tokens::byte_level(&json).expect("a byte-level tokenizer");
        let reference = Tokens::any("qwen3", &json).unwrap();
        assert_eq!(ours.vocab_size(), reference.vocab_size());
        assert_eq!(ours.special_count(), reference.special_count());
        for text in texts(&reference) {
            let ids = ours.encode(&text).unwrap();
            assert_eq!(ids, reference.encode(&text).unwrap(), "{text:?}");
            assert_eq!(ours.decode(&ids).unwrap(), reference.decode(&ids).unwrap(), "{text:?}");
        }
        for id in 0..151_700 {
            assert_eq!(ours.decode(&[id]).unwrap(), reference.decode(&[id]).unwrap(), "{id}");
            assert_eq!(ours.is_marker(id), reference.is_marker(id), "{id}");
        }
    }
}

#[test]
fn words_prove_to_be_words() {
    for json in variants() {
        let ours = Tokens::byte_level(&json).expect("a byte-level tokenizer");
        let (words, others): (Vec<u32>, Vec<u32>) =
            (0..151_700).partition(|id| ours.is_word(*id) == Some(true));
        assert!(words.len() > 50_000, "{}", words.len());
        for id in words {
            assert!(crate::pool::reads_as_word(&ours, id), "{id}: {:?}", ours.decode(&[id]));
        }
        // Signs that Unicode counts as alphabetic, but not as letters, such as those in circles.
        let missed = others.into_iter().filter(|id| crate::pool::reads_as_word(&ours, *id));
        assert!(missed.count() < 10);
    }
}
