//! Ctrl-C, TERM, and a reader that leaves.

use std::{
    io::{BufRead, BufReader, Write},
    process::Child,
    thread,
    time::Duration,
};

use crate::{
    server::{Server, Step, TOKEN, event, good, head},
    tool::{Done, command, finish, rows, wait},
};

fn started(server: &Server, flags: &[&str], count: usize) -> Child {
    let mut child = command(&[&["--base-url", &server.url], flags].concat()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(rows(count).as_bytes()).unwrap();
    child
}

/// Waits until the server has seen `count` requests.
fn await_requests(server: &Server, count: usize) {
    for _ in 0..2000 {
        if server.seen().len() >= count {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("only {} of {count} requests came", server.seen().len());
}

fn signal(child: &Child, number: i32) {
    // SAFETY: the process is our own child and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), number) }, 0);
}

fn outcomes(done: &Done) -> Vec<&str> {
    done.rows().iter().map(|row| row["outcome"].as_str().unwrap()).collect()
}

#[test]
fn the_first_signal_drains() {
    for number in [libc::SIGINT, libc::SIGTERM] {
        let server = Server::start(|_| [vec![Step::Wait(200)], good()].concat());
        let child = started(&server, &["--max-concurrency", "2"], 40);
        await_requests(&server, 2);
        signal(&child, number);
        let done = finish(child);
        assert_eq!(done.code, Some(-number), "{}", done.stderr);
        let end = done.one("run_end");
        assert_eq!(
            (&end["stopped_by"], &end["sent"], &end["unsent"]),
            (&"signal".into(), &2.into(), &38.into())
        );
        assert_eq!(outcomes(&done), ["ok", "ok"]);
        assert!(end["dataset_sha256"].is_null());
    }
}

#[test]
fn the_second_signal_and_the_end_of_grace_do_not_wait() {
    for (grace, signals) in [("60", 2), ("0.2", 1)] {
        let server = Server::start(|_| vec![head(), event(TOKEN), Step::Hang]);
        let child = started(&server, &["--max-concurrency", "2", "--grace", grace], 10);
        await_requests(&server, 2);
        for _ in 0..signals {
            signal(&child, libc::SIGINT);
            thread::sleep(Duration::from_millis(100));
        }
        let done = finish(child);
        assert_eq!(done.code, Some(-libc::SIGINT), "{}", done.stderr);
        assert_eq!(outcomes(&done), ["cancelled", "cancelled"]);
        assert_eq!(done.one("run_end")["stopped_by"], "signal");
    }
}

#[test]
fn f45_an_interrupted_run_keeps_its_rows() {
    for number in [libc::SIGINT, libc::SIGTERM] {
        let server = Server::start(|_| [vec![Step::Wait(200)], good()].concat());
        let child = started(&server, &["--request-rate", "50", "--burstiness", "inf"], 300);
        await_requests(&server, 40);
        signal(&child, number);
        thread::sleep(Duration::from_millis(50));
        signal(&child, number);
        let done = finish(child);
        assert_eq!(done.code, Some(-number), "{}", done.stderr);
        let (end, outcomes) = (done.one("run_end"), outcomes(&done));
        let count = |what: &str| outcomes.iter().filter(|&&outcome| outcome == what).count();
        assert!(count("ok") > 5 && count("cancelled") > 0, "{outcomes:?}");
        // Every request that the server saw has a row; what was in flight is no success.
        assert_eq!((outcomes.len(), &end["ok"]), (server.seen().len(), &count("ok").into()), "{end}");
        assert_eq!(count("ok") + count("cancelled"), outcomes.len());
    }
}

#[test]
fn f45_a_reader_that_leaves_ends_the_run_quietly() {
    let server = Server::start(|_| good());
    let mut child = started(&server, &["--max-concurrency", "1"], 500);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("run_start"), "{line}");
    let done = finish(child);
    assert_eq!((done.code, done.complaints().as_str()), (Some(0), ""));
    assert!(server.seen().len() < 50, "{} requests for nobody", server.seen().len());
}

#[test]
fn rows_come_out_while_the_input_is_still_open() {
    let server = Server::start(|_| good());
    let mut child = started(&server, &["--max-concurrency", "1"], 1);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"run_start\""));
    assert!(lines.next().unwrap().unwrap().contains("\"timing\""));
    drop(child.stdin.take());
    assert!(lines.next().unwrap().unwrap().contains("\"run_end\""));
    assert_eq!(wait(&mut child), Some(0));
}
