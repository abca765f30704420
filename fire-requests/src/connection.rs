//! One HTTP/1.1 connection, driven by whoever waits for it: nothing stands between a read and its reader.

use std::{
    future::{Future, poll_fn},
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::{Frame, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use records::Outcome;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::{
    failure::Failure,
    stream::{Stamped, Stamps, Stream},
    target::Target,
    tls,
};

type Driver = http1::Connection<TokioIo<Stream>, Full<Bytes>>;

/// An open connection.
pub(crate) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    /// Does the reading and writing whenever it is polled; none once the connection is closed.
    driver: Option<Pin<Box<Driver>>>,
    stamps: Arc<Stamps>,
}

impl Connection {
    /// Opens one; says how long name lookup, TCP and TLS took.
    pub(crate) async fn open(target: &Target, tls: &Arc<ClientConfig>) -> Result<(Self, Duration), Failure> {
        let began = Instant::now();
        let stream = Self::stream(target, tls).await?;
        let stamps = stream.stamps();
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| {
            Failure::new(Outcome::Connect, format!("cannot speak HTTP with {}: {error}", target.authority))
        })?;
        Ok((Self { sender, driver: Some(Box::pin(driver)), stamps }, began.elapsed()))
    }

    async fn stream(target: &Target, tls: &Arc<ClientConfig>) -> Result<Stream, Failure> {
        let refused = |error: &dyn std::fmt::Display, hint: &str| {
            let place = &target.authority;
            Failure::new(Outcome::Connect, format!("cannot connect to {place}: {error}{hint}"))
        };
        let connected = TcpStream::connect((target.host.as_str(), target.port)).await;
        let socket = connected.map_err(|error| refused(&error, ""))?;
        socket.set_nodelay(true).map_err(|error| refused(&error, ""))?;
        if !target.tls {
            return Ok(Stream::Plain(Stamped::new(socket)));
        }
        let name = ServerName::try_from(target.host.clone()).map_err(|error| refused(&error, ""))?;
        let connector = TlsConnector::from(Arc::clone(tls));
        let stream = connector.connect(name, Stamped::new(socket)).await;
        stream
            .map(|stream| Stream::Tls(Box::new(stream)))
            .map_err(|error| refused(&error, tls_remedy(&error)))
    }

    /// When bytes went out and came in.
    pub(crate) fn stamps(&self) -> &Arc<Stamps> {
        &self.stamps
    }

    /// Whether an idle connection can take a request, as far as can be seen without waiting.
    pub(crate) fn is_open(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        self.poll_driver(&mut cx);
        self.driver.is_some() && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        poll_fn(|cx| {
            self.poll_driver(cx);
            self.sender.poll_ready(cx)
        })
        .await?;
        self.stamps.reset();
        let answer = self.sender.send_request(request);
        Self::drive(&mut self.driver, answer).await
    }

    /// The next part of an answer's body.
    pub(crate) async fn frame(&mut self, body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
        Self::drive(&mut self.driver, body.frame()).await
    }

    /// The next part of an answer's body, if it is already there.
    pub(crate) fn frame_now(&mut self, body: &mut Incoming) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        pin!(self.frame(body)).poll(&mut Context::from_waker(Waker::noop()))
    }

    async fn drive<T>(driver: &mut Option<Pin<Box<Driver>>>, waited_for: impl Future<Output = T>) -> T {
        let mut waited_for = pin!(waited_for);
        poll_fn(|cx| {
            Self::poll(driver, cx);
            waited_for.as_mut().poll(cx)
        })
        .await
    }

    fn poll_driver(&mut self, cx: &mut Context<'_>) {
        Self::poll(&mut self.driver, cx);
    }

    fn poll(driver: &mut Option<Pin<Box<Driver>>>, cx: &mut Context<'_>) {
        // An error of the driver reaches whoever waits for the answer too, from hyper itself.
        if driver.as_mut().is_some_and(|driver| driver.as_mut().poll(cx).is_ready()) {
            *driver = None;
        }
    }
}

fn tls_remedy(error: &io::Error) -> &'static str {
    error.get_ref().and_then(|inner| inner.downcast_ref()).map_or("", tls::remedy)
}
