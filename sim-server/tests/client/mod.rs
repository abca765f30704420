//! A started server, and as much of HTTP as speaking to it takes.
#![allow(clippy::unwrap_used, reason = "a failed wait or a malformed answer fails the test")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(20);

/// A server on a free port, killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sim-server"))
            .args(["--port", "0"])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let port = url.trim_end().strip_prefix("http://127.0.0.1:").expect("the URL on stdout");
        Self { port: port.parse().unwrap(), child }
    }

    pub(crate) fn connect(&self) -> Connection {
        let socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Connection { reader: BufReader::new(socket) }
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.connect().send("GET", path, "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.connect().post(path, body)
    }

    /// The value of `vllm:NAME`, a whole number.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let start = format!("vllm:{name}{{");
        let metrics = self.get("/metrics").body;
        let line = metrics.lines().find(|line| line.starts_with(&start)).expect("the metric");
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// Sends `signal`, waits for the end, and gives what was written to stderr.
    pub(crate) fn stop(mut self, signal: i32) -> (ExitStatus, String) {
        // SAFETY: a signal to a child that has not been waited for, so its id is still its own.
        assert_eq!(unsafe { libc::kill(self.child.id().try_into().unwrap(), signal) }, 0);
        let mut status = None;
        wait_until("the server ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (status.unwrap(), stderr)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A connection that is kept alive.
pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn write(&mut self, method: &str, path: &str, body: &str) {
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n\r\n", body.len());
        self.reader.get_mut().write_all((head + body).as_bytes()).unwrap();
    }

    /// Waits for the first bytes of an answer.
    pub(crate) fn read_some(&mut self) {
        assert!(!self.reader.fill_buf().unwrap().is_empty());
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, &body.to_string())
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> Reply {
        self.write(method, path, body);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.reader.read_line(&mut head).unwrap(), 0, "cut off: {head}");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body = match length {
            Some(length) => self.exactly(length.parse().unwrap()),
            None => self.chunks(),
        };
        Reply { status: head[9..12].parse().unwrap(), head, body: String::from_utf8(body).unwrap() }
    }

    fn exactly(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let mut size = String::new();
            self.reader.read_line(&mut size).unwrap();
            let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
            body.extend(self.exactly(size));
            assert_eq!(self.exactly(2), b"\r\n");
            if size == 0 {
                return body;
            }
        }
    }
}

/// A whole answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The events of a stream that ended as it should.
    pub(crate) fn events(&self) -> Vec<Value> {
        let body = self.body.strip_suffix("data: [DONE]\n\n").expect("[DONE] at the end");
        let data = body.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap());
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// Polls until `done`, for a bounded time.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
