//! Every API, streamed and whole, end to end.

use serde_json::{Value, json};

use crate::{
    server::{Seen, Server, Step, chunk, end, head, stream, whole},
    tool::{Done, command, finish, fire, rows},
};

const ROW: &str = "{\"prompt\":\"a b\",\"max_tokens\":3}\n";

/// An API, the events of its stream, and its whole answer; both say ` é` and ` x`, 5 tokens in and 3 out.
struct Spoken {
    backend: &'static str,
    path: &'static str,
    whole_path: &'static str,
    events: &'static [&'static str],
    letters: &'static str,
    whole: &'static str,
    reason: &'static str,
}

const SPOKEN: [Spoken; 8] = [
    Spoken {
        backend: "openai",
        path: "/v1/completions",
        whole_path: "/v1/completions",
        events: &[
            r#"{"choices":[{"index":0,"text":" é"}]}"#,
            r#"{"choices":[{"index":0,"text":""}]}"#,
            r#"{"choices":[{"index":0,"text":" x","finish_reason":"length"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3}}"#,
            "[DONE]",
        ],
        letters: "cbcud",
        whole: r#"{"choices":[{"text":" é x","finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":3}}"#,
        reason: "length",
    },
    Spoken {
        backend: "openai-chat",
        path: "/v1/chat/completions",
        whole_path: "/v1/chat/completions",
        events: &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":" é"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":" x"},"finish_reason":"length"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3}}"#,
            "[DONE]",
        ],
        letters: "rccud",
        whole: r#"{"choices":[{"message":{"role":"assistant","content":" é x"},"finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":3}}"#,
        reason: "length",
    },
    Spoken {
        backend: "openai-responses",
        path: "/v1/responses",
        whole_path: "/v1/responses",
        events: &[
            r#"{"type":"response.created","response":{"status":"in_progress"}}"#,
            r#"{"type":"response.output_text.delta","delta":" é"}"#,
            r#"{"type":"response.output_text.delta","delta":" x"}"#,
            r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":5,"output_tokens":3}}}"#,
        ],
        letters: "occf",
        whole: r#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":" é x"}]}],"usage":{"input_tokens":5,"output_tokens":3}}"#,
        reason: "completed",
    },
    Spoken {
        backend: "anthropic",
        path: "/v1/messages",
        whole_path: "/v1/messages",
        events: &[
            r#"{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" é"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" x"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":3}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        letters: "rooccofd",
        whole: r#"{"type":"message","content":[{"type":"text","text":" é x"}],"stop_reason":"max_tokens","usage":{"input_tokens":5,"output_tokens":3}}"#,
        reason: "max_tokens",
    },
    Spoken {
        backend: "sglang",
        path: "/generate",
        whole_path: "/generate",
        events: &[
            r#"{"text":" é","meta_info":{"prompt_tokens":5,"completion_tokens":1,"finish_reason":null}}"#,
            r#"{"text":" é","meta_info":{"prompt_tokens":5,"completion_tokens":2,"finish_reason":null}}"#,
            r#"{"text":" é x","meta_info":{"prompt_tokens":5,"completion_tokens":3,"finish_reason":{"type":"length","length":3}}}"#,
            "[DONE]",
        ],
        letters: "cbcd",
        whole: r#"{"text":" é x","meta_info":{"prompt_tokens":5,"completion_tokens":3,"finish_reason":{"type":"length","length":3}}}"#,
        reason: "length",
    },
    Spoken {
        backend: "tgi",
        path: "/generate_stream",
        whole_path: "/generate",
        events: &[
            r#"{"index":1,"token":{"text":" é","special":false},"generated_text":null,"details":null}"#,
            r#"{"index":2,"token":{"text":" x","special":false},"generated_text":null,"details":null}"#,
            r#"{"index":3,"token":{"text":"</s>","special":true},"generated_text":" é x","details":{"finish_reason":"eos_token","generated_tokens":3,"input_length":5}}"#,
        ],
        letters: "ccs",
        whole: r#"{"generated_text":" é x","details":{"finish_reason":"eos_token","generated_tokens":3,"input_length":5}}"#,
        reason: "eos_token",
    },
    Spoken {
        backend: "llamacpp",
        path: "/completion",
        whole_path: "/completion",
        events: &[
            r#"{"content":" é","stop":false,"tokens_predicted":1,"tokens_evaluated":5}"#,
            r#"{"content":" x","stop":false,"tokens_predicted":2,"tokens_evaluated":5}"#,
            r#"{"content":"","stop":true,"stop_type":"eos","tokens_predicted":3,"tokens_evaluated":5}"#,
        ],
        letters: "ccs",
        whole: r#"{"content":" é x","stop":true,"stop_type":"eos","tokens_predicted":3,"tokens_evaluated":5}"#,
        reason: "eos",
    },
    Spoken {
        backend: "ollama",
        path: "/api/chat",
        whole_path: "/api/chat",
        events: &[
            r#"{"message":{"role":"assistant","content":" é"},"done":false}"#,
            r#"{"message":{"role":"assistant","content":" x"},"done":false}"#,
            r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":3}"#,
        ],
        letters: "ccs",
        whole: r#"{"message":{"role":"assistant","content":" é x"},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":3}"#,
        reason: "stop",
    },
];

