//! HTTP: connections and routes.

use std::{
    convert::Infallible,
    io,
    net::{SocketAddr, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::{
    Method, Request, Response, StatusCode, body::Incoming, header, header::HeaderValue, server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use records::{Error, Exit, Result};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::mpsc::UnboundedReceiver,
};

use crate::{
    Args,
    answer::{Answer, Generation},
    driver::{Delivery, Driver},
    engine::Engine,
    refusal::Refusal,
    request::{Api, Job, Limits},
    sse::EventStream,
    stats::Stats,
};

/// A thousand clients that connect at once must not meet a full queue: each dropped SYN costs them a second.
const BACKLOG: u32 = 4096;

/// A prompt of a million tokens fits several times.
const MOST_BODY_BYTES: usize = 64 << 20;

type Reply = Response<Either<Full<Bytes>, EventStream>>;

/// Binds `host:port`.
pub(crate) fn listen(host: &str, port: u16) -> Result<TcpListener> {
    let failed = |source: io::Error| Error::usage(format!("cannot listen on {host}:{port}: {source}"));
    let address = (host, port)
        .to_socket_addrs()
        .map_err(failed)?
        .next()
        .ok_or_else(|| Error::usage(format!("--host {host} has no address")))?;
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.map_err(failed)?;
    socket.set_reuseaddr(true).map_err(failed)?;
    socket.bind(address).map_err(failed)?;
    socket.listen(BACKLOG).map_err(failed)
}

/// Where `listener` really listens.
pub(crate) fn address(listener: &TcpListener) -> Result<SocketAddr> {
    listener.local_addr().map_err(|source| Error::read("listener", source))
}

/// The engine's driver and everything that requests need.
pub(crate) struct Server {
    app: Arc<App>,
    deliveries: UnboundedReceiver<Delivery>,
}

struct App {
    limits: Limits,
    driver: Driver,
    stats: Arc<Stats>,
    answers: AtomicU64,
}

impl Server {
    /// Starts the engine's thread.
    pub(crate) fn start(args: &Args, engine: Box<dyn Engine>) -> Result<Self> {
        let stats = Arc::new(Stats::new());
        let (driver, deliveries) = Driver::start(engine, Arc::clone(&stats))?;
        let limits = Limits {
            model: args.model.clone(),
            max_model_len: args.max_model_len,
            seed: args.seed,
            early_stop: args.early_stop,
        };
        Ok(Self { app: Arc::new(App { limits, driver, stats, answers: AtomicU64::new(0) }), deliveries })
    }

    /// Serves for ever; returns only if the engine's thread has died.
    pub(crate) async fn serve(self, listener: TcpListener) -> Result<Exit> {
        let dispatcher = tokio::spawn(dispatch(self.deliveries));
        tokio::select! {
            never = accept(listener, self.app) => never,
            _ = dispatcher => Err(Error::usage("the engine's thread has ended; this is a fault of sim-server")),
        }
    }
}

/// Hands each step's tokens to their connections.
async fn dispatch(mut deliveries: UnboundedReceiver<Delivery>) {
    while let Some(delivery) = deliveries.recv().await {
        for (tokens, token) in delivery {
            // A closed channel is a client that went away; its cancellation is on the way to the engine.
            tokens.send(token).ok();
        }
    }
}

async fn accept(listener: TcpListener, app: Arc<App>) -> Result<Exit> {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                app.stats.connections.fetch_add(1, Relaxed);
                tokio::spawn(connection(stream, Arc::clone(&app)));
            }
            // Out of file descriptors, or a client that hung up while it waited: neither lasts.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn connection(stream: TcpStream, app: Arc<App>) {
    stream.set_nodelay(true).ok();
    let service = service_fn(move |request| {
        let app = Arc::clone(&app);
        async move { Ok::<_, Infallible>(app.reply(request).await) }
    });
    // An error here is a client that left or does not speak HTTP: nothing that the server could act on.
    http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
}

impl App {
    async fn reply(&self, request: Request<Incoming>) -> Reply {
        let reply = match (request.uri().path(), request.method()) {
            ("/v1/chat/completions", &Method::POST) => self.generate(Api::Chat, request).await,
            ("/v1/completions", &Method::POST) => self.generate(Api::Completions, request).await,
            ("/v1/models", &Method::GET) => Ok(json_reply(&self.models())),
            ("/health", &Method::GET) => Ok(Response::new(Either::Left(Full::default()))),
            ("/metrics", &Method::GET) => Ok(self.metrics()),
            ("/stats", &Method::GET) => Ok(json_reply(&self.stats.json())),
            (
                "/v1/chat/completions" | "/v1/completions" | "/v1/models" | "/health" | "/metrics" | "/stats",
                _,
            ) => Err(Refusal::status(StatusCode::METHOD_NOT_ALLOWED)),
            _ => Err(Refusal::status(StatusCode::NOT_FOUND)),
        };
        let mut reply = reply.unwrap_or_else(|refusal| refusal.response().map(Either::Left));
        reply.headers_mut().insert(header::SERVER, HeaderValue::from_static("sim-server"));
        reply
    }

    async fn generate(&self, api: Api, request: Request<Incoming>) -> std::result::Result<Reply, Refusal> {
        let body = Limited::new(request.into_body(), MOST_BODY_BYTES)
            .collect()
            .await
            .map_err(|_| Refusal::status(StatusCode::PAYLOAD_TOO_LARGE))?
            .to_bytes();
        let arrived = self.driver.now();
        let job = Job::parse(api, &body, &self.limits)?;
        let number = self.answers.fetch_add(1, Relaxed);
        let answer = Answer::new(number, &job, &self.limits.model);
        let generation = Generation::start(number, arrived, &job, &self.driver, &self.stats);
        match job.stream {
            Some(usage) => Ok(stream_reply(EventStream::new(generation, answer, usage))),
            None => whole(generation, &answer).await,
        }
    }

    fn models(&self) -> Value {
        let Limits { model, max_model_len, .. } = &self.limits;
        json!({ "object": "list", "data": [{
            "id": model, "object": "model", "created": 0, "owned_by": "sim-server", "root": model, "parent": null,
            "max_model_len": max_model_len, "permission": [],
        }]})
    }

    fn metrics(&self) -> Reply {
        let text = self.stats.prometheus(&self.limits.model);
        with_type(Either::Left(Full::from(text)), "text/plain; version=0.0.4; charset=utf-8")
    }
}

/// Waits for the whole answer.
async fn whole(mut generation: Generation, answer: &Answer) -> std::result::Result<Reply, Refusal> {
    let mut text = String::new();
    let mut last = None;
    while let Some(token) = generation.next().await {
        let (space, word) = answer.text(&token);
        text += space;
        text += word;
        last = Some(token);
    }
    let last = last.ok_or_else(|| Refusal::status(StatusCode::INTERNAL_SERVER_ERROR))?;
    Ok(json_reply(&answer.whole(&text, &last)))
}

fn json_reply(body: &Value) -> Reply {
    with_type(Either::Left(Full::from(body.to_string())), "application/json")
}

fn stream_reply(events: EventStream) -> Reply {
    with_type(Either::Right(events), "text/event-stream; charset=utf-8")
}

fn with_type(body: Either<Full<Bytes>, EventStream>, content_type: &'static str) -> Reply {
    let mut reply = Response::new(body);
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}
