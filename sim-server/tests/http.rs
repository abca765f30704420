//! The server as a process, spoken to over plain sockets.

mod client;

use std::{
    io::{Read, Write},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use client::{Server, wait_until};
use serde_json::{Value, json};

const FAST: [&str; 6] = ["--preset", "fixed", "--ttft-ms", "5", "--tpot-ms", "1"];

fn message(max_tokens: u32) -> Value {
    json!({ "model": "sim-8b", "messages": [{ "role": "user", "content": "Name three rivers." }],
        "max_tokens": max_tokens, "ignore_eos": true })
}

fn streamed(mut body: Value) -> Value {
    body["stream"] = true.into();
    body["stream_options"] = json!({ "include_usage": true });
    body
}

#[test]
fn a_streamed_chat_has_a_role_a_token_an_event_usage_and_done() {
    let server = Server::start(&FAST);
    let reply = server.post("/v1/chat/completions", &streamed(message(4)));
    assert_eq!(reply.status, 200);
    assert!(reply.head.contains("content-type: text/event-stream; charset=utf-8"), "{}", reply.head);
    let events = reply.events();
    assert_eq!(events.len(), 6);
    assert_eq!(events[0]["choices"][0]["delta"], json!({ "role": "assistant", "content": "" }));
    for event in &events[1..5] {
        assert!(!event["choices"][0]["delta"]["content"].as_str().unwrap().trim().is_empty());
        assert_eq!(event["id"], events[0]["id"]);
    }
    assert!(events[3]["choices"][0]["finish_reason"].is_null());
    assert_eq!(events[4]["choices"][0]["finish_reason"], "length");
    assert_eq!(events[5]["choices"], json!([]));
    let usage = json!({ "prompt_tokens": 12, "total_tokens": 16, "completion_tokens": 4,
        "prompt_tokens_details": { "cached_tokens": 0 } });
    assert_eq!(events[5]["usage"], usage);
}

#[test]
fn streamed_or_not_the_answer_is_the_same_and_the_seed_chooses_it() {
    let text = |seed: &str, body: &Value| {
        let server = Server::start(&[&FAST[..], &["--seed", seed]].concat());
        let reply = server.post("/v1/chat/completions", body);
        if body["stream"] == true {
            let deltas = reply.events();
            return deltas
                .iter()
                .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
                .collect();
        }
        reply.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    };
    let whole: String = text("1", &message(6));
    assert_eq!(whole.split(' ').count(), 6);
    assert_eq!(whole, text("1", &streamed(message(6))));
    assert_ne!(whole, text("2", &message(6)));
}

#[test]
fn completions_come_whole_and_streamed_on_one_connection() {
    let server = Server::start(&FAST);
    let mut connection = server.connect();
    let body = json!({ "model": "sim-8b", "prompt": [1, 2, 3], "max_tokens": 3 });
    let whole = connection.post("/v1/completions", &body).json();
    assert_eq!(whole["object"], "text_completion");
    assert_eq!(whole["choices"][0]["finish_reason"], "length");
    assert_eq!(whole["usage"]["prompt_tokens"], 3);
    let events = connection.post("/v1/completions", &streamed(body)).events();
    let text: String = events.iter().filter_map(|event| event["choices"][0]["text"].as_str()).collect();
    assert_eq!(whole["choices"][0]["text"], text);
    assert_eq!(events.len(), 4);
}

#[test]
fn an_early_stop_ends_with_the_empty_token_and_is_repeatable() {
    let body = json!({ "prompt": "x", "max_tokens": 30_000, "stream": true });
    let run = || {
        let server =
            Server::start(&["--preset", "fixed", "--ttft-ms", "0", "--tpot-ms", "0", "--early-stop"]);
        server.post("/v1/completions", &body).events()
    };
    let events = run();
    assert!(events.len() < 30_000);
    let last = &events.last().unwrap()["choices"][0];
    assert_eq!((&last["text"], &last["finish_reason"]), (&json!(""), &json!("stop")));
    assert_eq!(run().len(), events.len());
}

#[test]
fn the_other_routes_answer() {
    let server = Server::start(&[&FAST[..], &["--model", "other/name", "--max-model-len", "4096"]].concat());
    assert_eq!(server.get("/health").status, 200);
    let models = server.get("/v1/models").json();
    assert_eq!(models["data"][0]["id"], "other/name");
    assert_eq!(models["data"][0]["max_model_len"], 4096);
    server.post("/v1/completions", &json!({ "prompt": [1, 2, 3], "max_tokens": 5 }));
    let metrics = server.get("/metrics").body;
    for line in [
        "vllm:prompt_tokens_total{engine=\"0\",model_name=\"other/name\"} 3",
        "vllm:generation_tokens_total{engine=\"0\",model_name=\"other/name\"} 5",
        "vllm:num_requests_running{engine=\"0\",model_name=\"other/name\"} 0",
        "vllm:request_success_total{engine=\"0\",model_name=\"other/name\",finished_reason=\"length\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    let stats = server.get("/stats").json();
    assert_eq!(
        (&stats["requests"], &stats["peak_in_flight"], &stats["tokens"]),
        (&json!(1), &json!(1), &json!(5))
    );
}

#[test]
fn refusals_have_the_shape_of_the_api() {
    let server = Server::start(&FAST);
    let error = |reply: client::Reply| (reply.status, reply.json()["error"].clone());
    let unknown = server.post("/v1/chat/completions", &json!({ "model": "nope", "messages": [] }));
    let expected = json!({ "message": "The model `nope` does not exist.", "type": "NotFoundError",
        "param": "model", "code": 404 });
    assert_eq!(error(unknown), (404, expected));

    let (status, long) =
        error(server.post("/v1/completions", &json!({ "prompt": vec![5; 40_000], "max_tokens": 16 })));
    assert_eq!((status, &long["param"], &long["code"]), (400, &json!("input_tokens"), &json!(400)));
    assert!(long["message"].as_str().unwrap().starts_with(
        "This model's maximum context length is 32768 tokens. However, you requested 16 output tokens and your \
         prompt contains 40000 input tokens, for a total of 40016 tokens."
    ));

    let (status, malformed) = error(server.connect().send("POST", "/v1/completions", "{"));
    assert_eq!((status, &malformed["type"]), (400, &json!("BadRequestError")));
    assert_eq!(error(server.get("/nowhere")).0, 404);
    assert_eq!(error(server.get("/v1/completions")).0, 405);
}

#[test]
fn a_known_prefix_is_reported_as_cached() {
    let server = Server::start(&["--preset", "optimized"]);
    let body = json!({ "prompt": vec![7; 100], "max_tokens": 2 });
    let cached = || {
        let usage = server.post("/v1/completions", &body).json()["usage"].clone();
        usage["prompt_tokens_details"]["cached_tokens"].clone()
    };
    assert_eq!([cached(), cached()], [json!(0), json!(96)]);
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains("vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"sim-8b\"} 96\n"));
    assert!(metrics.contains("vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"sim-8b\"} 200\n"));
}

#[test]
fn a_client_that_leaves_frees_its_place() {
    let server = Server::start(&["--max-num-seqs", "1"]);
    let mut leaver = server.connect();
    leaver.write("POST", "/v1/chat/completions", &streamed(message(20_000)).to_string());
    leaver.read_some();
    let waiter = thread::scope(|scope| {
        let waiter = scope.spawn(|| server.post("/v1/chat/completions", &message(1)));
        wait_until("the second request queues", || server.metric("num_requests_waiting") == 1);
        drop(leaver);
        waiter.join().unwrap()
    });
    assert_eq!(waiter.status, 200);
    wait_until("all is free", || server.metric("num_requests_running") == 0);
    let stats = server.get("/stats").json();
    assert_eq!((&stats["aborted"], &stats["in_flight"]), (&json!(1), &json!(0)));
}

#[test]
fn an_unstreamed_request_is_cancelled_too() {
    let server = Server::start(&[]);
    let mut leaver = server.connect();
    leaver.write("POST", "/v1/chat/completions", &message(20_000).to_string());
    wait_until("it runs", || server.metric("num_requests_running") == 1);
    drop(leaver);
    wait_until("it is gone", || server.metric("num_requests_running") == 0);
}

#[test]
fn the_fixed_pace_holds_for_many_at_once() {
    let server = Server::start(&["--preset", "fixed", "--ttft-ms", "100", "--tpot-ms", "10"]);
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| assert_eq!(server.post("/v1/chat/completions", &message(11)).status, 200));
        }
    });
    assert!(begin.elapsed() >= Duration::from_millis(200));
    assert_eq!(server.get("/stats").json()["tokens"], 550);
}

