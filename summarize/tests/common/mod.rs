//! Running the tool, and writing rows for it.

#![allow(
    dead_code,
    clippy::unnecessary_wraps,
    clippy::unwrap_used,
    reason = "for tests, each of which uses a part"
)]

use std::{
    fs::File,
    io::{Read, Seek, Write},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use records::{Micros, Outcome, Phase, Record, RunEnd, RunStart, StoppedBy, Summary, Timing};

/// What became of a call.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `summarize` with `input` on its standard input.
pub(crate) fn summarize(args: &[&str], input: &str) -> Done {
    let mut stdin = tempfile::tempfile().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    stdin.rewind().unwrap();
    let (stdout, stderr) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_summarize"));
    command.args(args).stdin(stdin).stdout(stdout.try_clone().unwrap()).stderr(stderr.try_clone().unwrap());
    let code = wait(&mut command);
    Done { code, stdout: text(stdout), stderr: text(stderr) }
}

/// Runs it with a standard output that nobody reads.
pub(crate) fn summarize_into_closed_pipe(file: &str) -> Done {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let stderr = tempfile::tempfile().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_summarize"));
    command.arg(file).stdin(Stdio::null()).stdout(writer).stderr(stderr.try_clone().unwrap());
    let code = wait(&mut command);
    Done { code, stdout: String::new(), stderr: text(stderr) }
}

fn wait(command: &mut Command) -> Option<i32> {
    let mut child = command.spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("summarize did not end within a minute");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn text(mut file: File) -> String {
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}

/// The summaries that `--format json` prints.
pub(crate) fn summaries(args: &[&str], input: &str) -> Vec<Summary> {
    let done = summarize(&[&["--format", "json"], args].concat(), input);
    done.stdout.lines().map(|line| Summary::from_line(line).unwrap()).collect()
}

/// The one summary that `--format json` prints.
pub(crate) fn summary(input: &str) -> Summary {
    let mut all = summaries(&[], input);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

pub(crate) fn us(secs: f64) -> Option<Micros> {
    Some(Micros::new((secs * 1e6).round()))
}

/// A good request: start, TTFT and latency in seconds, and its tokens, one an event, evenly spread.
pub(crate) fn row(start: f64, ttft: f64, latency: f64, tokens: u64) -> Timing {
    let gap = if tokens > 1 { (latency - ttft) / (tokens - 1) as f64 } else { 0.0 };
    Timing {
        sent_us: us(start),
        ttft_us: us(ttft),
        e2e_us: us(latency),
        events_us: (0..tokens).filter_map(|n| us(ttft + gap * n as f64)).collect(),
        events: "c".repeat(tokens as usize),
        status: Some(200),
        prompt_tokens: Some(100),
        output_tokens: Some(tokens),
        ..Timing::default()
    }
}

/// A request that the server refused.
pub(crate) fn failed(start: f64, latency: f64) -> Timing {
    Timing {
        outcome: Outcome::Http,
        status: Some(503),
        error: Some("no healthy upstream".to_owned()),
        output_tokens: Some(3),
        ..row(start, latency, latency, 1)
    }
}

pub(crate) fn warmup(timing: Timing) -> Timing {
    Timing { phase: Phase::Warmup, ..timing }
}

/// Rows as lines.
pub(crate) fn lines(rows: &[Timing]) -> String {
    rows.iter().map(|row| row.to_line() + "\n").collect()
}

pub(crate) fn start(run: &str, started_at: &str) -> RunStart {
    RunStart { run: run.to_owned(), started_at: started_at.to_owned(), ..RunStart::default() }
}

pub(crate) fn end(run: &str, elapsed: f64, sent: u64) -> RunEnd {
    RunEnd {
        run: run.to_owned(),
        elapsed_us: Micros::new(elapsed * 1e6),
        sent,
        ok: sent,
        failed: 0,
        unsent: 0,
        stopped_by: StoppedBy::InputEnd,
        dataset_sha256: None,
        client: None,
    }
}

/// A whole run: its brackets around its rows.
pub(crate) fn run(start: &RunStart, rows: &[Timing], end: &RunEnd) -> String {
    let rows: Vec<Timing> = rows.iter().map(|row| Timing { run: start.run.clone(), ..row.clone() }).collect();
    format!("{}\n{}{}\n", start.to_line(), lines(&rows), end.to_line())
}

pub(crate) fn assert_close(got: Option<f64>, wanted: f64, what: &str) {
    let got = got.unwrap_or_else(|| panic!("{what} is null, not {wanted}"));
    assert!((got - wanted).abs() <= 1e-9 * wanted.abs(), "{what} is {got}, not {wanted}");
}
