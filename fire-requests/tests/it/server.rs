//! A server that plays scripted bytes, a thread a connection.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::fd::AsRawFd,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// One thing to do in answer to a request.
#[derive(Clone)]
pub(crate) enum Step {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Wait, in milliseconds.
    Wait(u64),
    /// Wait until this long after the request was read, and note how late that was.
    At(Duration, Late),
    /// Close the connection.
    Close,
    /// Reset the connection.
    Reset,
    /// Keep silent until the client leaves.
    Hang,
}

/// How late a server was with what it had to send at its time, the worst, in µs.
pub(crate) type Late = Arc<AtomicU64>;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Counted from 0 over all connections.
    pub(crate) index: usize,
    /// Counted from 0 on its connection.
    pub(crate) nth: usize,
    /// Path of the request line.
    pub(crate) path: String,
    /// Head, in lower case.
    pub(crate) head: String,
    /// Body.
    pub(crate) body: Value,
    /// Body, as it came.
    pub(crate) text: String,
}

type Script = dyn Fn(&Seen) -> Vec<Step> + Send + Sync;

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Answers every POST by `script`, and lists the model `m`.
    pub(crate) fn start(script: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::listen("http", script, Some)
    }

    /// The same behind `wrap`, such as TLS.
    pub(crate) fn listen<S: Read + Write + Send + 'static>(
        scheme: &str,
        script: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static,
        wrap: impl Fn(TcpStream) -> Option<S> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (script, wrap, requests) = (Arc::new(script), Arc::new(wrap), Arc::clone(&seen));
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (script, wrap, requests) =
                    (Arc::clone(&script), Arc::clone(&wrap), Arc::clone(&requests));
                let socket = socket.unwrap();
                thread::spawn(move || {
                    socket.set_nodelay(true).unwrap();
                    let raw = socket.try_clone().unwrap();
                    if let Some(stream) = wrap(socket) {
                        serve(stream, &raw, &*script, &requests);
                    }
                });
            }
        });
        Self { url, seen }
    }

    /// The POST requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve<S: Read + Write>(stream: S, raw: &TcpStream, script: &Script, requests: &Mutex<Vec<Seen>>) {
    let mut stream = BufReader::new(stream);
    for nth in 0.. {
        let Some((path, head, text)) = request(&mut stream) else { return };
        let came = Instant::now();
        let body = serde_json::from_str(&text).unwrap_or_default();
        let steps = if head.starts_with("get ") {
            vec![whole(200, "application/json", listing(&path))]
        } else {
            let mut requests = requests.lock().unwrap();
            let seen = Seen { index: requests.len(), nth, path, head, body, text };
            requests.push(seen.clone());
            drop(requests);
            script(&seen)
        };
        for step in steps {
            if !play(&step, came, stream.get_mut(), raw) {
                return;
            }
        }
    }
}

/// The one model, where and how each kind of server says it.
fn listing(path: &str) -> &'static str {
    match path {
        "/api/tags" => r#"{"models":[{"name":"m:latest","model":"m:latest"}]}"#,
        "/info" => r#"{"model_id":"m/tgi","sha":"x"}"#,
        "/get_model_info" => r#"{"model_path":"m/sglang","is_generation":true}"#,
        _ => r#"{"object":"list","data":[{"id":"m"}]}"#,
    }
}

fn request(stream: &mut impl BufRead) -> Option<(String, String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let path = head.split(' ').nth(1)?.to_owned();
    let head = head.to_ascii_lowercase();
    let length =
        head.split("content-length: ").nth(1).map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((path, head, String::from_utf8(body).ok()?))
}

fn play(step: &Step, came: Instant, stream: &mut impl Write, raw: &TcpStream) -> bool {
    match step {
        Step::Send(bytes) => return stream.write_all(bytes).and_then(|()| stream.flush()).is_ok(),
        Step::Wait(ms) => thread::sleep(Duration::from_millis(*ms)),
        Step::At(due, late) => {
            thread::sleep(due.saturating_sub(came.elapsed()));
            late.fetch_max(came.elapsed().saturating_sub(*due).as_micros() as u64, SeqCst);
        }
        Step::Close => return false,
        Step::Reset => {
            let linger = libc::linger { l_onoff: 1, l_linger: 0 };
            let (value, size) = ((&raw const linger).cast(), size_of::<libc::linger>() as u32);
            // SAFETY: the descriptor is open, and the pointer and size are those of `linger`.
            unsafe { libc::setsockopt(raw.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, value, size) };
            return false;
        }
        Step::Hang => {
            let _ = (&mut &*raw).read(&mut [0; 1]);
            return false;
        }
    }
    true
}

/// A whole answer.
pub(crate) fn whole(status: u16, kind: &str, body: &str) -> Step {
    let length = body.len();
    Step::Send(
        format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}")
            .into(),
    )
}

/// The head of a stream.
pub(crate) fn head() -> Step {
    Step::Send(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
    )
}

/// Bytes of a stream's body.
pub(crate) fn chunk(bytes: impl AsRef<[u8]>) -> Step {
    let bytes = bytes.as_ref();
    Step::Send([format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
}

/// The end of a stream's body.
pub(crate) fn end() -> Step {
    Step::Send(b"0\r\n\r\n".into())
}

/// An event as most servers write it.
pub(crate) fn event(data: &str) -> Step {
    chunk(format!("data: {data}\n\n"))
}

/// A stream of these events, `wait` ms before each but the end marker, which shares a packet with the body's end.
pub(crate) fn stream(wait: u64, events: &[&str]) -> Vec<Step> {
    let mut steps = vec![head()];
    for &data in events {
        if data != "[DONE]" {
            steps.push(Step::Wait(wait));
        }
        steps.push(event(data));
    }
    steps.push(end());
    steps
}

pub(crate) const TOKEN: &str = r#"{"choices":[{"index":0,"text":" é","finish_reason":null}]}"#;
pub(crate) const LAST: &str = r#"{"choices":[{"index":0,"text":" x","finish_reason":"length"}]}"#;
pub(crate) const USAGE: &str =
    r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}"#;

/// A good answer of three tokens, after 20 ms and then every 20 ms.
pub(crate) fn good() -> Vec<Step> {
    stream(20, &[TOKEN, TOKEN, LAST, USAGE, "[DONE]"])
}
