//! Pipe manners of every tool: what it reads, how it fails, how it stops.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
    time::{Duration, Instant},
};

use end_to_end::{Sim, bash, err, of_kind, out, run, run_with, signal, tool};

const TIMING: &str = r#"{"kind":"timing","v":1,"run":"r","id":"0","sent_us":0,"ttft_us":100,"e2e_us":300,"events_us":[100,300],"events":"cc","outcome":"ok","prompt_tokens":5,"output_tokens":2,"tokens_from":"usage"}"#;

/// The tools that read records, with what each needs besides its input.
const READERS: [(&str, &[&str]); 2] =
    [("summarize", &[]), ("fire-requests", &["--model", "m", "--base-url", "http://127.0.0.1:9"])];

fn code(output: &std::process::Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn help_and_version_go_to_stdout() {
    for name in ["gen-dataset", "fire-requests", "summarize", "compare", "sim-server"] {
        let help = run(tool(name).arg("--help"));
        assert_eq!(code(&help), Some(0), "{name}");
        assert!(out(&help).contains("Usage:"), "{name}");
        let version = run(tool(name).arg("--version"));
        assert_eq!(out(&version), format!("{name} {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn an_unknown_flag_is_a_usage_error() {
    for name in ["gen-dataset", "fire-requests", "summarize", "compare", "sim-server"] {
        let output = run(tool(name).arg("--no-such-flag"));
        assert_eq!(code(&output), Some(2), "{name}");
        assert!(out(&output).is_empty(), "{name}: {}", out(&output));
        assert!(err(&output).contains("--no-such-flag"), "{name}: {}", err(&output));
    }
}

#[test]
fn a_missing_file_is_named() {
    for (name, args) in [
        ("gen-dataset", vec!["custom", "no-such.jsonl"]),
        ("gen-dataset", vec!["sharegpt", "no-such.jsonl"]),
        ("fire-requests", vec!["--model", "m", "no-such.jsonl"]),
        ("summarize", vec!["no-such.jsonl"]),
        ("compare", vec!["no-such.jsonl", "no-such-either.jsonl"]),
    ] {
        let output = run(tool(name).args(&args));
        assert_eq!(code(&output), Some(2), "{name} {args:?}");
        let message = err(&output);
        assert!(
            message.starts_with(&format!("{name}: ")) && message.contains("no-such.jsonl"),
            "{name}: {message}"
        );
        assert_eq!(message.lines().count(), 1, "{name}: {message}");
    }
}

#[test]
fn empty_input_is_said_to_be_empty() {
    for (name, args) in READERS {
        for input in ["", "\n\n"] {
            let output = run_with(tool(name).args(args), input);
            assert_eq!(code(&output), Some(2), "{name}: {}", err(&output));
            assert!(err(&output).contains("stdin"), "{name}: {}", err(&output));
        }
    }
}

#[test]
fn a_bad_line_is_named_with_its_number() {
    for (name, args) in READERS {
        let output = run_with(tool(name).args(args), "\n{\"kind\":\n{}\n");
        assert_eq!(code(&output), Some(2), "{name}: {}", err(&output));
        assert!(err(&output).contains("stdin:2: "), "{name}: {}", err(&output));
    }
    let output = run_with(
        tool("gen-dataset").args(["custom", "-", "--output-len", "8"]),
        "{\"question\":\"no prompt\"}\n",
    );
    assert_eq!(code(&output), Some(2));
    assert!(err(&output).contains("stdin:1: ") && err(&output).contains("prompt"), "{}", err(&output));
}

#[test]
fn a_dash_is_standard_input() {
    let text = format!("{TIMING}\n");
    let named = run_with(tool("summarize").arg("-"), &text);
    let bare = run_with(&mut tool("summarize"), &text);
    assert_eq!(code(&named), Some(0), "{}", err(&named));
    assert_eq!(out(&named), out(&bare));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("base.jsonl");
    fs::write(&file, &text).unwrap();
    let compared = run_with(tool("compare").arg(&file).arg("new=-"), &text);
    assert_eq!(code(&compared), Some(0), "{}", err(&compared));
    assert!(out(&compared).contains("new"), "{}", out(&compared));
}

#[test]
fn a_closed_stdout_ends_every_tool_quietly_and_at_once() {
    let sim = Sim::start(&[]);
    let rows: Vec<String> = (0..5000).map(|id| TIMING.replace(r#""0""#, &format!(r#""{id}""#))).collect();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rows.jsonl"), rows.join("\n")).unwrap();
    let fire = format!("fire-requests --base-url {} --max-concurrency 2", sim.url);
    for stage in [
        "gen-dataset random --num-prompts 1000000 --input-len 16 --output-len 4".to_owned(),
        format!("gen-dataset random --num-prompts 100000 --input-len 16 --output-len 4 | {fire}"),
        "summarize rows.jsonl --format csv".to_owned(),
        "summarize rows.jsonl".to_owned(),
        "compare rows.jsonl again=rows.jsonl --format csv".to_owned(),
        "gen-dataset --help".to_owned(),
    ] {
        let started = Instant::now();
        let script = format!("{stage} | head -1 >/dev/null; echo ${{PIPESTATUS[*]}}");
        let output = run(bash(&script).current_dir(folder.path()));
        let codes = out(&output);
        assert!(codes.trim().split(' ').all(|code| code == "0"), "{stage}: {codes} {}", err(&output));
        assert!(!err(&output).contains("panicked"), "{stage}: {}", err(&output));
        assert!(!err(&output).to_lowercase().contains("pipe"), "{stage}: {}", err(&output));
        assert!(started.elapsed() < Duration::from_secs(30), "{stage} took {:?}", started.elapsed());
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    if !std::path::Path::new("/dev/full").exists() {
        return; // Linux alone has the device.
    }
    for stage in ["gen-dataset random --num-prompts 3 --input-len 8 --output-len 4", "summarize rows.jsonl"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("rows.jsonl"), format!("{TIMING}\n")).unwrap();
        let output = run(bash(&format!("{stage} >/dev/full")).current_dir(folder.path()));
        assert_eq!(code(&output), Some(2), "{stage}");
        assert!(err(&output).contains("stdout: "), "{stage}: {}", err(&output));
    }
}

#[test]
fn an_interrupted_run_keeps_its_rows_and_dies_by_the_signal() {
    let sim = Sim::start(&[]);
    for number in [libc::SIGINT, libc::SIGTERM] {
        let script = format!(
            "gen-dataset random --num-prompts 400 --input-len 16 --output-len 8 >rows.jsonl; \
             exec fire-requests rows.jsonl --base-url {} --request-rate 20 --ignore-eos",
            sim.url
        );
        let folder = tempfile::tempdir().unwrap();
        let mut child = bash(&script)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("bash starts");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut text = String::new();
        for _ in 0..6 {
            text.push_str(&(lines.next().unwrap().unwrap() + "\n"));
        }
        signal(child.id(), number);
        for line in lines {
            text.push_str(&(line.unwrap() + "\n"));
        }
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(number), "{status}");
        let end = &of_kind(&text, "run_end")[0];
        assert_eq!(end["stopped_by"], "signal");
        let timings = of_kind(&text, "timing");
        assert!(timings.len() >= 5 && timings.len() < 400, "{} rows", timings.len());
        assert_eq!(end["sent"].as_u64(), Some(timings.len() as u64));
    }
}

#[test]
fn a_summary_of_nothing_but_failures_is_a_no() {
    let failed = TIMING.replace(r#""outcome":"ok""#, r#""outcome":"http","status":500,"error":"boom""#);
    let output = run_with(&mut tool("summarize"), &format!("{failed}\n"));
    assert_eq!(code(&output), Some(1), "{}", err(&output));
    assert!(out(&output).contains("boom"), "{}", out(&output));
}
