//! Runs the command among the test data.

use std::{
    io::{Read, Write},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use records::{Comparison, Record};

const LIMIT: Duration = Duration::from_secs(30);

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// `compare` in the folder of the test data.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_compare"));
    command.args(arguments).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs with `input` on standard input. Everything here is far smaller than a pipe's buffer.
pub(crate) fn run_with(arguments: &[&str], input: &str) -> Ran {
    let mut child = command(arguments).spawn().unwrap();
    // A command that refuses its arguments may be gone before it reads.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    finish(child)
}

pub(crate) fn run(arguments: &[&str]) -> Ran {
    run_with(arguments, "")
}

/// Waits within [`LIMIT`].
pub(crate) fn finish(mut child: Child) -> Ran {
    let deadline = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("still running after {LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(2));
    };
    let (mut stdout, mut stderr) = (String::new(), String::new());
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut stdout).unwrap();
    }
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    Ran { code: status.code(), stdout, stderr }
}

/// The records that `compare ... --format json` writes.
pub(crate) fn comparisons(arguments: &[&str]) -> Vec<Comparison> {
    let ran = run(&[arguments, &["--format", "json"]].concat());
    ran.stdout.lines().map(|line| Comparison::from_line(line).unwrap()).collect()
}

/// The one record of `metric`.
pub(crate) fn of<'a>(comparisons: &'a [Comparison], metric: &str) -> &'a Comparison {
    let mut found = comparisons.iter().filter(|comparison| comparison.metric == metric);
    let (first, second) = (found.next(), found.next());
    assert!(second.is_none(), "{metric} twice");
    first.unwrap_or_else(|| panic!("no {metric}"))
}
