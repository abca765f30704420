//! Answers that are none.

use serde_json::{Value, json};

use crate::{
    server::{LAST, Server, Step, TOKEN, end, event, good, head, stream, whole},
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

const ERROR: &str = r#"{"error":{"message":"engine died","code":500}}"#;

#[test]
fn f24_an_error_inside_the_stream() {
    let row = failed(stream(5, &[TOKEN, TOKEN, ERROR, "[DONE]"]), "error_event", "engine died");
    assert_eq!((&row["events"], &row["status"]), (&json!("cce"), &json!(200)));
}

#[test]
fn f25_not_a_single_token() {
    let rows = [
        failed(stream(1, &[ERROR]), "error_event", "engine died"),
        failed(stream(1, &["[DONE]"]), "protocol", "nothing but [DONE]"),
        failed(vec![whole(200, "text/event-stream", "")], "protocol", "an empty body"),
        failed(vec![whole(200, "text/plain", "hello")], "protocol", "no event in a body of 5 bytes"),
        failed(vec![whole(200, "application/json", r#"{"choices":[]}"#)], "protocol", "in place of a stream"),
    ];
    assert!(rows.iter().all(|row| row["ttft_us"].is_null()));
}

#[test]
fn f28_the_connection_breaks_in_mid_answer() {
    let begun = || vec![head(), Step::Wait(5), event(TOKEN), Step::Wait(20)];
    let row = failed([begun(), vec![Step::Close]].concat(), "truncated", "closed the connection before");
    assert_eq!((&row["events"], &row["output_tokens"]), (&json!("c"), &json!(1)));
    failed([begun(), vec![Step::Reset]].concat(), "truncated", "reset");
    failed([begun(), vec![end()]].concat(), "truncated", "without a finish reason");
    failed(vec![Step::Close], "truncated", "closed");
    let unfinished = r#"{"choices":[{"text":"a","finish_reason":""}]}"#;
    failed(vec![head(), event(unfinished), end()], "truncated", "without a finish reason");
}

#[test]
fn f29_the_end_marker_is_the_end_and_not_needed() {
    let done = one(stream(5, &[TOKEN, LAST]));
    assert_eq!(done.rows()[0]["outcome"], "ok");

    // A broken end of the body after the finish reason takes nothing from the answer.
    let done = one(vec![head(), event(TOKEN), event(LAST), Step::Wait(5), Step::Close]);
    assert_eq!(done.rows()[0]["outcome"], "ok", "{done:#?}");

    let server = Server::start(|_| vec![head(), event(TOKEN), event(LAST), event("[DONE]"), Step::Hang]);
    let done = fire(&server.url, &["--max-concurrency", "1"], &rows(3));
    assert_eq!(done.one("run_end")["ok"], 3);
    assert!(done.one("run_end")["elapsed_us"].as_f64().unwrap() < 900e3, "{done:#?}");
    assert!(server.seen().iter().all(|seen| seen.nth == 0), "an unfinished body was reused");
}

#[test]
fn f32_statuses_are_failures_and_nothing_is_retried() {
    let overloaded = || vec![whole(503, "application/json", r#"{"error":{"message":"overloaded"}}"#)];
    let server = Server::start(move |seen| if seen.index % 2 == 0 { overloaded() } else { good() });
    let done = fire(&server.url, &["--max-concurrency", "1"], &rows(6));
    assert_eq!((done.code, server.seen().len()), (Some(0), 6));
    let (ok, failed): (Vec<_>, Vec<_>) = done.rows().into_iter().partition(|row| row["outcome"] == "ok");
    assert_eq!((ok.len(), failed.len()), (3, 3));
    assert!(failed.iter().all(|row| row["status"] == 503 && row["outcome"] == "http"));
    assert!(ok.iter().all(|row| ms(row, "e2e_us") >= 60.0));
    assert!(done.stderr.contains("3 × HTTP 503: overloaded"), "{}", done.stderr);
    let html = "<html>\n<h1>no healthy upstream</h1></html>";
    self::failed(vec![whole(503, "text/html", html)], "http", "HTTP 503: <html> <h1>no healthy upstream");
}

#[test]
fn f33_the_servers_reason_is_kept() {
    let reason = "maximum context length is 4096 tokens, you requested 4122";
    let body = format!(r#"{{"error":{{"message":"{reason}","code":400}}}}"#);
    let row = failed(vec![whole(400, "application/json", &body)], "http", reason);
    assert_eq!(row["status"], 400);
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
