//! Turns that wait for each other, and the part of a run that warms the server.

use serde_json::{Value, json};

use crate::{
    server::{Server, Step, stream, whole},
    tool::{fire, rows},
};

fn answer(text: &str) -> Vec<Step> {
    let event = |delta: Value, reason: Value| {
        json!({"choices":[{"index":0,"delta":delta,"finish_reason":reason}]}).to_string()
    };
    let events = [
        event(json!({"content":text}), Value::Null),
        event(json!({"content":"\n!"}), json!("stop")),
        "[DONE]".to_owned(),
    ];
    stream(10, &events.each_ref().map(String::as_str))
}

/// Two conversations, their turns mixed, and a row of its own.
const ROWS: &str = r#"{"id":"a0","session":"a","messages":[{"role":"system","content":"s"},{"role":"user","content":"1"}]}
{"id":"b0","session":"b","prompt":"x"}
{"id":"c","prompt":"alone"}
{"id":"b1","session":"b","prompt":"y"}
{"id":"a1","session":"a","prompt":"2"}
{"id":"a2","session":"a","prompt":"3"}
"#;

const CHAT: [&str; 2] = ["--backend", "openai-chat"];

fn row<'a>(rows: &[&'a Value], id: &str) -> &'a Value {
    rows.iter().find(|row| row["id"] == id).unwrap()
}

#[test]
fn a_turn_waits_for_the_answer_and_carries_it() {
    let server =
        Server::start(|seen| answer(&format!("r{}", seen.body["messages"].as_array().unwrap().len())));
    let done =
        fire(&server.url, &[&CHAT[..], &["--max-concurrency", "1", "--think-time", "0.05"]].concat(), ROWS);
    let rows = done.rows();
    assert_eq!((done.code, rows.len()), (Some(0), 6), "{done:#?}");
    let said = |at: usize| {
        let seen = server.seen();
        let texts =
            seen[at].body["messages"].as_array().unwrap().iter().map(|message| message["content"].clone());
        texts.collect::<Vec<_>>()
    };
    assert_eq!(said(0), ["s", "1"]);
    assert_eq!(said(1), ["s", "1", "r2\n!", "2"]);
    assert_eq!(said(2), ["s", "1", "r2\n!", "2", "r4\n!", "3"]);
    assert_eq!(said(3), ["x"]);
    assert_eq!(server.seen()[1].body["messages"][2]["role"], "assistant");
    assert_eq!((&row(&rows, "a2")["session"], &row(&rows, "a2")["turn"]), (&json!("a"), &json!(2)));
    let us = |id: &str, field: &str| row(&rows, id)[field].as_f64().unwrap();
    let pause = us("a1", "sent_us") - us("a0", "sent_us") - us("a0", "e2e_us");
    assert!((50e3..90e3).contains(&pause), "{pause} µs");
}

#[test]
fn conversations_run_beside_each_other() {
    let server = Server::start(|_| answer("r"));
    let done = fire(&server.url, &CHAT, ROWS);
    assert_eq!((done.code, done.rows().len()), (Some(0), 6), "{done:#?}");
    let first: Vec<usize> =
        server.seen()[..3].iter().map(|seen| seen.body["messages"].as_array().unwrap().len()).collect();
    assert_eq!(first.iter().sum::<usize>(), 4, "{first:?}");
}

#[test]
fn nothing_follows_an_answer_that_failed() {
    let server = Server::start(|seen| match seen.index {
        0 => vec![whole(500, "text/plain", "no")],
        _ => answer("r"),
    });
    let done = fire(&server.url, &[&CHAT[..], &["--max-concurrency", "1"]].concat(), ROWS);
    let rows = done.rows();
    assert_eq!((rows.len(), server.seen().len()), (6, 4), "{done:#?}");
    for id in ["a1", "a2"] {
        assert_eq!(
            (&row(&rows, id)["outcome"], &row(&rows, id)["sent_us"]),
            (&json!("cancelled"), &Value::Null)
        );
        assert!(row(&rows, id)["error"].as_str().unwrap().contains("earlier turn"));
    }
    let end = done.one("run_end");
    assert_eq!((&end["sent"], &end["ok"], &end["failed"]), (&json!(6), &json!(3), &json!(3)));
}

#[test]
fn turns_that_cannot_be_ordered_are_refused_before_anything_is_sent() {
    let server = Server::start(|_| answer("r"));
    let input = "{\"prompt\":\"a\",\"session\":1,\"turn\":0}\n{\"prompt\":\"b\",\"session\":1,\"turn\":0}\n";
    let done = fire(&server.url, &CHAT, input);
    assert_eq!((done.code, server.seen().len()), (Some(2), 0), "{done:#?}");
    assert!(done.stderr.contains("stdin:2: `turn`"), "{}", done.stderr);
}

#[test]
fn the_beginning_of_a_run_warms_the_server() {
    for (flags, warm) in [
        (["--warmup-requests", "3"], 3),
        // At 20 a second evenly spaced, those due at 50, 100, 150 and 200 ms.
        (["--warmup-duration", "0.225"], 4),
    ] {
        let server = Server::start(|_| crate::server::good());
        let pace = ["--request-rate", "20", "--burstiness", "inf"];
        let done = fire(&server.url, &[&pace[..], &flags].concat(), &rows(8));
        let phases: Vec<&Value> = done.rows().iter().map(|row| &row["phase"]).collect();
        assert_eq!(phases.iter().filter(|phase| **phase == "warmup").count(), warm, "{phases:?}");
        let end = done.one("run_end");
        assert_eq!(end["sent"], json!(8 - warm), "{end}");
        let due: Vec<f64> = done.rows().iter().map(|row| row["scheduled_us"].as_f64().unwrap()).collect();
        assert!(due.windows(2).all(|pair| (pair[1] - pair[0] - 50e3).abs() < 1e3), "a pause: {due:?}");
    }
}
