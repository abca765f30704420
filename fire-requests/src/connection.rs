//! One HTTP/1.1 connection, read and written by whoever waits for it: nothing stands between a read and its reader.

use std::{
    cell::RefCell,
    future::poll_fn,
    io::{self, IoSlice},
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use records::Outcome;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::TlsConnector;

use crate::{
    failure::Failure,
    stream::{Arrival, Socket, Stamped, Stream},
    target::Target,
    tls,
};

/// What one read can take. A thread's connections share one such buffer, so that it stays in the cache and ten
/// thousand streams cost no memory.
const BUFFER: usize = 1 << 16;

thread_local! {
    static READ: RefCell<Vec<u8>> = RefCell::new(vec![0; BUFFER]);
}

/// An open connection.
pub(crate) struct Connection {
    stream: Stream,
    /// What is still to be written of the request.
    outgoing: Outgoing,
    /// How long it took to open: DNS, TCP, TLS.
    pub(crate) took: Duration,
    /// Whether it has carried an answer.
    pub(crate) used: bool,
    /// Since when it has been idle.
    pub(crate) idle_since: Instant,
}

/// A request, ready to be written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// Request line and header fields.
    pub(crate) head: Bytes,
    /// Body.
    pub(crate) body: Bytes,
}

/// Bytes of an answer; none are the connection's end.
pub(crate) struct Read<'a> {
    /// The bytes.
    pub(crate) bytes: &'a [u8],
    /// When the last of them came.
    pub(crate) came: Arrival,
    /// When the first byte of the request was written.
    pub(crate) sent: Option<Instant>,
}

#[derive(Default)]
struct Outgoing {
    request: Request,
    written: usize,
    flushed: bool,
    /// The server may have answered before it stopped reading.
    error: Option<io::Error>,
}

impl Connection {
    /// Opens one to `target`, at the first of `addresses` that answers.
    pub(crate) async fn open(
        target: &Target,
        addresses: &[SocketAddr],
        tls: &Arc<ClientConfig>,
    ) -> Result<Self, Failure> {
        let began = Instant::now();
        let refused = |error: &dyn std::fmt::Display, hint: &str| {
            let place = target.place();
            Failure::new(Outcome::Connect, format!("cannot connect to {place}: {error}{hint}"))
        };
        let socket =
            connect(target, addresses).await.map_err(|error| refused(&error, limit_remedy(&error)))?;
        let stamped = Stamped::new(socket);
        let stream = if target.tls {
            let name = ServerName::try_from(target.host.clone()).map_err(|error| refused(&error, ""))?;
            let connector = TlsConnector::from(Arc::clone(tls));
            let stream = connector.connect(name, stamped).await;
            Stream::Tls(Box::new(stream.map_err(|error| refused(&error, tls_remedy(&error)))?))
        } else {
            Stream::Plain(stamped)
        };
        let outgoing = Outgoing::default();
        Ok(Self { stream, outgoing, took: began.elapsed(), used: false, idle_since: Instant::now() })
    }

    /// Whether an idle connection can take a request, as far as can be seen without waiting: whatever can be read
    /// from it is its end, or an answer to nothing.
    pub(crate) fn is_open(&mut self) -> bool {
        let mut byte = [0];
        let mut cx = Context::from_waker(Waker::noop());
        Pin::new(&mut self.stream).poll_read(&mut cx, &mut ReadBuf::new(&mut byte)).is_pending()
    }

    /// Takes a request and writes what the socket takes of it, mostly all; the rest follows while the answer is
    /// waited for. Returns when the first byte was handed to the system.
    pub(crate) async fn begin(&mut self, request: Request) -> Option<Instant> {
        self.stream.reset();
        self.outgoing = Outgoing { request, ..Outgoing::default() };
        poll_fn(|cx| {
            self.outgoing.poll_write(&mut self.stream, cx);
            Poll::Ready(())
        })
        .await;
        self.stream.written()
    }

    /// Waits for bytes of the answer and hands them to `take`.
    pub(crate) async fn read<T>(&mut self, mut take: impl FnMut(Read<'_>) -> T) -> io::Result<T> {
        poll_fn(|cx| self.poll_read(cx, &mut take)).await
    }

    /// The same, if there are bytes already.
    pub(crate) fn read_now<T>(&mut self, mut take: impl FnMut(Read<'_>) -> T) -> Poll<io::Result<T>> {
        self.poll_read(&mut Context::from_waker(Waker::noop()), &mut take)
    }

    fn poll_read<T>(
        &mut self,
        cx: &mut Context<'_>,
        take: &mut impl FnMut(Read<'_>) -> T,
    ) -> Poll<io::Result<T>> {
        self.outgoing.poll_write(&mut self.stream, cx);
        READ.with_borrow_mut(|buffer| {
            let mut bytes = ReadBuf::new(buffer);
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut bytes));
            let sent = self.stream.written();
            let came = self.stream.arrival().unwrap_or_else(|| Arrival { at: Instant::now(), lag: None });
            match (read, self.outgoing.error.take()) {
                (Ok(()), Some(error)) if bytes.filled().is_empty() => Poll::Ready(Err(error)),
                (Ok(()), _) => Poll::Ready(Ok(take(Read { bytes: bytes.filled(), came, sent }))),
                (Err(error), earlier) => Poll::Ready(Err(earlier.unwrap_or(error))),
            }
        })
    }
}

impl Outgoing {
    /// Writes what the socket takes.
    fn poll_write(&mut self, stream: &mut Stream, cx: &mut Context<'_>) {
        if self.flushed || self.error.is_some() {
            return;
        }
        let Request { head, body } = &self.request;
        let whole = head.len() + body.len();
        let mut stream = Pin::new(stream);
        while self.written < whole {
            let head = &head[self.written.min(head.len())..];
            let body = &body[self.written.saturating_sub(self.request.head.len())..];
            match stream.as_mut().poll_write_vectored(cx, &[IoSlice::new(head), IoSlice::new(body)]) {
                Poll::Ready(Ok(0)) => return self.fail(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => self.written += count,
                Poll::Ready(Err(error)) => return self.fail(error),
                Poll::Pending => return,
            }
        }
        match stream.poll_flush(cx) {
            Poll::Ready(Ok(())) => self.flushed = true,
            Poll::Ready(Err(error)) => self.fail(error),
            Poll::Pending => {}
        }
    }

    fn fail(&mut self, error: io::Error) {
        self.error = Some(error);
    }
}

async fn connect(target: &Target, addresses: &[SocketAddr]) -> io::Result<Socket> {
    if let Some(path) = &target.socket {
        return UnixStream::connect(path).await.map(Socket::Unix);
    }
    let socket = TcpStream::connect(addresses).await?;
    socket.set_nodelay(true)?;
    Ok(Socket::Tcp(socket))
}

/// What to do when the system gives no more descriptors.
fn limit_remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "; raise the limit of open files (ulimit -Hn), or give --max-concurrency",
        _ => "",
    }
}

fn tls_remedy(error: &io::Error) -> &'static str {
    error.get_ref().and_then(|inner| inner.downcast_ref()).map_or("", tls::remedy)
}
