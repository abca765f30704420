//! What ends a run before its input does, and how the next goes on.

use std::{
    fs,
    io::Write,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    server::{LAST, Server, Step, good, head, stream, whole},
    tool::{command, finish, fire, rows},
};

fn numbered(count: usize) -> String {
    let row = |id| format!("{{\"id\":\"r{id}\",\"prompt\":\"a\",\"max_tokens\":3}}\n");
    (0..count).map(row).collect::<Vec<_>>().concat()
}

fn ids(rows: &[&Value]) -> Vec<String> {
    let mut ids: Vec<String> = rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn nothing_is_sent_after_the_duration() {
    for flags in [&["--request-rate", "50", "--burstiness", "inf"] as &[&str], &["--max-concurrency", "1"]] {
        let server = Server::start(|_| stream(10, &[LAST]));
        let done = fire(&server.url, &[flags, &["--duration", "0.31"]].concat(), &rows(1000));
        let end = done.one("run_end");
        assert_eq!((done.code, &end["stopped_by"]), (Some(0), &json!("duration")), "{end}");
        let sent = done.rows().iter().map(|row| row["sent_us"].as_f64().unwrap()).fold(0.0, f64::max);
        assert!(sent < 330e3 && done.rows().iter().all(|row| row["outcome"] == "ok"), "{sent}");
        assert!(done.rows().len() < 40 && end["unsent"].as_u64().unwrap() > 0, "{end}");
        assert_eq!(done.one("run_start")["duration"], 0.31);
    }
}

#[test]
fn an_input_that_ends_before_the_duration_is_an_end_of_input() {
    let server = Server::start(|_| good());
    let done = fire(&server.url, &["--duration", "20"], &rows(2));
    assert_eq!(done.one("run_end")["stopped_by"], "input_end");
    assert!(done.one("run_end")["elapsed_us"].as_f64().unwrap() < 5e6);
}

#[test]
fn too_many_failures_stop_the_run() {
    let server =
        Server::start(|seen| if seen.index < 2 { good() } else { vec![whole(500, "text/plain", "no")] });
    let done = fire(&server.url, &["--max-concurrency", "1", "--max-failures", "3"], &rows(100));
    let end = done.one("run_end");
    assert_eq!((done.code, &end["stopped_by"]), (Some(1), &json!("max_failures")), "{end}");
    assert_eq!((&end["ok"], &end["failed"]), (&json!(2), &json!(3)));
}

#[test]
fn silence_ends_a_request() {
    let server = Server::start(|seen| match seen.index {
        0 => vec![head(), crate::server::event(crate::server::TOKEN), Step::Hang],
        1 => vec![Step::Hang],
        _ => stream(150, &[crate::server::TOKEN, crate::server::TOKEN, LAST]),
    });
    let done = fire(&server.url, &["--max-concurrency", "1", "--idle-timeout", "0.3"], &rows(3));
    let rows = done.rows();
    for row in &rows[..2] {
        assert_eq!(row["outcome"], "timeout");
        assert!(row["error"].as_str().unwrap().contains("--idle-timeout"), "{row}");
    }
    assert_eq!(rows[2]["outcome"], "ok");
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn a_killed_run_leaves_whole_rows_and_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let name = path.to_str().unwrap();
    let server = Server::start(|_| stream(20, &[LAST]));
    let flags = ["--base-url", &server.url, "--max-concurrency", "2", "--output", name];
    let mut child = command(&flags).spawn().unwrap();
    child.stdin.take().unwrap().write_all(numbered(200).as_bytes()).unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while server.seen().len() < 20 && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let answered = server.seen().len();
    let text = fs::read_to_string(&path).unwrap();
    let whole: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    // Those in flight, and the one whose line was being written.
    assert!(whole.len() + 3 > answered, "{} rows of {answered} answers", whole.len());

    fs::write(&path, text + "{\"kind\":\"timing\",\"id\":\"r1").unwrap();
    let done = fire(&server.url, &["--resume", name, "--output", name], &numbered(200));
    assert_eq!(done.code, Some(0), "{done:#?}");
    assert!(
        done.stderr.contains("torn last line") && done.stderr.contains("have their answer already"),
        "{}",
        done.stderr
    );
    let text = fs::read_to_string(&path).unwrap();
    let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rows: Vec<&Value> = all.iter().filter(|line| line["kind"] == "timing").collect();
    let mut expected: Vec<String> = (0..200).map(|id| format!("r{id}")).collect();
    expected.sort();
    assert_eq!(ids(&rows), expected);
    assert_eq!(all.iter().filter(|line| line["kind"] == "run_start").count(), 2);
}

#[test]
fn what_failed_is_sent_again_and_what_differs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let name = path.to_str().unwrap();
    let server =
        Server::start(|seen| if seen.index == 1 { vec![whole(500, "text/plain", "no")] } else { good() });
    fire(&server.url, &["--max-concurrency", "1", "--output", name], &numbered(3));
    let again = fire(&server.url, &["--resume", name], &numbered(4));
    assert_eq!(ids(&again.rows()), ["r1", "r3"]);
    assert_eq!(again.one("run_start")["resumed"], 2);
    let other = fire(&server.url, &["--resume", name, "--temperature", "1"], &numbered(4));
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("what is laid over each request"), "{}", other.stderr);
    let twice = fire(&server.url, &["--resume", name], &(numbered(4) + &numbered(1)));
    assert_eq!(twice.code, Some(2), "{twice:#?}");
    assert!(twice.stderr.contains("stdin:5: `id`"), "{}", twice.stderr);
}

