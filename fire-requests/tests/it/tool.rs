//! The binary, run with a time limit.

use std::{
    io::{Read, Write},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// Far beyond what any test takes; a hang must not stop the suite.
const LIMIT: Duration = Duration::from_secs(30);

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) lines: Vec<Value>,
    pub(crate) stderr: String,
}

impl Done {
    /// The timing rows, in the order they were written.
    pub(crate) fn rows(&self) -> Vec<&Value> {
        self.of("timing")
    }

    /// The one record of a kind.
    pub(crate) fn one(&self, kind: &str) -> &Value {
        let found = self.of(kind);
        assert_eq!(found.len(), 1, "{kind}: {self:#?}");
        found[0]
    }

    /// What was said on stderr, but for the warning that a busy machine may rightly earn.
    pub(crate) fn complaints(&self) -> String {
        let earned = |line: &&str| line.contains("warning: the client was the bottleneck");
        self.stderr.lines().filter(|line| !earned(line)).collect::<Vec<_>>().join("\n")
    }

    fn of(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["kind"] == kind).collect()
    }
}

/// The binary with an environment of its own.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fire-requests"));
    command.args(args).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the binary on `input`.
pub(crate) fn fire(url: &str, args: &[&str], input: &str) -> Done {
    let mut child = command(&[&["--base-url", url], args].concat()).spawn().unwrap();
    // A tool that does not read its input closes it: no concern of the test.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    finish(child)
}

/// Waits for the end, and reads what was written.
pub(crate) fn finish(mut child: Child) -> Done {
    drop(child.stdin.take());
    let stdout = child.stdout.take().map(read_all);
    let stderr = child.stderr.take().map(read_all);
    let code = wait(&mut child);
    let text = stdout.map(|thread| thread.join().unwrap()).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Done { code, lines, stderr: stderr.map(|thread| thread.join().unwrap()).unwrap_or_default() }
}

/// The exit code, negative for a signal.
pub(crate) fn wait(child: &mut Child) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().or(status.signal().map(|signal| -signal));
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("fire-requests did not end within {LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn read_all(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        text
    })
}

/// `count` rows of three tokens.
pub(crate) fn rows(count: usize) -> String {
    "{\"prompt\":\"a b\",\"max_tokens\":3,\"prompt_tokens\":2}\n".repeat(count)
}

/// A row's time in milliseconds.
pub(crate) fn ms(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("no {field} in {row}")) / 1e3
}
