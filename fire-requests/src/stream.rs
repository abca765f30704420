//! A socket that keeps the time: when the first byte of a request was written, when bytes were last read.

use std::{
    io,
    os::fd::AsRawFd,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::client::TlsStream;

use crate::arrival;

/// A socket of either family.
#[derive(Debug)]
pub(crate) enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix domain socket.
    Unix(UnixStream),
}

/// A socket that stamps, on the monotonic clock. Under TLS it lies below the encryption: handshake and decryption
/// move no stamp.
#[derive(Debug)]
pub(crate) struct Stamped {
    socket: Socket,
    written: Option<Instant>,
    arrival: Option<Arrival>,
}

/// When what was read last had come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// The instant: the system's stamp, or else that of the read's return.
    pub(crate) at: Instant,
    /// How much later the read returned, if that is known.
    pub(crate) lag: Option<Duration>,
}

impl Stamped {
    /// Wraps a fresh socket.
    pub(crate) fn new(socket: Socket) -> Self {
        if let Socket::Tcp(socket) = &socket {
            arrival::ask(socket.as_raw_fd());
        }
        Self { socket, written: None, arrival: None }
    }

    fn io(&mut self) -> Pin<&mut (dyn Io + '_)> {
        match &mut self.socket {
            Socket::Tcp(socket) => Pin::new(socket),
            Socket::Unix(socket) => Pin::new(socket),
        }
    }

    /// What was read now had come `lag` ago; but after the read before it, which has left nothing, and the request.
    fn came(&mut self, lag: Option<Duration>) {
        let now = Instant::now();
        let before = self.arrival.map(|arrival| arrival.at).max(self.written);
        let longest = before.map_or(Duration::MAX, |before| now.saturating_duration_since(before));
        let lag = lag.map(|lag| lag.min(longest));
        self.arrival = Some(Arrival { at: now.checked_sub(lag.unwrap_or_default()).unwrap_or(now), lag });
    }

    /// Taken before the bytes are handed to the system, which may deliver them before it returns.
    fn writes(&mut self) {
        if self.written.is_none() {
            self.written = Some(Instant::now());
        }
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
    /// When the first byte since [`Self::reset`] was handed to the system.
    pub(crate) fn written(&self) -> Option<Instant> {
        self.stamped().written
    }

    /// When what was read last had come.
    pub(crate) fn arrival(&self) -> Option<Arrival> {
        self.stamped().arrival
    }

    /// Makes ready for the next request.
    pub(crate) fn reset(&mut self) {
        let stamped = match self {
            Self::Plain(stamped) => stamped,
            Self::Tls(tls) => tls.get_mut().0,
        };
        (stamped.written, stamped.arrival) = (None, None);
    }

    fn stamped(&self) -> &Stamped {
        match self {
            Self::Plain(stamped) => stamped,
            Self::Tls(tls) => tls.get_ref().0,
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

impl AsyncRead for Stamped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let lag = match &mut self.socket {
            Socket::Unix(socket) => {
                ready!(Pin::new(socket).poll_read(cx, buf))?;
                None
            }
            Socket::Tcp(socket) => ready!(poll_receive(socket, cx, buf))?,
        };
        self.came(lag);
        Poll::Ready(Ok(()))
    }
}

/// Reads what is there.
fn poll_receive(
    socket: &TcpStream,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<Option<Duration>>> {
    loop {
        ready!(socket.poll_read_ready(cx))?;
        let room = buf.initialize_unfilled();
        match socket.try_io(Interest::READABLE, || arrival::receive(socket.as_raw_fd(), room)) {
            Ok((count, lag)) => {
                buf.advance(count);
                return Poll::Ready(Ok(lag));
            }
            // The socket's readiness was stale and is cleared now.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for Stamped {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.writes();
        self.io().poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.writes();
        self.io().poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_shutdown(cx)
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.get_mut().io().poll_read(cx, buf)
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
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().io().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().io().poll_shutdown(cx)
    }
}
