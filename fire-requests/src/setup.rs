//! What is settled before the first request: server, model, and the run's name.

use std::{env, num::NonZeroUsize, process, sync::Arc, thread::available_parallelism};

use jiff::Timestamp;
use records::{Error, Result, RunStart};
use serde_json::{Map, Value};

use crate::{
    Args, Like,
    exchange::{Client, Shape},
    models::{self, Server},
    pool::Pool,
    target::Target,
    tls,
};

/// A server that requests can be sent to.
pub(crate) struct Setup {
    /// How they are made.
    pub(crate) client: Client,
    /// The model to ask for.
    pub(crate) model: String,
    base_url: String,
    endpoint: String,
}

impl Setup {
    /// Looks at the flags, and asks the server for its models.
    pub(crate) fn new(args: &Args) -> Result<Self> {
        let plain = || Target::url(&args.host, args.port);
        let target = Target::parse(&args.base_url.clone().unwrap_or_else(plain))?;
        if let Some(name) = target.unused_proxy(|name| env::var(name).ok()) {
            eprintln!(
                "fire-requests: warning: {name} is set but not used; requests go to {} directly",
                target.host
            );
        }
        let tls = tls::config(target.tls, args.insecure, args.cacert.as_deref())?;
        let own = args.backend.headers(&|name| env::var(name).ok().filter(|value| !value.is_empty()));
        let headers = target.headers(&args.header, &own)?;
        let server = Server::new(&target, args.backend, &tls, &headers)?;
        if !args.ready_check_timeout_sec.is_zero() {
            server.wait_until_ready(args.ready_check_timeout_sec)?;
        }
        let model = models::choose(&server, args.model.as_deref())?;
        let stream = !args.sampling.no_stream;
        let endpoint = target.path(args.endpoint.as_deref().unwrap_or(args.backend.endpoint(stream)));
        let path = endpoint.parse::<http::Uri>().ok().filter(|uri| uri.authority().is_none());
        let path =
            path.ok_or_else(|| Error::usage(format!("--endpoint: '{endpoint}' is no path")))?.to_string();
        let (base_url, headers) = (target.base_url(), Shape::headers(&target, headers));
        let shape = Shape {
            api: args.backend,
            path,
            headers,
            stream,
            save_text: args.save_text,
            idle_timeout: args.idle_timeout,
        };
        let client = Client::new(Arc::new(shape), Pool::new(target, tls));
        Ok(Self { client, model, base_url, endpoint })
    }

    /// The run's first record, but for the time it starts.
    pub(crate) fn run_start(&self, args: &Args, body: &Map<String, Value>) -> RunStart {
        RunStart {
            run: args.run.clone().unwrap_or_else(run_name),
            started_at: String::new(),
            tool: concat!("fire-requests ", env!("CARGO_PKG_VERSION")).to_owned(),
            base_url: self.base_url.clone(),
            like: args.like.map(|like| like.name().to_owned()),
            backend: args.backend.name().to_owned(),
            endpoint: self.endpoint.clone(),
            model: self.model.clone(),
            request_id_prefix: args.request_id_prefix.clone().or(args.like.map(Like::request_id_prefix)),
            request_rate: Some(args.request_rate),
            burstiness: Some(args.burstiness),
            ramp_up_strategy: args.ramp_up_strategy.map(|strategy| strategy.name().to_owned()),
            ramp_up_start_rps: args.ramp_up_start_rps,
            ramp_up_end_rps: args.ramp_up_end_rps,
            max_concurrency: args.max_concurrency.map(|cap| cap.get().into()),
            seed: Some(args.seed),
            ignore_eos: args.sampling.ignore_eos,
            num_warmups: args.num_warmups.into(),
            body: body.clone(),
            labels: args.label.iter().cloned().collect(),
        }
    }
}

/// Threads that send and receive: `--threads`, or as many as there are cores to run them, up to eight.
pub(crate) fn threads(args: &Args) -> usize {
    const ENOUGH: usize = 8;
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    args.threads.map_or(cores.min(ENOUGH), NonZeroUsize::get)
}

/// The wall-clock time, to the microsecond.
pub(crate) fn now() -> String {
    format!("{:.6}", Timestamp::now())
}

/// Unique on a machine: the second it was made in, and the process.
fn run_name() -> String {
    format!("{}-{:x}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"), process::id())
}

/// Lifts the soft limit of open files to the hard one: each request in flight needs a socket.
pub(crate) fn raise_descriptor_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls are given a valid `rlimit`; a failure leaves the limit as it was.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
