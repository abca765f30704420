//! What the client says of itself.

use std::{
    hint, mem,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use serde_json::Value;

use crate::{
    server::{LAST, Server, TOKEN, stream},
    tool::{command, finish, fire, rows},
};

/// A machine that runs other tests beside this one may hold anything up once.
const TRIES: usize = 8;

fn verdict(done: &crate::tool::Done) -> (String, Value) {
    let client = &done.one("run_end")["client"];
    (client["verdict"].as_str().unwrap().to_owned(), client.clone())
}

#[test]
fn a_light_load_is_the_servers() {
    let mut last = Value::Null;
    for _ in 0..TRIES {
        let server = Server::start(|_| stream(250, &[TOKEN, TOKEN, LAST]));
        let done = fire(&server.url, &["--request-rate", "20", "--threads", "1"], &rows(10));
        let (verdict, client) = verdict(&done);
        if verdict == "ok" {
            assert!(client["reason"].is_null() && client["read_lag_p99_us"].as_f64().is_some(), "{client}");
            assert_eq!(client["threads"], 1);
            return;
        }
        last = client;
    }
    panic!("{last}");
}

/// Threads that want a CPU all the time, on the first that this process may run on.
fn with_a_busy_cpu<T>(work: impl FnOnce(usize) -> T) -> T {
    static DONE: AtomicBool = AtomicBool::new(false);
    let cpu = first_cpu();
    let busy: Vec<_> = (0..4)
        .map(|_| {
            thread::spawn(move || {
                pin(cpu);
                while !DONE.load(Relaxed) {
                    hint::spin_loop();
                }
            })
        })
        .collect();
    let result = work(cpu);
    DONE.store(true, Relaxed);
    for thread in busy {
        thread.join().unwrap();
    }
    result
}

fn first_cpu() -> usize {
    // SAFETY: `set` is valid for writing, and zeroes are an empty set.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &set)).unwrap()
    }
}

fn pin(cpu: usize) {
    // SAFETY: `set` is valid, and zeroes are an empty set.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

#[test]
fn a_client_without_a_cpu_says_so() {
    use std::os::unix::process::CommandExt;
    let server = Server::start(|_| stream(5, &[TOKEN; 40].map(|_| TOKEN)));
    let found = with_a_busy_cpu(|cpu| {
        (0..TRIES).any(|_| {
            let mut starved = command(&["--base-url", &server.url, "--max-concurrency", "16"]);
            // SAFETY: between fork and exec, only a system call is made.
            unsafe {
                starved.pre_exec(move || {
                    pin(cpu);
                    Ok(())
                });
            }
            let mut child = starved.spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            let _ = std::io::Write::write_all(&mut input, rows(64).as_bytes());
            drop(input);
            let done = finish(child);
            verdict(&done).0 == "client_bound" && done.stderr.contains("the client was the bottleneck")
        })
    });
    assert!(found);
}

#[test]
fn a_calibration_says_how_far_the_client_is_off() {
    let child = command(&["--calibrate", "--threads", "1"]).spawn().unwrap();
    let done = finish(child);
    assert!(matches!(done.code, Some(0 | 1)), "{done:#?}");
    assert_eq!(done.lines.len(), 4);
    for line in &done.lines[..3] {
        assert_eq!(line["kind"], "calibration");
        assert!((0.0..5e3).contains(&line["ttft_error_mean_us"].as_f64().unwrap()), "{line}");
        assert!(line["gap_error_p99_us"].as_f64().unwrap() < 20e3, "{line}");
        assert_eq!(line["client"]["threads"], 1);
    }
    let burst = &done.lines[3];
    assert!(
        burst["events_per_second"].as_f64().unwrap() > 10_000.0 && burst["ttft_error_p99_us"].is_null(),
        "{burst}"
    );
    assert!(done.stderr.contains("512 at once: TTFT +"), "{}", done.stderr);
    let done = finish(command(&["--calibrate", "--model", "m"]).spawn().unwrap());
    assert_eq!(done.code, Some(2));
}
