//! Arguments, input and output.

use std::{fs, io::Write, path::Path};

use crate::{
    server::{Server, good},
    tool::{command, finish, fire, rows},
};

#[test]
fn a_run_is_bracketed() {
    let server = Server::start(|_| good());
    let flags = ["--run", "base-1", "--label", "engine=vllm", "--temperature", "0", "--max-concurrency", "4"];
    let done = fire(&server.url, &flags, &rows(2));
    let kinds: Vec<_> = done.lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["run_start", "timing", "timing", "run_end"]);
    assert!(done.lines.iter().all(|line| line["run"] == "base-1"));
    let start = done.one("run_start");
    assert_eq!((&start["model"], &start["labels"]["engine"]), (&"m".into(), &"vllm".into()));
    assert_eq!((&start["request_rate"], &start["max_concurrency"]), (&"inf".into(), &4.into()));
    assert_eq!(start["body"]["temperature"], 0.0);
    let end = done.one("run_end");
    assert_eq!((&end["stopped_by"], &end["unsent"]), (&"input_end".into(), &0.into()));
    assert_eq!(end["dataset_sha256"].as_str().unwrap().len(), 64);
    assert!(done.stderr.contains("2 ok, 0 failed"), "{}", done.stderr);
}

#[test]
fn bad_input_keeps_what_is_finished() {
    let server = Server::start(|_| good());
    let input = rows(2) + "{\"prompt\":\"a\",\"temperature\":0}\n" + &rows(1);
    let done = fire(&server.url, &["--max-concurrency", "1", "--quiet"], &input);
    assert_eq!((done.code, done.rows().len()), (Some(2), 2), "{done:#?}");
    assert_eq!(done.one("run_end")["stopped_by"], "bad_input");
    assert!(done.complaints().starts_with("fire-requests: stdin:3: `temperature`"), "{}", done.stderr);
    assert!(done.stderr.contains("extra_body"), "{}", done.stderr);
}

#[test]
fn no_rows_are_unusable_input() {
    let server = Server::start(|_| good());
    let done = fire(&server.url, &[], "");
    assert_eq!((done.code, &done.one("run_end")["sent"]), (Some(2), &0.into()));
    assert!(done.stderr.starts_with("fire-requests: stdin: no rows"), "{}", done.stderr);
}

#[test]
fn the_model_must_be_on_the_servers_list() {
    let server = Server::start(|_| good());
    let done = fire(&server.url, &["--model", "other"], &rows(1));
    assert_eq!((done.code, done.lines.len(), server.seen().len()), (Some(2), 0, 0));
    assert!(done.stderr.contains("no model 'other'") && done.stderr.contains("it has m"), "{}", done.stderr);
}

#[test]
fn f49_output_files() {
    let server = Server::start(|_| good());
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |flags: &[&str]| fire(&server.url, flags, &rows(1));

    let missing = run(&["--output", &path("no/such/x.jsonl")]);
    assert_eq!((missing.code, server.seen().len()), (Some(2), 0));
    assert!(missing.stderr.contains("no/such/x.jsonl"), "{}", missing.stderr);

    let folder_itself = run(&["--output", &path("")]);
    assert_eq!((folder_itself.code, server.seen().len()), (Some(2), 0));
    assert!(folder_itself.stderr.contains("is a folder; name a file"), "{}", folder_itself.stderr);

    let file = path("run.jsonl");
    assert_eq!(run(&["--output", &file]).code, Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 3);
    let again = run(&["--output", &file]);
    assert_eq!((again.code, server.seen().len()), (Some(2), 1));
    assert!(again.stderr.contains("--overwrite"), "{}", again.stderr);
    assert_eq!(run(&["--output", &file, "--overwrite"]).code, Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 3);

    if Path::new("/dev/full").exists() {
        let full = run(&["--output", "/dev/full", "--overwrite"]);
        assert_eq!(full.code, Some(2));
        assert!(full.stderr.contains("/dev/full"), "{}", full.stderr);
    }
}

#[test]
fn rows_come_from_a_file_too() {
    let server = Server::start(|_| good());
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(rows(2).as_bytes()).unwrap();
    let name = file.path().to_str().unwrap();
    let (named, piped) = (fire(&server.url, &[name], ""), fire(&server.url, &["-"], &rows(2)));
    assert_eq!((named.rows().len(), piped.rows().len()), (2, 2));
    assert_eq!(named.one("run_end")["dataset_sha256"], piped.one("run_end")["dataset_sha256"]);
    assert_ne!(named.one("run_start")["run"], piped.one("run_start")["run"]);
    assert_eq!(fire(&server.url, &["no-such-file.jsonl"], "").code, Some(2));
}

#[test]
fn arguments_that_cannot_be_used() {
    for flags in [
        &["--request-rate", "0"] as &[&str],
        &["--request-rate", "nan"],
        &["--base-url", "localhost:1"],
        &["--burstiness", "2"],
        &["--like", "vllm-0.11", "--request-rate", "2", "--burstiness", "inf"],
        &["--like", "vllm-0.33", "--seed", "4294967296"],
        &["--nope"],
    ] {
        let done = finish(command(flags).spawn().unwrap());
        assert_eq!((done.code, done.lines.len()), (Some(2), 0), "{flags:?}: {done:?}");
    }
}
