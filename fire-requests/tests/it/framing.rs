//! Streams whose bytes are legal and whose shape is not the usual one.

use crate::{
    baseline::{Plan, Stage, WORDS, completion, plain},
    server::{LAST, Server, Step, TOKEN, USAGE, chunk, end, head},
    tool::{Done, fire, rows},
};

/// The baseline's events, each written by `shape`; every one must be found when it came, and nothing else taken for one.
fn check(plan: Plan<Vec<u8>>) -> Done {
    let stage = Stage::start(plan);
    let done = stage.fire(&["--save-text"]);
    assert_eq!(done.code, Some(0), "{done:#?}");
    let row = done.rows()[0];
    stage.check(row);
    assert_eq!(row["events"], "ccccccccud", "{row}");
    done
}

fn shaped(shape: impl Fn(&str) -> String) -> Plan<Vec<u8>> {
    completion(&WORDS).into_iter().map(|(ms, data)| (ms, shape(&data).into_bytes())).collect()
}

#[test]
fn f01_a_character_cut_between_packets() {
    let words = ["日本", "語", " naïve", " 😀", " ok", " ñ", " 終", " é"];
    let cut = |(ms, bytes): (u64, Vec<u8>)| match bytes.iter().position(|&byte| byte >= 0x80) {
        Some(at) => vec![(ms, bytes[..=at].to_vec()), (ms + 3, bytes[at + 1..].to_vec())],
        None => vec![(ms, bytes)],
    };
    let done = check(plain(completion(&words)).into_iter().flat_map(cut).collect());
    assert_eq!(done.rows()[0]["text"], "日本語 naïve 😀 ok ñ 終 é");
}

#[test]
fn f03_crlf() {
    check(shaped(|data| format!("data: {data}\r\n\r\n")));
}

#[test]
fn f05_comments() {
    let mut plan = shaped(|data| format!("data: {data}\n\n: ping\n\n"));
    let quiet = [12, 25, 37, 50].map(|ms| (ms, b":\n\n: keep-alive\n\n".to_vec()));
    plan.splice(..0, quiet);
    check(plan);
}

#[test]
fn f06_no_blank_after_data() {
    check(shaped(|data| format!("data:{data}\n\n")));
}

#[test]
fn f07_other_fields() {
    check(shaped(|data| format!("event: message\nid: 7\nretry: 1000\ndata: {data}\n\n")));
}

#[test]
fn f09_long_lines() {
    let padded = |data: &str| match data.strip_suffix('}') {
        Some(open) => format!("data: {open},\"pad\":\"{}\"}}\n\n", "x".repeat(200_000)),
        None => format!("data: {data}\n\n"),
    };
    let done = check(shaped(padded));
    let end = done.one("run_end");
    let cpu = end["client"]["cpu_pct"].as_f64().unwrap() / 100.0 * end["elapsed_us"].as_f64().unwrap() / 1e3;
    assert!(cpu < 50.0, "{cpu} ms of CPU time for 2 MB");
}

#[test]
fn events_that_share_a_packet_share_its_time() {
    let text = format!("data: {}\n\n", [TOKEN, TOKEN, LAST, USAGE, "[DONE]"].join("\n\ndata: "));
    let server = Server::start(move |_| vec![head(), Step::Wait(20), chunk(&text), end()]);
    let done = fire(&server.url, &[], &rows(1));
    let times = done.rows()[0]["events_us"].as_array().unwrap();
    assert!(times.len() == 5 && times.iter().all(|time| time == &times[0]), "{times:?}");
}
