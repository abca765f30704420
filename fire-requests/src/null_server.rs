//! A server that answers with ready-made bytes and notes when it wrote them: what the client is measured against.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    str,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use memchr::memmem;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Builder,
    sync::oneshot,
    time::sleep_until,
};

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const EVENT: &str = "data: {\"id\":\"cmpl-0\",\"object\":\"text_completion\",\"created\":0,\"model\":\"null\",\
    \"choices\":[{\"index\":0,\"text\":\" null\",\"logprobs\":null,\"finish_reason\":null}]}\n\n";
const LAST: &str =
    "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
/// Bytes that are written at once where events have no gap.
const BURST: usize = 60_000;

/// The pace of its answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Events of an answer.
    pub(crate) events: usize,
    /// From the request's arrival to the first event.
    pub(crate) first: Duration,
    /// From one event to the next; zero: as fast as they are read.
    pub(crate) gap: Duration,
}

/// When the events of each answer were written, by the request's id; nothing where they have no gap.
pub(crate) type Truth = HashMap<String, Vec<Instant>>;

/// It runs until dropped, on a thread of its own.
pub(crate) struct NullServer {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    truth: Arc<Mutex<Truth>>,
    _stop: oneshot::Sender<()>,
}

impl NullServer {
    /// Listens on loopback.
    pub(crate) fn start(pace: Pace) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let truth = Arc::<Mutex<Truth>>::default();
        let (stop, stopped) = oneshot::channel::<()>();
        let notes = Arc::clone(&truth);
        thread::Builder::new().name("null-server".to_owned()).spawn(move || {
            runtime.block_on(async move {
                tokio::select! {
                    () = accept(&listener, pace, &notes) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, truth, _stop: stop })
    }

    /// When each event of each answer was written.
    pub(crate) fn truth(&self) -> Truth {
        self.truth.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn accept(listener: &TcpListener, pace: Pace, truth: &Arc<Mutex<Truth>>) {
    loop {
        // A connection that is gone before it is accepted is the client's affair.
        if let Ok((socket, _)) = listener.accept().await {
            let truth = Arc::clone(truth);
            tokio::spawn(async move {
                let _ = serve(socket, pace, &truth).await;
            });
        }
    }
}

async fn serve(mut socket: TcpStream, pace: Pace, truth: &Mutex<Truth>) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut held = Vec::new();
    while let Some(id) = request(&mut socket, &mut held).await? {
        let mut times = Vec::with_capacity(pace.events);
        answer(&mut socket, pace, Instant::now(), &mut times, |times| {
            truth.lock().unwrap_or_else(PoisonError::into_inner).insert(id, times);
        })
        .await?;
    }
    Ok(())
}

/// Reads a request; returns its id, or none when the connection ends.
async fn request(socket: &mut TcpStream, held: &mut Vec<u8>) -> io::Result<Option<String>> {
    loop {
        if let Some((id, length)) = whole(held) {
            held.drain(..length);
            return Ok(Some(id));
        }
        if socket.read_buf(held).await? == 0 {
            return Ok(None);
        }
    }
}

/// The id of the request that `bytes` begin with, and its length, if it is all there.
fn whole(bytes: &[u8]) -> Option<(String, usize)> {
    let end = memmem::find(bytes, b"\r\n\r\n")? + 4;
    let head = str::from_utf8(&bytes[..end]).ok()?;
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let length = end + field("content-length:")?.parse::<usize>().ok()?;
    (bytes.len() >= length).then(|| (field("x-request-id:").unwrap_or_default().to_owned(), length))
}

/// Writes an answer; its times are handed to `note` before its end, so that they are known when the client has it.
async fn answer(
    socket: &mut TcpStream,
    pace: Pace,
    asked: Instant,
    times: &mut Vec<Instant>,
    note: impl FnOnce(Vec<Instant>),
) -> io::Result<()> {
    let mut bytes = HEAD.to_vec();
    for at in 0..pace.events {
        push(&mut bytes, EVENT);
        if !pace.gap.is_zero() {
            sleep_until((asked + pace.first + pace.gap * at as u32).into()).await;
            times.push(Instant::now());
        } else if bytes.len() < BURST {
            continue;
        }
        socket.write_all(&bytes).await?;
        bytes.clear();
    }
    note(std::mem::take(times));
    push(&mut bytes, LAST);
    bytes.extend_from_slice(b"0\r\n\r\n");
    socket.write_all(&bytes).await
}

fn push(bytes: &mut Vec<u8>, events: &str) {
    bytes.extend_from_slice(format!("{:x}\r\n", events.len()).as_bytes());
    bytes.extend_from_slice(events.as_bytes());
    bytes.extend_from_slice(b"\r\n");
}
