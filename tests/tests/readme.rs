//! Runs every console block of the README, in order and in one shell, and compares what it prints.
//!
//! A line that starts with `$ ` is a command, one with `> ` continues it, the lines below are its output. Figures
//! differ from run to run, so numbers are compared as numbers, not by value; a line `...` stands for any lines. A
//! command may fail only where the next one is `echo $?`. Ports 8000 and 8001 become free ones.

use std::{fmt::Write, fs, net::TcpListener};

use end_to_end::{bash, out, run, workspace};

struct Step {
    line: usize,
    command: String,
    output: Vec<String>,
}

const MARK: &str = "@@@";

#[test]
fn every_console_block_does_what_it_shows() {
    let steps = steps(&fs::read_to_string(workspace().join("README.md")).unwrap());
    assert!(steps.len() > 10, "only {} commands found in README.md", steps.len());
    let folder = tempfile::tempdir().unwrap();
    let script = script(&steps).replace("8000", &free_port()).replace("8001", &free_port());
    let output = run(bash(&script).current_dir(folder.path()));
    let printed = out(&output);
    let mut faults = Vec::new();
    let mut parts = printed.split_inclusive(MARK);
    for (at, step) in steps.iter().enumerate() {
        // What the machine of the tests lacks is no fault of the README.
        let text = parts.next().unwrap_or_default().replace("client-bound", "ok");
        let text: String =
            text.split_inclusive('\n').filter(|line| !line.contains("client was the bottleneck")).collect();
        let text = text.trim_end_matches(MARK);
        let (text, status) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
        let next = steps.get(at + 1).map_or("", |next| next.command.as_str());
        // `head` may leave before the stage ahead of it has written all: its signal is no failure.
        let fine = status == "0" || (status == "141" && step.command.contains("| head"));
        if !fine && next != "echo $?" {
            faults.push(format!("README.md:{}: exit {status}: {}\n{text}", step.line, step.command));
        } else if !step.output.is_empty() && !alike(&step.output, text) {
            let wanted = step.output.join("\n");
            faults.push(format!(
                "README.md:{}: {}\n--- shown\n{wanted}\n--- printed\n{text}",
                step.line, step.command
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

fn steps(readme: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (at, line) in readme.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if !inside {
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { line: at + 1, command: command.to_owned(), output: Vec::new() });
        } else if let (Some(more), Some(step)) = (line.strip_prefix("> "), steps.last_mut()) {
            step.command.push('\n');
            step.command.push_str(more);
        } else if let Some(step) = steps.last_mut() {
            step.output.push(line.to_owned());
        }
    }
    steps
}

/// One script of all steps: each prints its output, then a newline, its exit status and a mark.
fn script(steps: &[Step]) -> String {
    let mut script =
        String::from("exec 2>&1\nset -o pipefail\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\nstatus=0\n");
    for step in steps {
        let command = match step.command.strip_suffix('&') {
            // What a server prints would fall between other outputs; wait until it is there.
            Some(server) => format!("{server} >/dev/null 2>&1 &\nsleep 0.5"),
            None => step.command.clone(),
        };
        writeln!(script, "(exit $status)\n{command}\nstatus=$?; printf '\\n%s{MARK}' $status")
            .expect("a String takes everything");
    }
    script
}

fn free_port() -> String {
    let socket = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    socket.expect("loopback has a free port").port().to_string()
}

/// Whether `text` is `wanted` but for the value of numbers and the width of blanks.
fn alike(wanted: &[String], text: &str) -> bool {
    let wanted: Vec<String> = wanted.iter().map(|line| shape(line)).filter(|line| !line.is_empty()).collect();
    let printed: Vec<String> = text.lines().map(shape).filter(|line| !line.is_empty()).collect();
    matches(&wanted, &printed)
}

fn matches(wanted: &[String], printed: &[String]) -> bool {
    match wanted.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line == "..." => {
            (0..=printed.len()).any(|skip| matches(rest, &printed[skip..]))
        }
        Some((line, rest)) => printed.first() == Some(line) && matches(rest, &printed[1..]),
    }
}

/// The line with each number as `0` and each stretch of blanks as one.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for word in line.split_whitespace() {
        if !shape.is_empty() {
            shape.push(' ');
        }
        let mut in_number = false;
        for (at, letter) in word.char_indices() {
            let signs_number = matches!(letter, '+' | '-' | '−')
                && word[at + letter.len_utf8()..].starts_with(|next: char| next.is_ascii_digit());
            if letter.is_ascii_digit() || (in_number && letter == '.') {
                if !in_number {
                    shape.push('0');
                }
                in_number = true;
            } else if !signs_number {
                in_number = false;
                shape.push(letter);
            }
        }
    }
    shape
}

#[test]
fn shapes_keep_words_and_forget_figures() {
    assert_eq!(shape("Mean TTFT (ms):     12.34    "), "Mean TTFT (ms): 0");
    assert_eq!(shape("p99 +5.1% worse"), "p0 0% worse");
    assert!(alike(&["a 1".into(), "...".into(), "b".into()], "a 22\nx\ny\nb\n"));
    assert!(!alike(&["a".into()], "a\nb"));
}
