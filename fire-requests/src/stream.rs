//! A socket that keeps the time: when the first byte of a request was written, when bytes were last read.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// What a connection saw, on the monotonic clock. 0 is never.
#[derive(Debug)]
pub(crate) struct Stamps {
    origin: Instant,
    written_ns: AtomicU64,
    read_ns: AtomicU64,
    answered: AtomicBool,
}

impl Stamps {
    fn new() -> Self {
        Self {
            origin: Instant::now(),
            written_ns: AtomicU64::new(0),
            read_ns: AtomicU64::new(0),
            answered: AtomicBool::new(false),
        }
    }

    /// Makes ready for a request.
    pub(crate) fn reset(&self) {
        self.written_ns.store(0, Relaxed);
        self.read_ns.store(0, Relaxed);
        self.answered.store(false, Relaxed);
    }

    /// When the request's first byte was handed to the system.
    pub(crate) fn sent(&self) -> Option<Instant> {
        self.instant(&self.written_ns)
    }

    /// When the last read from the socket returned, whatever has been made of its bytes since.
    pub(crate) fn last_read(&self) -> Option<Instant> {
        self.instant(&self.read_ns)
    }

    /// Whether a byte of an answer has come.
    pub(crate) fn answered(&self) -> bool {
        self.answered.load(Relaxed)
    }

    fn instant(&self, ns: &AtomicU64) -> Option<Instant> {
        Some(ns.load(Relaxed)).filter(|&ns| ns > 0).map(|ns| self.origin + Duration::from_nanos(ns))
    }

    fn now_ns(&self) -> u64 {
        (self.origin.elapsed().as_nanos() as u64).max(1)
    }

    fn wrote(&self) {
        if self.written_ns.load(Relaxed) == 0 {
            self.written_ns.store(self.now_ns(), Relaxed);
        }
    }

    fn read(&self) {
        self.read_ns.store(self.now_ns(), Relaxed);
    }
}

/// A TCP socket that stamps. Under TLS it lies below the encryption: handshake and decryption move no stamp.
#[derive(Debug)]
pub(crate) struct Stamped {
    socket: TcpStream,
    stamps: Arc<Stamps>,
}

impl Stamped {
    /// Wraps a fresh socket.
    pub(crate) fn new(socket: TcpStream) -> Self {
        Self { socket, stamps: Arc::new(Stamps::new()) }
    }

    /// Its stamps, to be read from outside.
    pub(crate) fn stamps(&self) -> Arc<Stamps> {
        Arc::clone(&self.stamps)
    }
}

impl AsyncRead for Stamped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_read(cx, buf);
        if polled.is_ready() {
            self.stamps.read();
        }
        polled
    }
}

impl AsyncWrite for Stamped {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.stamps.wrote();
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stamps.wrote();
        Pin::new(&mut self.socket).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

/// The same with or without encryption.
#[derive(Debug)]
pub(crate) enum Stream {
    /// http
    Plain(Stamped),
    /// https
    Tls(Box<TlsStream<Stamped>>),
}

impl Stream {
    /// The socket's stamps.
    pub(crate) fn stamps(&self) -> Arc<Stamps> {
        match self {
            Self::Plain(stamped) => stamped.stamps(),
            Self::Tls(tls) => tls.get_ref().0.stamps(),
        }
    }

    fn io(&mut self) -> Pin<&mut (dyn Io + '_)> {
        match self {
            Self::Plain(stamped) => Pin::new(stamped),
            Self::Tls(tls) => Pin::new(tls.as_mut()),
        }
    }
}

trait Io: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Io for T {}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (before, this) = (buf.filled().len(), self.get_mut());
        let polled = this.io().poll_read(cx, buf);
        if buf.filled().len() > before {
            // Above the encryption: the alert that closes a TLS connection is no answer.
            this.stamps().answered.store(true, Relaxed);
        }
        polled
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().io().poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().io().poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stamped) => stamped.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().io().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().io().poll_shutdown(cx)
    }
}
