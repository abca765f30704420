//! Answers that are none.

use serde_json::{Value, json};

use crate::{
    baseline::{CHAT, Stage, WORDS, completion, plain, played, then, tokens, usage},
    server::{LAST, Late, Server, Step, TOKEN, USAGE, chunk, end, event, head, stream, whole},
    tool::{Done, fire, ms, rows},
};

fn one(steps: Vec<Step>) -> Done {
    let server = Server::start(move |_| steps.clone());
    let done = fire(&server.url, &["--max-concurrency", "1"], &rows(1));
    assert_eq!(server.seen().len(), 1, "a hidden retry: {done:#?}");
    done
}

fn failed(steps: Vec<Step>, outcome: &str, message: &str) -> Value {
    let done = one(steps);
    let row = done.rows()[0].clone();
    assert_eq!((done.code, &row["outcome"]), (Some(1), &json!(outcome)), "{done:#?}");
    let error = row["error"].as_str().unwrap();
    assert!(error.contains(message), "{error}");
    assert!(done.stderr.contains(&format!("1 × {error}")), "{}", done.stderr);
    row
}

const ERROR: &str =
    r#"{"error":{"message":"engine died","type":"InternalServerError","param":null,"code":500}}"#;

/// The baseline up to these tokens, and what then follows.
fn broken_off(count: usize, late: &Late, then: &[Step]) -> Vec<Step> {
    let mut steps = played(&plain(tokens(&WORDS[..count], None)), late);
    steps.pop();
    [steps, then.to_vec()].concat()
}

/// The rows of four requests, one after the other, of which the odd ones get a broken answer; none of it may harm the
/// others, or be tried again.
fn every_second(script: impl Fn(&Late) -> Vec<Step> + Send + Sync + 'static, part: &str) -> Vec<Value> {
    let stage = Stage::scripted(move |seen, late| match seen.index % 2 {
        0 => played(&plain(completion(&WORDS)), late),
        _ => script(late),
    });
    let done = fire(&stage.server.url, &["--max-concurrency", "1"], &rows(4));
    assert_eq!((done.code, stage.server.seen().len()), (Some(0), 4), "{done:#?}");
    let end = done.one("run_end");
    assert_eq!((&end["ok"], &end["failed"]), (&json!(2), &json!(2)), "{done:#?}");
    let (good, bad): (Vec<_>, Vec<_>) = done.rows().into_iter().partition(|row| row["outcome"] == "ok");
    for row in good.iter() {
        stage.check(row);
    }
    assert!(bad[0]["error"].as_str().unwrap().contains(part), "{bad:?}");
    assert!(done.stderr.contains(&format!("2 × {}", bad[0]["error"].as_str().unwrap())), "{}", done.stderr);
    bad.into_iter().cloned().collect()
}

#[test]
fn f24_an_error_inside_the_stream() {
    let error = format!("data: {ERROR}\n\ndata: [DONE]\n\n");
    for row in every_second(move |late| broken_off(2, late, &[chunk(&error), end()]), "engine died") {
        assert_eq!((&row["outcome"], &row["events"]), (&json!("error_event"), &json!("cce")), "{row}");
        assert_eq!((&row["status"], &row["output_tokens"]), (&json!(200), &json!(2)));
    }
}

