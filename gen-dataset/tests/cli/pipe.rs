//! Manners in a pipe.

use std::{
    io::{BufRead, BufReader, Read, Write},
    sync::mpsc::channel,
    thread,
    time::Duration,
};

use crate::tool::{Tool, wait};

/// As in `| head -1`.
#[test]
fn a_closed_pipe_ends_it_quietly() {
    let tool = Tool::new();
    let mut child = tool.start("random --num-prompts 1000000");
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.ends_with("}\n"));
    assert_eq!(wait(&mut child), Some(0));
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(err, "");
}

/// A row goes out before the next one comes in.
#[test]
fn a_slow_input_is_passed_on_at_once() {
    let tool = Tool::new();
    let mut child = tool.start("custom -");
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = channel();
    thread::spawn(move || {
        let mut line = String::new();
        while stdout.read_line(&mut line).unwrap() > 0 {
            sender.send(std::mem::take(&mut line)).unwrap();
        }
    });
    for n in 0..3 {
        writeln!(stdin, "{{\"prompt\":\"row {n}\",\"max_tokens\":1}}").unwrap();
        let line = lines.recv_timeout(Duration::from_secs(60)).expect("the row should be out");
        assert!(line.contains(&format!("row {n}")), "{line}");
    }
    drop(stdin);
    assert_eq!(wait(&mut child), Some(0));
}

#[test]
fn a_full_disk_is_an_error() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    let tool = Tool::new();
    let status = tool.command("random --num-prompts 5").stdout(full).output().unwrap();
    assert_eq!(status.status.code(), Some(2));
    assert!(String::from_utf8(status.stderr).unwrap().contains("gen-dataset: stdout: "));
}

#[test]
fn unknown_words_are_refused() {
    let tool = Tool::new();
    tool.run("random --input-length 5").refused("--input-length");
    tool.run("randoms").refused("randoms");
    tool.run("custom no/such.jsonl").refused("no/such.jsonl: No such file");
    tool.run("custom .").refused(". is a folder; name a file");
    let version = tool.run("--version");
    assert_eq!((version.code, version.out.split(' ').next()), (Some(0), Some("gen-dataset")));
}
