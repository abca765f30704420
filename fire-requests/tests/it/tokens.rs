//! Which events carry tokens, and how many.

use serde_json::{Value, json};

use crate::{
    baseline::{
        CHAT, LATENCY, Plan, Stage, TTFT, WORDS, completion, delta, plain, played, text, then, times, tokens,
        usage,
    },
    tool::{fire, ms, rows},
};

fn done() -> String {
    "[DONE]".to_owned()
}

/// The baseline as a chat's answer.
fn chat(say: impl Fn(usize, &str) -> Value) -> Plan<String> {
    let said =
        times(8).enumerate().map(|(at, ms)| (ms, delta(&say(at, WORDS[at]), (at == 7).then_some("length"))));
    then(said.collect(), &[usage(8), done()])
}

fn row(stage: &Stage, flags: &[&str]) -> Value {
    stage.fire(flags).rows()[0].clone()
}

#[test]
fn f10_usage_with_empty_choices() {
    for flags in [&[] as &[&str], &["--extra-body", r#"{"stream_options":null}"#]] {
        let stage = Stage::start(plain(completion(&WORDS)));
        let row = row(&stage, flags);
        stage.check(&row);
        assert_eq!((&row["events"], &row["row_prompt_tokens"]), (&json!("ccccccccud"), &json!(2)));
        assert_eq!(stage.server.seen()[0].body.get("stream_options").is_some(), flags.is_empty());
    }
}

#[test]
fn f12_without_usage_tokens_are_counted_and_marked() {
    let stage = Stage::start(plain(then(tokens(&WORDS[..3], Some("stop")), &[done()])));
    let input = "{\"prompt\":\"a b\",\"max_tokens\":512,\"prompt_tokens\":2}\n";
    let row = fire(&stage.server.url, &[], input).rows()[0].clone();
    assert_eq!((&row["outcome"], &row["events"]), (&json!("ok"), &json!("cccd")), "{row}");
    assert_eq!((&row["output_tokens"], &row["tokens_from"]), (&json!(3), &json!("events")), "{row}");
    assert_eq!((&row["max_tokens"], &row["prompt_tokens"]), (&json!(512), &json!(2)), "{row}");
    stage.output_at(&row, times(3));
    let body = stage.server.seen()[0].body.clone();
    assert_eq!((&body["stream_options"]["include_usage"], &body["max_tokens"]), (&json!(true), &json!(512)));
}

#[test]
fn f15_the_role_is_no_token() {
    for content in [Value::Null, json!("")] {
        let mut plan = chat(|_, word| json!({"content": word}));
        plan.insert(0, (0, delta(&json!({"role": "assistant", "content": content}), None)));
        let stage = Stage::start(plain(plan));
        let row = row(&stage, &CHAT);
        stage.check(&row);
        assert_eq!(row["events"], "rccccccccud", "{row}");
    }
}

#[test]
fn f16_thinking_is_output() {
    for (field, events) in [("reasoning_content", "hhhhccccud"), ("reasoning", "ttttccccud")] {
        let stage = Stage::start(plain(chat(|at, word| match at {
            0..4 => json!({field: word, "content": null}),
            _ => json!({"content": word}),
        })));
        let row = row(&stage, &[&CHAT[..], &["--save-text"]].concat());
        stage.check(&row);
        assert_eq!(row["events"], events, "{row}");
        assert_eq!((&row["reasoning_text"], &row["text"]), (&json!(" w0 w1 w2 w3"), &json!(" w4 w5 w6 w7")));
    }
}

#[test]
fn f19_usage_counts_several_tokens_in_an_event() {
    let said =
        vec![(50, text(&WORDS[..4].concat(), None)), (130, text(&WORDS[4..].concat(), Some("length")))];
    let stage = Stage::start(plain(then(said, &[usage(8), done()])));
    let row = row(&stage, &[]);
    assert_eq!((&row["output_tokens"], &row["tokens_from"]), (&json!(8), &json!("usage")), "{row}");
    assert_eq!((&row["outcome"], &row["events"]), (&json!("ok"), &json!("ccud")));
    stage.output_at(&row, [50, 130]);
}

#[test]
fn f21_output_is_not_counted_from_its_text() {
    let stage = Stage::start(plain(completion(&[" "; 8])));
    let row = row(&stage, &["--save-text"]);
    stage.check(&row);
    assert_eq!(row["text"], " ".repeat(8));
}

#[test]
fn f23_no_token_at_all_is_an_answer() {
    for (flags, finish) in
        [(&[] as &[&str], text("", Some("stop"))), (&CHAT, delta(&json!({}), Some("stop")))]
    {
        let none = plain(then(vec![(TTFT, finish)], &[usage(0), done()]));
        let good = plain(if flags.is_empty() {
            completion(&WORDS)
        } else {
            chat(|_, word| json!({"content": word}))
        });
        let stage =
            Stage::scripted(move |seen, late| played(if seen.index % 2 == 0 { &none } else { &good }, late));
        let flags = [flags, &["--max-concurrency", "1"]].concat();
        let done = fire(&stage.server.url, &flags, &rows(4));
        assert_eq!((done.code, &done.one("run_end")["ok"]), (Some(0), &json!(4)), "{done:#?}");
        for pair in done.rows().chunks(2) {
            assert_eq!((&pair[0]["outcome"], &pair[0]["output_tokens"]), (&json!("ok"), &json!(0)));
            assert_eq!((&pair[0]["ttft_us"], &pair[0]["e2e_us"]), (&Value::Null, &Value::Null));
            stage.check(pair[1]);
            assert!(ms(pair[1], "e2e_us") >= LATENCY as f64 - 0.5);
        }
    }
}