/// The stream of these events, cut in the middle of each.
fn lines(events: &[&str]) -> Vec<Step> {
    let packet = |event: &&str| {
        let at = event.len() / 2;
        [Step::Wait(10), chunk(&event.as_bytes()[..at]), chunk(format!("{}\n", &event[at..]))]
    };
    [vec![head()], events.iter().flat_map(packet).collect(), vec![end()]].concat()
}

fn streamed(spoken: &Spoken, events: &[&str]) -> Vec<Step> {
    if spoken.backend == "ollama" { lines(events) } else { stream(10, events) }
}

/// What a run of one row with these flags left, and the request that it sent.
fn run(backend: &str, flags: &[&str], steps: Vec<Step>) -> (Done, Seen) {
    let server = Server::start(move |_| steps.clone());
    let done = fire(&server.url, &[&["--backend", backend], flags].concat(), ROW);
    let seen = server.seen().remove(0);
    (done, seen)
}

#[test]
fn streams() {
    for spoken in &SPOKEN {
        let name = spoken.backend;
        let (done, seen) = run(name, &["--save-text"], streamed(spoken, spoken.events));
        let row = done.rows()[0];
        assert_eq!((&row["outcome"], seen.path.as_str()), (&json!("ok"), spoken.path), "{name}: {row}");
        assert_eq!((&row["events"], &row["text"]), (&json!(spoken.letters), &json!(" é x")), "{name}: {row}");
        assert_eq!((&row["prompt_tokens"], &row["output_tokens"]), (&json!(5), &json!(3)), "{name}");
        assert_eq!((&row["finish_reason"], &row["tokens_from"]), (&json!(spoken.reason), &json!("usage")));
        let first = spoken.letters.find(['c', 't']).unwrap();
        assert_eq!(row["ttft_us"], row["events_us"][first], "{name}");
        assert!(row["e2e_us"].as_f64() > row["ttft_us"].as_f64(), "{name}: {row}");
        assert_eq!(done.one("run_start")["backend"], name);
    }
}

#[test]
fn whole_answers() {
    for spoken in &SPOKEN {
        let name = spoken.backend;
        let steps = vec![Step::Wait(20), whole(200, "application/json", spoken.whole)];
        let (done, seen) = run(name, &["--no-stream", "--save-text"], steps);
        let row = done.rows()[0];
        assert_eq!((&row["outcome"], seen.path.as_str()), (&json!("ok"), spoken.whole_path), "{name}: {row}");
        assert_eq!((&row["events"], &row["text"]), (&json!("w"), &json!(" é x")), "{name}: {row}");
        assert_eq!((&row["prompt_tokens"], &row["output_tokens"]), (&json!(5), &json!(3)), "{name}");
        assert_eq!((&row["finish_reason"], &row["ttft_us"]), (&json!(spoken.reason), &Value::Null), "{name}");
        assert!(row["e2e_us"].as_f64().unwrap() >= 20e3, "{name}: {row}");
    }
}

#[test]
fn a_stream_cut_short_is_no_answer() {
    for spoken in &SPOKEN {
        let at = spoken.letters.find('c').unwrap();
        let (done, _) = run(spoken.backend, &[], streamed(spoken, &spoken.events[..=at]));
        assert_eq!(done.rows()[0]["outcome"], "truncated", "{}", spoken.backend);
    }
}

