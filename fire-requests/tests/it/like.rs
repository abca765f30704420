//! `--like`: the requests and the arrival times of `vllm bench serve`.

use serde_json::Value;

use crate::{
    server::{Seen, Server, Step, good, stream},
    tool::{fire, ms, rows},
};

/// The requests that the rows of `input` become.
fn seen(flags: &str, input: &str) -> Vec<Seen> {
    let server = Server::start(|seen| if seen.path.contains("chat") { chat() } else { good() });
    let flags: Vec<&str> = flags.split(' ').chain(["--max-concurrency", "1"]).collect();
    let done = fire(&server.url, &flags, input);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    server.seen()
}

fn chat() -> Vec<Step> {
    stream(0, &[r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}"#, "[DONE]"])
}

const ROW: &str = "{\"prompt\":\"é 😀\\n\",\"max_tokens\":3}\n";
const CHAT: &str = "--backend openai-chat";

/// What the request functions of either version sent for this prompt through aiohttp 3.14, as captured.
#[test]
fn bodies_are_those_of_vllm_byte_for_byte() {
    for (flags, body) in [
        (
            "--like vllm-0.33".to_owned(),
            r#"{"model": "m", "prompt": "\u00e9 \ud83d\ude00\n", "repetition_penalty": 1.0, "max_tokens": 3, "logprobs": null, "stream": true, "stream_options": {"include_usage": true}}"#,
        ),
        (
            "--like vllm-0.11".to_owned(),
            r#"{"model": "m", "prompt": "\u00e9 \ud83d\ude00\n", "temperature": 0.0, "repetition_penalty": 1.0, "max_tokens": 3, "logprobs": null, "stream": true, "stream_options": {"include_usage": true}}"#,
        ),
        (
            format!("--like vllm-0.33 {CHAT}"),
            r#"{"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "\u00e9 \ud83d\ude00\n"}]}], "max_completion_tokens": 3, "stream": true, "stream_options": {"include_usage": true}}"#,
        ),
        (
            format!("--like vllm-0.11 {CHAT}"),
            r#"{"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "\u00e9 \ud83d\ude00\n"}]}], "temperature": 0.0, "max_completion_tokens": 3, "stream": true, "stream_options": {"include_usage": true}}"#,
        ),
    ] {
        assert_eq!(seen(&flags, ROW)[0].text, body, "{flags}");
    }
}

/// `{**sampling, **extra_body}` over the body: a new key goes to the end, a known one keeps its place.
#[test]
fn what_is_laid_over_lies_as_in_vllm() {
    let tail = |flags: &str, row: &str| {
        let text = seen(flags, row).remove(0).text;
        text.split_once(r#""max_tokens": "#).unwrap().1.to_owned()
    };
    let stream = r#""stream": true, "stream_options": {"include_usage": true}"#;
    let own = r#"{"prompt":"a","max_tokens":3,"extra_body":{"ignore_eos":true,"seed":7}}"#;
    assert_eq!(
        tail("--like vllm-0.33 --temperature 0 --top-k 5 --top-p 0.9", own),
        format!(
            r#"3, "logprobs": null, {stream}, "ignore_eos": true, "top_p": 0.9, "top_k": 5, "temperature": 0.0, "seed": 7}}"#
        )
    );
    assert_eq!(
        tail(
            r#"--like vllm-0.33 --ignore-eos --min-p 0.1 --extra-body {"stop":null,"logprobs":2,"min_p":1}"#,
            ROW
        ),
        format!(r#"3, "logprobs": 2, {stream}, "ignore_eos": true, "min_p": 1, "stop": null}}"#)
    );
    let text = seen("--like vllm-0.11 --temperature 0.7 --repetition-penalty 1.2", ROW).remove(0).text;
    assert!(text.contains(r#""temperature": 0.7, "repetition_penalty": 1.2, "max_tokens""#), "{text}");
}

#[test]
fn conversations_are_sent_as_they_are() {
    let row = r#"{"messages":[{"role":"system","content":"s"}],"max_tokens":3}"#;
    let text = seen(&format!("--like vllm-0.33 {CHAT}"), row).remove(0).text;
    assert!(text.contains(r#""messages": [{"role": "system", "content": "s"}], "max_comp"#), "{text}");
}

#[test]
fn rows_that_vllm_could_not_send_are_refused() {
    let server = Server::start(|_| good());
    for (flags, row, problem) in [
        (&["--like", "vllm-0.33"] as &[&str], r#"{"prompt":"a"}"#, "stdin:1: no `max_tokens`"),
        (
            &["--like", "vllm-0.11", "--backend", "openai-chat"],
            r#"{"messages":[{"role":"user","content":"a"}],"max_tokens":3}"#,
            "stdin:1: `messages`: vLLM 0.11 sends one user message",
        ),
    ] {
        let done = fire(&server.url, flags, row);
        assert_eq!((done.code, server.seen().len()), (Some(2), 0));
        assert!(done.stderr.contains(problem), "{}", done.stderr);
    }
}

#[test]
fn request_ids_are_the_prefix_and_the_row() {
    let id = |flags: &str, index: usize| -> Option<String> {
        let head = seen(flags, &rows(3)).remove(index).head;
        head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).map(str::to_owned)
    };
    assert_eq!(id("--like vllm-0.11", 2).as_deref(), Some("benchmark-serving2"));
    assert_eq!(id("--like vllm-0.33 --request-id-prefix a-", 1).as_deref(), Some("a-1"));
    assert_eq!(id("--request-id-prefix a-", 0).as_deref(), Some("a-0"));
    assert_eq!(id("--seed 1", 0), None);
    // Warm-ups go without.
    assert_eq!(id("--like vllm-0.11 --num-warmups 1", 0), None);
    let made = id("--like vllm-0.33", 0).unwrap();
    let hex = made.strip_prefix("bench-").and_then(|rest| rest.strip_suffix("-0")).unwrap();
    assert!(hex.len() == 8 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()), "{made}");
}

/// The longest two of arrivals.json, which are also the quickest.
#[test]
fn requests_are_scheduled_as_vllm_schedules_them() {
    let vectors: Value = serde_json::from_str(include_str!("../arrivals.json")).unwrap();
    for case in vectors["cases"].as_array().unwrap().iter().rev().take(2) {
        let flags = format!("--like vllm-0.33 {}", case["flags"].as_str().unwrap());
        let server = Server::start(|_| good());
        let times = case["times"].as_array().unwrap();
        let done = fire(&server.url, &flags.split(' ').collect::<Vec<_>>(), &rows(times.len()));
        assert_eq!(done.rows().len(), times.len(), "{}", done.stderr);
        for row in done.rows() {
            let at: usize = row["id"].as_str().unwrap().parse().unwrap();
            let (due, expected) = (ms(row, "scheduled_us"), times[at].as_f64().unwrap() * 1e3);
            assert!(
                (due - expected).abs() <= 0.000_5,
                "{flags}: row {at} is due at {due} ms, not {expected}"
            );
        }
        assert_eq!(done.one("run_start")["like"], "vllm-0.33");
    }
}

#[test]
fn a_ramp_is_recorded_and_needs_no_other_client() {
    let server = Server::start(|_| good());
    let flags =
        "--ramp-up-strategy exponential --ramp-up-start-rps 100 --ramp-up-end-rps 400 --burstiness inf";
    let done = fire(&server.url, &flags.split(' ').collect::<Vec<_>>(), &rows(3));
    let start = done.one("run_start");
    assert_eq!((&start["ramp_up_strategy"], &start["request_rate"]), (&"exponential".into(), &"inf".into()));
    assert_eq!((&start["ramp_up_start_rps"], &start["ramp_up_end_rps"]), (&100.0.into(), &400.0.into()));
    let mut due: Vec<f64> = done.rows().iter().map(|row| ms(row, "scheduled_us")).collect();
    due.sort_by(f64::total_cmp);
    assert_eq!(due, [10.0, 15.0, 17.5]);
}

#[test]
fn a_bad_row_anywhere_stops_a_planned_run_before_it_begins() {
    let server = Server::start(|_| good());
    let input = rows(100) + "{\"text\":\"a\"}\n";
    let done = fire(&server.url, &["--like", "vllm-0.33", "--request-rate", "1000"], &input);
    assert_eq!((done.code, server.seen().len()), (Some(2), 0));
    let end = done.one("run_end");
    assert_eq!(
        (&end["stopped_by"], &end["sent"], &end["unsent"]),
        (&"bad_input".into(), &0.into(), &100.into())
    );
    assert!(done.complaints().starts_with("fire-requests: stdin:101:"), "{}", done.stderr);
}
