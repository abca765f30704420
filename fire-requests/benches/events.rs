//! The splitter and the reading of events, on streams as servers send them; and the plain way beside them.
//!
//! cargo bench -p fire-requests

#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fire_requests::parts;
use serde_json::{Value, json};

const EVENTS: usize = 4000;
/// What one read of a socket takes at most.
const READ: usize = 1 << 16;

fn event(text: &str, end: &str) -> String {
    let chunk = json!({"id": "chatcmpl-0123456789abcdef", "object": "chat.completion.chunk", "created": 1_764_547_200,
        "model": "Qwen/Qwen3-32B", "choices": [{"index": 0, "delta": {"content": text}, "logprobs": null,
        "finish_reason": null}]});
    format!("data: {chunk}{end}{end}")
}

/// Streams by name: their bytes, and how many come with each read.
fn streams() -> Vec<(&'static str, String, usize)> {
    let of = |text: &str, end: &str| event(text, end).repeat(EVENTS);
    vec![
        ("plain", of(" hello", "\n"), READ),
        ("an event a read", of(" hello", "\n"), event(" hello", "\n").len()),
        ("escapes in each", of("\n\"quoted\"", "\n"), READ),
        ("CRLF", of(" hello", "\r\n"), READ),
        ("a byte a read", of(" hello", "\n"), 1),
        ("2 MB lines", event(&"x".repeat(2 << 20), "\n").repeat(4), READ),
    ]
}

fn splitting(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("split");
    for (name, stream, read) in streams() {
        group.throughput(Throughput::Bytes(stream.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), &stream, |bencher, stream| {
            bencher.iter(|| {
                let mut count = 0;
                parts::split(stream.as_bytes().chunks(read), &mut |event| count += event.len());
                black_box(count)
            });
        });
    }
    group.finish();
}

fn reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    for (name, stream, read) in streams().into_iter().filter(|(name, _, _)| *name != "2 MB lines") {
        let answer = answer(&stream);
        assert_eq!(parts::receive("openai-chat", answer.chunks(read)), "c".repeat(EVENTS));
        group.throughput(Throughput::Elements(EVENTS as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), &answer, |bencher, answer| {
            bencher.iter(|| black_box(parts::receive("openai-chat", answer.chunks(read))));
        });
    }
    let stream = event(" hello", "\n").repeat(EVENTS);
    group.bench_function("the plain way: lines and serde_json::Value", |bencher| {
        bencher.iter(|| black_box(plain(&stream)));
    });
    group.finish();
}

/// As servers send it: a chunk an event.
fn answer(stream: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut bytes = head.as_bytes().to_vec();
    let size = stream.len() / EVENTS;
    for event in stream.as_bytes().chunks(size) {
        bytes.extend_from_slice(format!("{:x}\r\n", event.len()).as_bytes());
        bytes.extend_from_slice(event);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn plain(stream: &str) -> usize {
    let values = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let texts = values.filter_map(|data| {
        let value: Value = serde_json::from_str(data).ok()?;
        value["choices"][0]["delta"]["content"].as_str().map(str::len)
    });
    texts.count()
}

criterion_group!(benches, splitting, reading);
criterion_main!(benches);