#[test]
fn f25_not_a_single_token() {
    let rows = [
        failed(vec![head(), event(ERROR), end()], "error_event", "engine died"),
        failed(vec![head(), event("[DONE]"), end()], "protocol", "nothing but [DONE]"),
        failed(vec![whole(200, "text/event-stream", "")], "protocol", "an empty body"),
        failed(vec![head(), end()], "protocol", "an empty body"),
        failed(vec![whole(200, "text/plain", "hello")], "protocol", "no event in a body of 5 bytes"),
        failed(vec![whole(200, "application/json", r#"{"choices":[]}"#)], "protocol", "in place of a stream"),
    ];
    assert!(rows.iter().all(|row| row["ttft_us"].is_null()));
}

#[test]
fn f28_the_connection_breaks_in_mid_answer() {
    let eof = every_second(|late| broken_off(3, late, &[Step::Close]), "closed the connection before");
    let reset = every_second(|late| broken_off(3, late, &[Step::Wait(50), Step::Reset]), "reset");
    for row in eof.iter().chain(&reset) {
        assert_eq!((&row["outcome"], &row["events"]), (&json!("truncated"), &json!("ccc")), "{row}");
        assert_eq!((&row["output_tokens"], &row["tokens_from"]), (&json!(3), &json!("events")));
        assert!(row["resent"].is_null(), "{row}");
    }
    assert!(ms(&reset[0], "e2e_us") >= 140.0, "until it failed: {reset:?}");
    let begun = || vec![head(), event(TOKEN)];
    failed([begun(), vec![end()]].concat(), "truncated", "without a finish reason");
    failed(vec![Step::Close], "truncated", "closed");
    let unfinished = r#"{"choices":[{"text":"a","finish_reason":""}]}"#;
    failed(vec![head(), event(unfinished), end()], "truncated", "without a finish reason");
}

#[test]
fn f29_the_end_marker_is_the_end_and_not_needed() {
    let stage = Stage::start(plain(then(tokens(&WORDS, Some("length")), &[usage(8)])));
    stage.check(stage.fire(&[]).rows()[0]);

    // A broken end of the body after the finish reason takes nothing from the answer.
    let done = one(vec![head(), event(TOKEN), event(LAST), Step::Wait(5), Step::Close]);
    assert_eq!(done.rows()[0]["outcome"], "ok", "{done:#?}");

    let stage = Stage::scripted(|_, late| {
        let mut steps = played(&plain(completion(&WORDS)), late);
        steps.pop();
        [steps, vec![Step::Hang]].concat()
    });
    let done = fire(&stage.server.url, &["--max-concurrency", "1"], &rows(3));
    done.rows().iter().for_each(|row| stage.check(row));
    assert!(stage.server.seen().iter().all(|seen| seen.nth == 0), "an unfinished body was reused");
    // The next request goes out while the body before it is still open.
    for pair in done.rows().windows(2) {
        let waited = ms(pair[1], "sent_us") - ms(pair[0], "sent_us") - ms(pair[0], "e2e_us");
        assert!(waited < 300.0, "a place was held for {waited} ms: {done:#?}");
    }
}

#[test]
fn f32_statuses_are_failures_and_nothing_is_retried() {
    let overloaded = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: application/json\r\n\
        Content-Length: 38\r\n\r\n{\"error\":{\"message\":\"overloaded\"}}    ";
    let stage = Stage::scripted(move |seen, late| match seen.index % 2 {
        0 => played(&plain(completion(&WORDS)), late),
        _ => vec![Step::Send(overloaded.into())],
    });
    let done = fire(&stage.server.url, &["--max-concurrency", "1"], &rows(10));
    assert_eq!((done.code, stage.server.seen().len()), (Some(0), 10));
    let (ok, failed): (Vec<_>, Vec<_>) = done.rows().into_iter().partition(|row| row["outcome"] == "ok");
    assert_eq!((ok.len(), failed.len()), (5, 5));
    assert!(failed.iter().all(|row| row["status"] == 503 && row["outcome"] == "http"));
    assert!(failed.iter().all(|row| row["ttft_us"].is_null() && row["output_tokens"].is_null()));
    for row in ok.iter() {
        stage.check(row);
    }
    assert!(done.stderr.contains("5 × HTTP 503: overloaded"), "{}", done.stderr);
    let html = "<html>\n<h1>no healthy upstream</h1></html>";
    self::failed(vec![whole(503, "text/html", html)], "http", "HTTP 503: <html> <h1>no healthy upstream");
}

#[test]
fn f33_the_servers_reason_is_kept() {
    let reason = "maximum context length is 4096 tokens, you requested 4122";
    let body = format!(r#"{{"error":{{"message":"{reason}","code":400}}}}"#);
    let row = failed(vec![whole(400, "application/json", &body)], "http", reason);
    assert_eq!(row["status"], 400);
    let server = Server::start(move |_| vec![whole(400, "application/json", &body)]);
    let done = fire(&server.url, &[], &rows(3));
    assert_eq!(done.stderr.matches("4096 tokens").count(), 1, "{}", done.stderr);
    assert!(done.stderr.contains(&format!("3 × HTTP 400: {reason}")), "{}", done.stderr);
    let long = "x".repeat(5000);
    let row = failed(vec![whole(400, "text/plain", &long)], "http", "HTTP 400: xxx");
    assert!(row["error"].as_str().unwrap().len() < 400);
}

#[test]
fn f34_the_length_field_and_any_other_can_be_changed() {
    let strict = |seen: &crate::server::Seen| {
        let known = ["model", "messages", "stream", "stream_options", "max_completion_tokens"];
        match seen.body.as_object().unwrap().keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => {
                let body = format!(r#"{{"error":{{"message":"Unsupported parameter: '{key}'"}}}}"#);
                vec![whole(400, "application/json", &body)]
            }
            None => stream(1, &[r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}"#]),
        }
    };
    let server = Server::start(strict);
    let chat = ["--backend", "openai-chat"];
    let run = |flags: &[&str]| fire(&server.url, &[&chat[..], flags].concat(), &rows(1));
    assert_eq!(run(&[]).code, Some(0));
    let refused = run(&["--length-field", "max_tokens"]);
    assert!(refused.stderr.contains("HTTP 400: Unsupported parameter: 'max_tokens'"), "{}", refused.stderr);
    assert!(run(&["--ignore-eos"]).stderr.contains("'ignore_eos'"));
    assert_eq!(run(&["--ignore-eos", "--extra-body", r#"{"ignore_eos":null}"#]).code, Some(0));
}

#[test]
fn a_time_limit_is_kept() {
    let server = Server::start(|_| vec![head(), event(TOKEN), Step::Hang]);
    let done = fire(&server.url, &["--request-timeout", "0.2"], &rows(1));
    let row = done.rows()[0];
    assert_eq!((&row["outcome"], &row["events"]), (&json!("timeout"), &json!("c")));
    assert!((190.0..2000.0).contains(&ms(row, "e2e_us")), "{row}");
}

#[test]
fn a_finish_reason_can_mean_failure() {
    for reason in ["error", "abort"] {
        let finished = |piece: &str| format!(r#"{{"choices":[{{{piece},"finish_reason":"{reason}"}}]}}"#);
        for (flags, event) in
            [(&[] as &[&str], finished(r#""text":" a""#)), (&CHAT, finished(r#""delta":{"content":" a"}"#))]
        {
            let server = Server::start(move |_| stream(1, &[&event, USAGE, "[DONE]"]));
            let done = fire(&server.url, flags, &rows(1));
            let row = done.rows()[0];
            assert_eq!((done.code, &row["outcome"]), (Some(1), &json!("error_event")), "{row}");
            assert!(row["error"].as_str().unwrap().contains(&format!("\"{reason}\"")), "{row}");
        }
    }
}

#[test]
fn what_stands_in_place_of_events_is_told() {
    let page = "<!doctype html>\n<html><head><title>Sign in</title></head><body>\n</body></html>\n";
    let json = "{\"error\":\n {\"message\": \"model is loading\"}}\n";
    let detail = r#"{"detail":"Not authenticated"}"#;
    for (body, outcome, part) in [
        (page, "protocol", "Sign in"),
        (json, "error_event", "model is loading"),
        (detail, "error_event", "Not authenticated"),
        ("upstream connect error", "protocol", "upstream connect error"),
    ] {
        let row = failed(vec![whole(200, "text/event-stream", body)], outcome, part);
        assert_eq!((&row["status"], &row["events"]), (&json!(200), &json!("")), "{row}");
    }
}
