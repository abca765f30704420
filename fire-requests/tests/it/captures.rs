//! What real servers sent, byte for byte.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    server::{Server, Step},
    tool::{fire, rows},
};

const CHAT: [&str; 2] = ["--backend", "openai-chat"];

/// Plays the reads of a capture with its pauses, and returns the row of a request with these flags.
fn replay(name: &str, flags: &[&str]) -> Value {
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
    let done = fire(&server.url, flags, &rows(1));
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
    let row = replay("vllm-chat.jsonl", &CHAT);
    assert_eq!((&row["outcome"], &row["finish_reason"]), (&json!("ok"), &json!("length")), "{row}");
    assert_eq!((&row["prompt_tokens"], &row["output_tokens"]), (&json!(12), &json!(24)));
    let events = row["events"].as_str().unwrap();
    assert!(events.starts_with("rt") && events.ends_with("tud"), "{events}");
    assert_eq!(row["ttft_us"], row["events_us"][1]);
}

#[test]
fn llama_cpp() {
    let row = replay("llama.cpp-chat.jsonl", &CHAT);
    assert_eq!((&row["outcome"], &row["finish_reason"]), (&json!("ok"), &json!("length")), "{row}");
    assert_eq!(
        (&row["prompt_tokens"], &row["output_tokens"], &row["cached_tokens"]),
        (&json!(40), &json!(24), &json!(0))
    );
    let events = row["events"].as_str().unwrap();
    assert!(events.starts_with("rc") && events.ends_with("cfud"), "{events}");
}

/// Each with the events, the finish reason, and the counts of prompt, output and cached tokens.
#[test]
fn other_streams() {
    for (name, backend, events, reason, counts) in [
        ("vllm-completions-logprobs.jsonl", "openai", "ccccccud", "length", json!([4, 6, null])),
        (
            "vllm-chat-continuous-usage.jsonl",
            "openai-chat",
            "rccccccccccccccccud",
            "length",
            json!([16, 16, null]),
        ),
        (
            "vllm-responses.jsonl",
            "openai-responses",
            "oooottttttttttttttttooof",
            "max_output_tokens",
            json!([12, 16, 0]),
        ),
        ("llama.cpp-native-completion.jsonl", "llamacpp", "ccccccccccccccccs", "limit", json!([4, 16, 3])),
    ] {
        let row = replay(name, &["--backend", backend, "--save-text"]);
        let counted = json!([row["prompt_tokens"], row["output_tokens"], row["cached_tokens"]]);
        assert_eq!((&row["outcome"], &row["events"]), (&json!("ok"), &json!(events)), "{name}: {row}");
        assert_eq!((&row["finish_reason"], counted), (&json!(reason), counts), "{name}");
        assert_eq!(row["tokens_from"], "usage", "{name}");
    }
}

#[test]
fn texts() {
    for (name, backend, field, text) in [
        (
            "llama.cpp-native-completion.jsonl",
            "llamacpp",
            "text",
            ", when you were just a child, you could walk up to anyone and touch",
        ),
        (
            "vllm-responses.jsonl",
            "openai-responses",
            "reasoning_text",
            ".btnExit_ifaceдо;! düzenlenen;!啐;!ていました\")]\r\n蜘蛛气味溦.solve答 geçir",
        ),
    ] {
        assert_eq!(replay(name, &["--backend", backend, "--save-text"])[field], text, "{name}");
    }
}

#[test]
fn whole_answers() {
    for (name, text, thinking, counts) in [
        ("llama.cpp-not-streamed.jsonl", json!("Dhampi: Dhampi"), Value::Null, json!([40, 8, 39])),
        (
            "vllm-not-streamed.jsonl",
            json!(""),
            json!("ออนไล璩信息安全بقاء ciסור השאלה.,\n"),
            json!([12, 8, null]),
        ),
    ] {
        let row = replay(name, &["--backend", "openai-chat", "--no-stream", "--save-text"]);
        let counted = json!([row["prompt_tokens"], row["output_tokens"], row["cached_tokens"]]);
        assert_eq!((&row["outcome"], &row["events"]), (&json!("ok"), &json!("w")), "{name}: {row}");
        assert_eq!((&row["text"], &row["reasoning_text"]), (&text, &thinking), "{name}");
        assert_eq!((&row["finish_reason"], counted), (&json!("length"), counts), "{name}");
        assert_eq!((&row["ttft_us"], &row["e2e_us"]), (&Value::Null, &row["events_us"][0]), "{name}");
    }
}
