//! What real servers sent, byte for byte.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    server::{Server, Step},
    tool::{fire, rows},
};

/// Plays the reads of a capture with its pauses, and returns the row.
fn replay(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name);
    let text = fs::read_to_string(path).unwrap();
    let mut last = 0;
    let mut steps = Vec::new();
    for line in text.lines().skip(1) {
        let read: Value = serde_json::from_str(line).unwrap();
        let at = read["us"].as_u64().unwrap() / 1000;
        steps.extend([Step::Wait(at - last), Step::Send(decoded(read["b64"].as_str().unwrap()))]);
        last = at;
    }
    steps.push(Step::Close);
    let server = Server::start(move |_| steps.clone());
    let done = fire(&server.url, &["--backend", "openai-chat"], &rows(1));
    done.rows()[0].clone()
}

fn decoded(base64: &str) -> Vec<u8> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let values: Vec<u32> =
        base64.chars().filter_map(|letter| LETTERS.find(letter)).map(|at| at as u32).collect();
    let group = |group: &[u32]| {
        let word = group.iter().fold(0, |word, value| word << 6 | value) << (6 * (4 - group.len()));
        word.to_be_bytes()[1..group.len()].to_vec()
    };
    values.chunks(4).flat_map(group).collect()
}

#[test]
fn vllm() {
    let row = replay("vllm-chat.jsonl");
    assert_eq!((&row["outcome"], &row["finish_reason"]), (&json!("ok"), &json!("length")), "{row}");
    assert_eq!((&row["prompt_tokens"], &row["output_tokens"]), (&json!(12), &json!(24)));
    let events = row["events"].as_str().unwrap();
    assert!(events.starts_with("rt") && events.ends_with("tud"), "{events}");
    assert_eq!(row["ttft_us"], row["events_us"][1]);
}

#[test]
fn llama_cpp() {
    let row = replay("llama.cpp-chat.jsonl");
    assert_eq!((&row["outcome"], &row["finish_reason"]), (&json!("ok"), &json!("length")), "{row}");
    assert_eq!(
        (&row["prompt_tokens"], &row["output_tokens"], &row["cached_tokens"]),
        (&json!(40), &json!(24), &json!(0))
    );
    let events = row["events"].as_str().unwrap();
    assert!(events.starts_with("rc") && events.ends_with("cfud"), "{events}");
}