#[test]
fn ids_that_are_given_twice_are_told() {
    let server = Server::start(|_| good());
    let done = fire(&server.url, &[], &(numbered(2) + &numbered(2)));
    assert_eq!((done.code, done.rows().len()), (Some(0), 4));
    assert_eq!(done.stderr.matches("id \"r0\" is that of an earlier row").count(), 1, "{}", done.stderr);
}

#[test]
fn more_requests_than_open_files_are_refused_before_the_first() {
    let server = Server::start(|_| good());
    let flags = ["--base-url", &server.url, "--max-concurrency", "300"];
    let binary = env!("CARGO_BIN_EXE_fire-requests");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -Sn 200; ulimit -Hn 200; exec \"$@\"", "sh", binary]).args(flags);
    shell
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(rows(300).as_bytes());
    let done = finish(child);
    assert_eq!((done.code, server.seen().len()), (Some(2), 0), "{done:#?}");
    assert!(done.stderr.contains("ulimit") && done.stderr.contains("allows 200"), "{}", done.stderr);
}

#[test]
fn a_cap_that_holds_a_schedule_up_is_told() {
    let server = Server::start(|_| stream(100, &[LAST]));
    let done = fire(&server.url, &["--request-rate", "100", "--max-concurrency", "1"], &rows(10));
    assert!(done.stderr.contains("after their time (p99), waiting for --max-concurrency"), "{}", done.stderr);
    let done = fire(&server.url, &["--request-rate", "100"], &rows(10));
    assert!(!done.stderr.contains("after their time"), "{}", done.stderr);
}

#[test]
fn what_a_server_says_cannot_act_on_the_terminal() {
    let server = Server::start(|_| vec![whole(400, "text/plain", "\u{1b}[31mred\u{7}")]);
    let done = fire(&server.url, &[], &rows(1));
    assert!(done.stderr.contains("HTTP 400: \\u{1b}[31mred\\u{7}"), "{}", done.stderr);
    let page = "<!doctype html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    let server = Server::start(move |_| vec![whole(502, "text/html", page)]);
    let done = fire(&server.url, &[], &rows(1));
    assert!(done.stderr.contains("HTTP 502: 502 Bad Gateway\n"), "{}", done.stderr);
}