#[test]
fn term_and_int_end_it_promptly_and_quietly() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let server = Server::start(&[]);
        let mut busy = server.connect();
        busy.write("POST", "/v1/chat/completions", &streamed(message(20_000)).to_string());
        busy.read_some();
        let (status, stderr) = server.stop(signal);
        assert_eq!(status.code(), Some(0));
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

#[test]
fn a_port_in_use_is_one_line_and_exit_2() {
    let server = Server::start(&[]);
    let output = Command::new(env!("CARGO_BIN_EXE_sim-server"))
        .args(["--port", &server.port.to_string()])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let start = format!("sim-server: cannot listen on 127.0.0.1:{}: ", server.port);
    assert!(stderr.starts_with(&start) && stderr.lines().count() == 1, "{stderr}");
    assert!(output.stdout.is_empty());
}

#[test]
fn presets_are_listed_and_wrong_flags_refused() {
    let run = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_sim-server")).args(args).output().unwrap();
    let list = String::from_utf8(run(&["--list-presets"]).stdout).unwrap();
    for name in ["baseline:", "optimized:", "large-batch:", "low-latency:", "fixed:"] {
        assert!(list.contains(name), "{list}");
    }
    for args in [
        &["--preset", "fixed", "--max-num-seqs", "4"][..],
        &["--ttft-ms", "4"],
        &["--kv-cache-tokens", "1000"],
        &["--step-base-ms", "-1"],
        &["--unknown"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
}

#[test]
fn garbage_on_a_connection_hurts_nobody() {
    let server = Server::start(&FAST);
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket.write_all(b"not http at all\r\n\r\n").unwrap();
    socket.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(server.get("/health").status, 200);
}
