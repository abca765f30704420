//! Answers whose HTTP is legal and rare, or broken.

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
    time::Duration,
};

use flate2::{Compression, write::GzEncoder, write::ZlibEncoder};
use serde_json::{Value, json};

use crate::{
    baseline::{Plan, Stage, WORDS, completion, plain},
    server::{Late, Server, Step, chunk, end, event, good, head, whole},
    tool::{Done, fire, rows},
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
const CHUNKED: &str = "Transfer-Encoding: chunked\r\n\r\n";

fn body() -> Plan<Vec<u8>> {
    plain(completion(&WORDS))
}

fn send(bytes: impl Into<Vec<u8>>) -> Step {
    Step::Send(bytes.into())
}

/// A head, the parts of a body at their times, each made into packets by `framed`, and an end.
fn timed(
    head: &str,
    plan: &[(u64, Vec<u8>)],
    framed: impl Fn(&[u8]) -> Vec<Step>,
    end: &[Step],
    late: &Late,
) -> Vec<Step> {
    let at = |ms| Step::At(Duration::from_millis(ms), Late::clone(late));
    let parts = plan.iter().flat_map(|(ms, bytes)| [vec![at(*ms)], framed(bytes)].concat());
    [vec![send(head)], parts.collect(), end.to_vec()].concat()
}

/// Two requests on as few connections as can be, whose answers must be the baseline; says whether there was but one.
fn check(name: &str, script: impl Fn(&Late) -> Vec<Step> + Send + Sync + 'static) -> bool {
    let stage = Stage::scripted(move |_, late| script(late));
    let done = fire(&stage.server.url, &["--max-concurrency", "1", "--save-text"], &rows(2));
    assert_eq!((done.code, stage.server.seen().len()), (Some(0), 2), "{name}: {done:#?}");
    for row in done.rows() {
        stage.check(row);
        assert_eq!(
            (&row["events"], &row["text"]),
            (&json!("ccccccccud"), &json!(WORDS.concat())),
            "{name}: {row}"
        );
    }
    stage.server.seen()[1].nth == 1
}

fn failed(name: &str, steps: Vec<Step>, outcome: &str, part: &str) {
    let server = Server::start(move |_| steps.clone());
    let done = fire(&server.url, &["--request-timeout", "10"], &rows(1));
    let row = done.rows()[0];
    assert_eq!((done.code, &row["outcome"]), (Some(1), &json!(outcome)), "{name}: {row}");
    assert!(row["error"].as_str().unwrap().contains(part), "{name}: {row}");
}

/// The baseline's body, each event compressed and flushed as it comes.
fn compressed<W: Write>(mut encoder: W, take: impl Fn(&mut W) -> Vec<u8>) -> (Plan<Vec<u8>>, W) {
    let each = body().into_iter().map(|(ms, bytes)| {
        encoder.write_all(&bytes).unwrap();
        encoder.flush().unwrap();
        (ms, take(&mut encoder))
    });
    (each.collect(), encoder)
}

#[test]
fn compressed_streams_keep_their_times() {
    let gzip = || GzEncoder::new(Vec::new(), Compression::default());
    let (plan, rest) = compressed(gzip(), |encoder| std::mem::take(encoder.get_mut()));
    let gzipped = (plan, rest.finish().unwrap());
    let zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    let (plan, rest) = compressed(zlib, |encoder| std::mem::take(encoder.get_mut()));
    let deflated = (plan, rest.finish().unwrap());
    for (encoding, (plan, rest)) in [("gzip", gzipped.clone()), ("X-GZIP", gzipped), ("deflate", deflated)] {
        let head = format!("{OK}Content-Encoding: {encoding}\r\n{CHUNKED}");
        for size in [1, usize::MAX] {
            let (plan, head, rest) = (plan.clone(), head.clone(), chunk(&rest));
            let cut = move |bytes: &[u8]| bytes.chunks(size).map(chunk).collect();
            check(encoding, move |late| timed(&head, &plan, cut, &[rest.clone(), end()], late));
        }
    }
}

#[test]
fn unknown_encodings_are_named() {
    for encoding in ["br", "zstd"] {
        let head = format!("{OK}Content-Encoding: {encoding}\r\n{CHUNKED}");
        failed(encoding, vec![send(head), event("?"), end()], "protocol", &format!("encoded as {encoding}"));
    }
    let head = format!("{OK}Content-Encoding: gzip\r\n{CHUNKED}");
    failed("not gzip", vec![send(head), event("{}"), end()], "protocol", "Content-Encoding");
}

#[test]
fn chunks_are_cut_anywhere() {
    let whole = |bytes: &[u8]| vec![chunk(bytes)];
    assert!(check("one", move |late| timed(&format!("{OK}{CHUNKED}"), &body(), whole, &[end()], late)));
    for size in [1, 2, 7] {
        let cut = move |bytes: &[u8]| bytes.chunks(size).map(chunk).collect();
        check("small", move |late| timed(&format!("{OK}{CHUNKED}"), &body(), cut, &[end()], late));
    }
    // Packets of a byte each, so that the framing is cut too.
    let bytewise = |bytes: &[u8]| {
        let Step::Send(framed) = chunk(bytes) else { unreachable!() };
        framed.chunks(1).map(send).collect()
    };
    check("bytewise", move |late| timed(&format!("{OK}{CHUNKED}"), &body(), bytewise, &[end()], late));
}

#[test]
fn chunks_with_all_that_may_stand_by_them() {
    let extended = |bytes: &[u8]| {
        let size = format!("000{:X};a=b;c=\"d e\"\r\n", bytes.len());
        vec![send(size), send(bytes), send("\r\n")]
    };
    let trailer = "000;last\r\nX-Time: 1\r\nX-Sum: 2;3\r\n\r\n";
    let reused = check("extensions and trailers", move |late| {
        let head = format!("{OK}Content-Length: 7\r\nTransfer-Encoding: Chunked\r\n\r\n");
        timed(&head, &body(), extended, &[send(trailer)], late)
    });
    assert!(reused, "the end behind the trailers was not found");
}

#[test]
fn other_ends_of_a_body() {
    let raw = |bytes: &[u8]| vec![send(bytes)];
    let length: usize = body().iter().map(|(_, bytes)| bytes.len()).sum();
    let sized = format!("{OK}Content-Length: {length}\r\n\r\n");
    assert!(check("length", move |late| timed(&sized, &body(), raw, &[], late)));
    for (name, head) in [
        ("HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".to_owned()),
        ("no framing", format!("{OK}\r\n")),
        ("Connection: close", format!("{OK}Connection: close\r\n\r\n")),
    ] {
        assert!(!check(name, move |late| timed(&head, &body(), raw, &[Step::Close], late)), "{name}");
    }
    let whole = |bytes: &[u8]| vec![chunk(bytes)];
    let closing = format!("{OK}Connection: Close\r\n{CHUNKED}");
    let reused = check("announced close", move |late| {
        timed(&closing, &body(), whole, &[end(), Step::Wait(5), Step::Close], late)
    });
    assert!(!reused, "a request on a connection that was to be closed");
}

#[test]
fn a_connection_with_something_left_on_it_is_not_used_again() {
    let whole = |bytes: &[u8]| vec![chunk(bytes)];
    check("rubbish behind the end", move |late| {
        timed(
            &format!("{OK}{CHUNKED}"),
            &body(),
            whole,
            &[send("0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), Step::Hang],
            late,
        )
    });
}

#[test]
fn interim_answers_are_passed_over() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n\
                   HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n";
    let whole = |bytes: &[u8]| vec![chunk(bytes)];
    let heads = format!("{interim}{OK}{CHUNKED}");
    check("together", move |late| timed(&heads, &body(), whole, &[end()], late));
    check("apart", move |late| {
        let rest = timed(&format!("{OK}{CHUNKED}"), &body(), whole, &[end()], late);
        let each = interim.split_inclusive("\r\n\r\n").flat_map(|head| [send(head), Step::Wait(2)]);
        each.chain(rest).collect()
    });
}

#[test]
fn large_heads_are_read_or_refused() {
    let whole = |bytes: &[u8]| vec![chunk(bytes)];
    let large = format!("{OK}X-Large: {}\r\n{CHUNKED}", "x".repeat(60_000));
    check("60 kB", move |late| timed(&large, &body(), whole, &[end()], late));
    let endless = format!("{OK}X-Large: {}", "x".repeat(1 << 20));
    failed("1 MB without an end", vec![send(endless), Step::Hang], "protocol", "a head of more than");
    let many = (0..1000).map(|number| format!("X-{number}: 1\r\n")).collect::<String>();
    failed(
        "1000 fields",
        vec![send(format!("{OK}{many}{CHUNKED}")), end()],
        "protocol",
        "not an HTTP answer",
    );
}

#[test]
fn what_is_no_http_is_a_failure_of_the_protocol() {
    for garbage in [
        "HELLO\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "\u{0}\u{0}\u{12}\u{4}\u{0}\u{0}\u{0}\u{0}\u{0}",
    ] {
        failed(garbage, vec![send(garbage), Step::Hang], "protocol", "not an HTTP answer");
    }
    let sizes = ["zz\r\n", "\r\n", "-1\r\n", "11111111111111111\r\n", "3\r\nabcd\r\n"];
    for size in sizes {
        failed(size, vec![head(), send(size), Step::Hang], "protocol", "bad chunk framing");
    }
    failed("length", vec![send(format!("{OK}Content-Length: many\r\n\r\n"))], "protocol", "Content-Length");
}

#[test]
fn a_body_that_ends_too_early_is_truncated() {
    let part = &plain(completion(&WORDS))[0].1;
    let cut = [format!("{OK}{CHUNKED}fff\r\n").as_bytes(), part].concat();
    failed("inside a chunk", vec![send(cut), Step::Close], "truncated", "before the body's end");
    let cut = [format!("{OK}Content-Length: 4096\r\n\r\n").as_bytes(), part].concat();
    failed("of known length", vec![send(cut), Step::Close], "truncated", "before the body's end");
    let cut = [format!("{OK}\r\n").as_bytes(), part].concat();
    failed("until the close", vec![send(cut), Step::Close], "truncated", "without a finish reason");
    failed("inside the head", vec![send(OK), Step::Close], "truncated", "in the head of its answer");
    failed(
        "in an interim answer",
        vec![send("HTTP/1.1 100 Continue\r\n\r\n"), Step::Close],
        "truncated",
        "head",
    );
}

/// A server that reads no more than the head of a POST, and refuses it. It lists its models as others do.
fn refusing() -> String {
    const REFUSAL: &str = r#"{"error":{"message":"prompt too large"}}"#;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for socket in listener.incoming() {
            thread::spawn(move || {
                let (mut socket, mut first) = (socket.unwrap(), [0; 512]);
                let count = socket.read(&mut first).unwrap_or_default();
                let answer = match first[..count].starts_with(b"GET") {
                    true => whole(200, "application/json", r#"{"object":"list","data":[{"id":"m"}]}"#),
                    false => whole(413, "application/json", REFUSAL),
                };
                let Step::Send(answer) = answer else { unreachable!() };
                let _ = socket.write_all(&answer);
                // Closing at once would reset the connection, for there is more to read.
                thread::sleep(Duration::from_millis(300));
            });
        }
    });
    url
}

#[test]
fn an_answer_may_come_before_the_request_was_read() {
    let input = json!({"prompt": "word ".repeat(4 << 20), "max_tokens": 3}).to_string();
    let done: Done = fire(&refusing(), &["--request-timeout", "20"], &input);
    let row: &Value = done.rows()[0];
    assert_eq!((&row["outcome"], &row["status"]), (&json!("http"), &json!(413)), "{row}");
    assert_eq!(row["error"], "HTTP 413: prompt too large");
}

#[test]
fn a_good_answer_after_a_bad_one_needs_a_new_connection() {
    let server = Server::start(|seen| match seen.index {
        0 => vec![head(), send("zz\r\n"), Step::Hang],
        _ => good(),
    });
    let done = fire(&server.url, &["--max-concurrency", "1"], &rows(3));
    assert_eq!(done.one("run_end")["ok"], 2, "{done:#?}");
    assert_eq!(server.seen()[1].nth, 0, "a request on a broken connection");
}
