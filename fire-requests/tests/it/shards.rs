//! Several machines that fire one dataset together, and rates that change with time.

use std::{fs, time::SystemTime};

use serde_json::{Value, json};

use crate::{
    server::{Server, good, stream},
    tool::{fire, rows},
};

fn in_seconds(seconds: f64) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    format!("{:.3}", now.as_secs_f64() + seconds)
}

fn due(rows: &[&Value]) -> Vec<f64> {
    let mut due: Vec<f64> = rows.iter().map(|row| row["scheduled_us"].as_f64().unwrap()).collect();
    due.sort_by(f64::total_cmp);
    due
}

#[test]
fn shards_send_together_what_one_machine_would() {
    let server = Server::start(|_| stream(5, &[crate::server::LAST]));
    let pace = ["--request-rate", "40", "--seed", "7"];
    let alone = fire(&server.url, &pace, &rows(20));
    let start_at = in_seconds(1.5);
    let parts: Vec<_> = std::thread::scope(|scope| {
        let fire_part = |part: &'static str| {
            let flags = [&pace[..], &["--shard", part, "--start-at", &start_at, "--run", "r"]].concat();
            fire(&server.url, &flags, &rows(20))
        };
        let threads: Vec<_> =
            ["1/3", "2/3", "3/3"].map(|part| scope.spawn(move || fire_part(part))).into_iter().collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let together: Vec<&Value> = parts.iter().flat_map(|part| part.rows()).collect();
    let mut ids: Vec<u64> = together.iter().map(|row| row["id"].as_str().unwrap().parse().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..20).collect::<Vec<u64>>());
    assert_eq!(due(&together), due(&alone.rows()));
    let starts: Vec<&Value> = parts.iter().map(|part| part.one("run_start")).collect();
    assert!(starts.iter().all(|start| start["started_at"] == starts[0]["started_at"]), "{starts:?}");
    assert_eq!((&starts[1]["run"], &starts[1]["shard"]), (&json!("r-2of3"), &json!("2/3")));
    let hash = &alone.one("run_end")["dataset_sha256"];
    assert!(parts.iter().all(|part| part.one("run_end")["dataset_sha256"] == *hash));
}

#[test]
fn a_start_that_is_past_is_refused() {
    let server = Server::start(|_| good());
    let done = fire(&server.url, &["--start-at", "2026-01-01T00:00:00Z"], &rows(1));
    assert_eq!((done.code, server.seen().len()), (Some(2), 0));
    assert!(done.stderr.contains("--start-at 2026-01-01T00:00:00Z is past"), "{}", done.stderr);
    assert_eq!(fire(&server.url, &["--shard", "1/2"], &rows(1)).code, Some(2));
}

#[test]
fn a_trace_is_replayed_in_another_time() {
    let server = Server::start(|_| good());
    let trace = "{\"prompt\":\"a\",\"at_us\":0}\n{\"prompt\":\"a\",\"at_us\":400000}\n";
    let done = fire(&server.url, &["--time-scale", "0.5"], trace);
    assert_eq!(due(&done.rows()), [0.0, 200e3]);
    assert_eq!(done.one("run_start")["time_scale"], 0.5);
    let done = fire(&server.url, &["--time-scale", "0.5"], &rows(1));
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("stdin:1: no `at_us`"), "{}", done.stderr);
}

#[test]
fn a_schedule_ends_with_its_last_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rates");
    fs::write(&path, "0.2 100 # a burst\n0.2 0\n0.2 50\n").unwrap();
    let server = Server::start(|_| stream(1, &[crate::server::LAST]));
    let flags = ["--schedule", path.to_str().unwrap(), "--burstiness", "inf"];
    let done = fire(&server.url, &flags, &rows(1000));
    let due = due(&done.rows());
    assert_eq!(due.len(), 30);
    assert_eq!(due.iter().filter(|&&due| due <= 200e3).count(), 20);
    assert!(due.iter().all(|&due| due <= 200e3 || due > 400e3), "{due:?}");
    let end = done.one("run_end");
    assert_eq!((done.code, &end["stopped_by"]), (Some(0), &json!("schedule_end")));
    assert_eq!(done.one("run_start")["schedule"], "0.2 100; 0.2 0; 0.2 50");
    fs::write(&path, "10 5\n10 fast\n").unwrap();
    let done = fire(&server.url, &flags, &rows(1));
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("rates:2: 'fast' is no number"), "{}", done.stderr);
}

#[test]
fn rows_of_different_seeds_have_no_common_schedule() {
    let server = Server::start(|_| good());
    let input =
        "{\"prompt\":\"a\",\"max_tokens\":1,\"numpy_words\":3}\n{\"prompt\":\"a\",\"max_tokens\":1}\n";
    let done = fire(&server.url, &["--like", "vllm-0.33", "--request-rate", "9"], input);
    assert_eq!((done.code, server.seen().len()), (Some(2), 0));
    assert!(done.stderr.contains("stdin:2: `numpy_words`"), "{}", done.stderr);
}
