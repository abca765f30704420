//! What the end-to-end tests share: the built tools, a server to run them against, and bounded waits.
//!
//! The tools are taken from `TOOLS_DIR` if it is set (to test an installed build), else from the build that the
//! tests belong to, which is brought up to date first.

#![allow(clippy::missing_panics_doc, reason = "a test helper panics to fail its test")]

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

/// No command of a test may take longer.
pub const LIMIT: Duration = Duration::from_secs(120);

/// The folder that holds the tools.
pub fn tools() -> &'static Path {
    static TOOLS: OnceLock<PathBuf> = OnceLock::new();
    TOOLS.get_or_init(|| env::var_os("TOOLS_DIR").map_or_else(build, PathBuf::from))
}

/// `target/<profile>/deps/this-test` → `target/<profile>`, with the binaries built.
fn build() -> PathBuf {
    let this = env::current_exe().expect("a test knows its own path");
    let folder = this.ancestors().nth(2).expect("target/<profile>/deps/test").to_owned();
    let profile = folder.file_name().and_then(|name| name.to_str()).expect("a profile's folder");
    let profile = if profile == "debug" { "dev" } else { profile };
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--workspace", "--bins", "--profile", profile]);
    // What cargo tells this test about its own package would make some build scripts run again.
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_package(&name.to_string_lossy())) {
        cargo.env_remove(name);
    }
    let built = cargo.current_dir(workspace()).status().expect("cargo runs");
    assert!(built.success(), "building the tools failed");
    folder
}

fn is_of_package(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// The repository's root.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace")
}

/// A command of one of the tools, its environment free of what could change its behaviour.
#[must_use]
pub fn tool(name: &str) -> Command {
    let mut command = Command::new(tools().join(name));
    plain(&mut command);
    command
}

/// `bash` with the tools first on its path.
#[must_use]
pub fn bash(script: &str) -> Command {
    let mut command = Command::new("bash");
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(tools().to_owned()).chain(env::split_paths(&path));
    command.args(["-c", script]).env("PATH", env::join_paths(folders).expect("no colon in the tools' path"));
    plain(&mut command);
    command
}

fn plain(command: &mut Command) {
    command.env("LC_ALL", "C").env("TZ", "UTC").env("NO_COLOR", "1").stdin(Stdio::null());
    for name in ["OPENAI_API_KEY", "HF_TOKEN", "HF_ENDPOINT", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY"] {
        command.env_remove(name);
    }
}

/// Runs to the end, within [`LIMIT`].
pub fn run(command: &mut Command) -> Output {
    run_with(command, "")
}

/// Runs to the end with `input` on its standard input, within [`LIMIT`].
pub fn run_with(command: &mut Command, input: &str) -> Output {
    let shown = format!("{command:?}");
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.unwrap_or_else(|error| panic!("{shown}: {error}"));
    let id = child.id();
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    // A tool may stop reading early: that is for the test to judge, not an error here.
    thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let (done, wait) = mpsc::channel();
    thread::spawn(move || drop(done.send(child.wait_with_output())));
    let Ok(output) = wait.recv_timeout(LIMIT) else {
        signal(id, libc::SIGKILL);
        panic!("{shown}: still running after {LIMIT:?}")
    };
    output.unwrap_or_else(|error| panic!("{shown}: {error}"))
}

/// Sends a signal to a process that the test started.
pub fn signal(pid: u32, signal: i32) {
    // SAFETY: kill(2) reads nothing of ours; the pid is that of a child not yet waited for.
    unsafe { libc::kill(pid.cast_signed(), signal) };
}

/// Standard output as text.
#[must_use]
pub fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8 on stdout")
}

/// Standard error as text.
#[must_use]
pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The records of `text`, one a line; each must be one whole JSON object.
#[must_use]
pub fn rows(text: &str) -> Vec<serde_json::Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// The records of one kind.
#[must_use]
pub fn of_kind(text: &str, kind: &str) -> Vec<serde_json::Value> {
    rows(text).into_iter().filter(|row| row["kind"] == kind).collect()
}

/// A running `sim-server`, ended when dropped.
pub struct Sim {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub url: String,
}

impl Sim {
    /// Starts one on a free port and waits until it accepts connections.
    #[must_use]
    pub fn start(args: &[&str]) -> Self {
        let mut command = tool("sim-server");
        command.args(["--port", "0"]).args(args).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("sim-server starts");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("piped"))
            .read_line(&mut url)
            .expect("sim-server says its URL");
        let url = url.trim().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "sim-server said {url:?}");
        Self { child, url }
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port at the URL's end")
    }

    /// GETs `path` and returns the body.
    #[must_use]
    pub fn get(&self, path: &str) -> String {
        let mut stream =
            std::net::TcpStream::connect(("127.0.0.1", self.port())).expect("sim-server accepts");
        stream.set_read_timeout(Some(LIMIT)).expect("a timeout can be set");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n").expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
