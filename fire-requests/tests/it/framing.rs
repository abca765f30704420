//! Streams whose bytes are legal and whose shape is not the usual one.

use crate::{
    server::{LAST, Server, Step, TOKEN, USAGE, chunk, end, head},
    tool::{fire, ms, rows},
};

const EVENTS: [&str; 5] = [TOKEN, TOKEN, LAST, USAGE, "[DONE]"];

/// Every event 30 ms after the one before, `shape` making its bytes, sent in as many packets as it returns.
fn shaped(shape: impl Fn(&str) -> Vec<Vec<u8>>) -> Vec<Step> {
    let mut steps = vec![head()];
    for data in EVENTS {
        steps.push(Step::Wait(30));
        for packet in shape(data) {
            steps.extend([chunk(packet), Step::Wait(2)]);
        }
    }
    steps.push(end());
    steps
}

/// TTFT about 30 ms and gaps about 30 ms: every event was found when it came, and nothing else was taken for one.
fn check(name: &str, steps: Vec<Step>) {
    let server = Server::start(move |_| steps.clone());
    let done = fire(&server.url, &[], &rows(1));
    let row = done.rows()[0];
    assert_eq!((done.code, &row["outcome"]), (Some(0), &"ok".into()), "{name}: {done:#?}");
    assert_eq!((&row["events"], &row["output_tokens"]), (&"cccud".into(), &3.into()), "{name}: {row}");
    assert_eq!(row["events_us"].as_array().unwrap().len(), 5);
    assert!((30.0..60.0).contains(&ms(row, "ttft_us")), "{name}: {row}");
    assert!((60.0..150.0).contains(&(ms(row, "e2e_us") - ms(row, "ttft_us"))), "{name}: {row}");
}

fn one(text: String) -> Vec<Vec<u8>> {
    vec![text.into_bytes()]
}

#[test]
fn f01_a_character_cut_between_packets() {
    check(
        "split",
        shaped(|data| {
            let bytes = format!("data: {data}\n\n").into_bytes();
            let cut = bytes.iter().position(|&byte| byte >= 0x80).map_or(9, |at| at + 1);
            vec![bytes[..cut].to_vec(), bytes[cut..].to_vec()]
        }),
    );
}

#[test]
fn f03_crlf() {
    check("crlf", shaped(|data| one(format!("data: {data}\r\n\r\n"))));
}

#[test]
fn f05_comments() {
    let mut steps = shaped(|data| one(format!(": ping\n\ndata: {data}\n\n: ping\n\n")));
    steps.splice(1..2, [Step::Wait(10), chunk(":\n\n: keep-alive\n\n"), Step::Wait(20)]);
    check("comments", steps);
}

#[test]
fn f06_no_blank_after_data() {
    check("no space", shaped(|data| one(format!("data:{data}\n\n"))));
}

#[test]
fn f07_other_fields() {
    check("fields", shaped(|data| one(format!("event: message\nid: 7\nretry: 1000\ndata: {data}\n\n"))));
}

#[test]
fn f09_long_lines() {
    check(
        "long",
        shaped(|data| match data.strip_suffix('}') {
            Some(open) => one(format!("data: {open},\"pad\":\"{}\"}}\n\n", "x".repeat(200_000))),
            None => one(format!("data: {data}\n\n")),
        }),
    );
}

#[test]
fn events_that_share_a_packet_share_its_time() {
    let text = format!("data: {}\n\n", EVENTS.join("\n\ndata: "));
    let server = Server::start(move |_| vec![head(), Step::Wait(20), chunk(&text), end()]);
    let done = fire(&server.url, &[], &rows(1));
    let times = done.rows()[0]["events_us"].as_array().unwrap();
    assert!(times.len() == 5 && times.iter().all(|time| time == &times[0]), "{times:?}");
}