#[test]
fn whole_answers_can_be_none() {
    for (backend, status, body, outcome, part) in [
        ("openai", 200, r#"{"error":{"message":"engine died"}}"#, "error_event", "engine died"),
        ("openai", 200, "", "protocol", "an empty body"),
        ("openai", 200, "<html>", "protocol", "an answer that cannot be read"),
        (
            "openai-chat",
            200,
            r#"{"choices":[{"message":{"content":""}}]}"#,
            "protocol",
            "no event carried output",
        ),
        ("openai", 200, r#"{"choices":[{"text":"","finish_reason":"abort"}]}"#, "error_event", "\"abort\""),
        ("ollama", 200, r#"{"error":"runner stopped"}"#, "error_event", "runner stopped"),
        ("sglang", 400, r#"{"error":{"message":"too long"}}"#, "http", "HTTP 400: too long"),
    ] {
        let (done, _) = run(backend, &["--no-stream"], vec![whole(status, "application/json", body)]);
        let row = done.rows()[0];
        assert_eq!((done.code, &row["outcome"]), (Some(1), &json!(outcome)), "{body}: {row}");
        assert!(row["error"].as_str().unwrap().contains(part), "{row}");
    }
}

#[test]
fn connections_of_whole_answers_are_used_again() {
    let server = Server::start(|_| vec![whole(200, "application/json", SPOKEN[0].whole)]);
    let done = fire(&server.url, &["--no-stream", "--max-concurrency", "1"], &rows(3));
    assert_eq!(done.one("run_end")["ok"], 3);
    assert_eq!(server.seen()[2].nth, 2);
}

#[test]
fn broken_json_fails_no_answer() {
    let lone = r#"{"choices":[{"text":"\ud83d","logprobs":{"token_logprobs":[NaN,-Infinity]}}]}"#;
    let last = r#"{"choices":[{"text":"b","finish_reason":"stop"}]}"#;
    let half = [b"data: {\"choices\":[{\"text\":\"\xF0\x9F\"}]}\n\n".as_slice(), b"data: null\n\n"].concat();
    let mut steps = stream(5, &[lone, last]);
    steps.insert(1, chunk(half));
    let row = run("openai", &["--save-text"], steps).0.rows()[0].clone();
    assert_eq!((&row["outcome"], &row["events"]), (&json!("ok"), &json!("cocc")), "{row}");
    assert_eq!(row["text"], "\u{FFFD}\u{FFFD}b");
}

#[test]
fn a_server_that_gives_up_has_failed() {
    let token = r#"{"choices":[{"text":"a"}]}"#;
    let abort = r#"{"choices":[{"text":"","finish_reason":"abort"}]}"#;
    let row = run("openai", &[], stream(5, &[token, abort, "[DONE]"])).0.rows()[0].clone();
    assert_eq!((&row["outcome"], &row["finish_reason"]), (&json!("error_event"), &json!("abort")));
    assert_eq!(row["error"], "the server gave the answer up: finish reason \"abort\"");
}

#[test]
fn a_count_of_none_is_not_believed() {
    let last = r#"{"choices":[{"text":"a","finish_reason":"stop"}]}"#;
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}"#;
    let row = run("openai", &[], stream(5, &[last, usage, "[DONE]"])).0.rows()[0].clone();
    assert_eq!((&row["output_tokens"], &row["tokens_from"]), (&json!(1), &json!("events")), "{row}");
}

#[test]
fn anthropics_key_has_its_own_header() {
    let server = Server::start(|_| stream(0, SPOKEN[3].events));
    let mut command = command(&["--base-url", &server.url, "--backend", "anthropic", "-"]);
    let mut child = command.env("ANTHROPIC_API_KEY", "k1").env("OPENAI_API_KEY", "k2").spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), ROW.as_bytes()).unwrap();
    assert_eq!(finish(child).code, Some(0));
    let head = server.seen().remove(0).head;
    assert!(
        head.contains("x-api-key: k1\r\n") && head.contains("anthropic-version: 2023-06-01\r\n"),
        "{head}"
    );
    assert!(!head.contains("authorization"), "{head}");
}

#[test]
fn what_a_backend_cannot_send_is_refused() {
    let server = Server::start(|_| stream(0, SPOKEN[3].events));
    for (flags, row, part) in [
        (
            &["--backend", "anthropic"] as &[&str],
            "{\"prompt\":\"a\"}",
            "stdin:1: no `max_tokens`, which this API must be told",
        ),
        (
            &["--backend", "sglang"],
            "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}",
            "give --backend openai-chat",
        ),
        (
            &["--backend", "tgi", "--ignore-eos"],
            "{\"prompt\":\"a\"}",
            "--ignore-eos: --backend tgi has no such field",
        ),
    ] {
        let done = fire(&server.url, flags, row);
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.stderr.contains(part), "{}", done.stderr);
    }
    assert!(server.seen().is_empty());
}

#[test]
fn the_model_is_found_where_each_lists_it() {
    for (backend, listed) in [
        ("ollama", "m:latest"),
        ("tgi", "m/tgi"),
        ("sglang", "m/sglang"),
        ("anthropic", "m"),
        ("llamacpp", "m"),
    ] {
        let spoken = SPOKEN.iter().find(|spoken| spoken.backend == backend).unwrap();
        let (done, seen) = run(backend, &[], streamed(spoken, spoken.events));
        assert_eq!(done.one("run_start")["model"], listed, "{backend}");
        let sent = if ["tgi", "sglang"].contains(&backend) { Value::Null } else { json!(listed) };
        assert_eq!(seen.body["model"], sent, "{backend}");
    }
    let (done, seen) = run("ollama", &["--model", "m"], lines(SPOKEN[7].events));
    assert_eq!((done.code, &seen.body["model"]), (Some(0), &json!("m")));
}
