//! Which events carry tokens, and how many.

use serde_json::{Value, json};

use crate::{
    server::{LAST, Server, TOKEN, USAGE, stream},
    tool::{fire, ms, rows},
};

fn first(args: &[&str], events: &'static [&'static str]) -> (Value, Value) {
    let server = Server::start(move |_| stream(20, events));
    let done = fire(&server.url, args, &rows(1));
    (done.rows()[0].clone(), server.seen()[0].body.clone())
}

const CHAT: &[&str] = &["--backend", "openai-chat"];

#[test]
fn f10_usage_with_empty_choices() {
    for args in [&[] as &[&str], &["--extra-body", r#"{"stream_options":null}"#]] {
        let (row, body) = first(args, &[TOKEN, TOKEN, LAST, USAGE, "[DONE]"]);
        assert_eq!(body.get("stream_options").is_some(), args.is_empty());
        assert_eq!(
            (&row["outcome"], &row["events"], &row["output_tokens"], &row["prompt_tokens"]),
            (&json!("ok"), &json!("cccud"), &json!(3), &json!(5))
        );
        assert_eq!(row["row_prompt_tokens"], 2);
    }
}

#[test]
fn f12_without_usage_tokens_are_counted_and_marked() {
    let (row, body) = first(&[], &[TOKEN, LAST, "[DONE]"]);
    assert_eq!(body["stream_options"]["include_usage"], true);
    assert_eq!((&row["output_tokens"], &row["tokens_from"]), (&json!(2), &json!("events")));
    assert_eq!((&row["max_tokens"], &row["prompt_tokens"]), (&json!(3), &json!(2)));
}

#[test]
fn f15_the_role_is_no_token() {
    let role = r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#;
    let token = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    let last = r#"{"choices":[{"delta":{"content":"b"},"finish_reason":"length"}]}"#;
    let events: &'static [&'static str] = vec![role, token, last, USAGE, "[DONE]"].leak();
    let (row, _) = first(CHAT, events);
    assert_eq!(row["events"], "rccud");
    assert_eq!(row["ttft_us"], row["events_us"][1]);
    assert!(ms(&row, "ttft_us") >= 40.0, "{row}");
}

#[test]
fn f16_thinking_is_output() {
    let thinking = r#"{"choices":[{"delta":{"reasoning_content":"a","content":null}}]}"#;
    let last = r#"{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}"#;
    let (row, _) = first(CHAT, vec![thinking, thinking, last, "[DONE]"].leak());
    assert_eq!((&row["events"], &row["output_tokens"]), (&json!("hhcd"), &json!(3)));
    assert_eq!((&row["ttft_us"], &row["e2e_us"]), (&row["events_us"][0], &row["events_us"][2]));
}

#[test]
fn f19_usage_counts_several_tokens_in_an_event() {
    let (row, _) = first(&[], &[TOKEN, LAST, USAGE, "[DONE]"]);
    assert_eq!((&row["output_tokens"], &row["tokens_from"]), (&json!(3), &json!("usage")));
    assert_eq!(row["events"], "ccud");
}

#[test]
fn f23_no_token_at_all_is_an_answer() {
    let finish = r#"{"choices":[{"index":0,"finish_reason":"stop"}]}"#;
    let none = r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}"#;
    let (row, _) = first(&[], vec![finish, none, "[DONE]"].leak());
    assert_eq!((&row["outcome"], &row["output_tokens"]), (&json!("ok"), &json!(0)));
    assert_eq!((&row["ttft_us"], &row["e2e_us"]), (&Value::Null, &Value::Null));
}
