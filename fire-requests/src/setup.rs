//! What is settled before the first request: server, model, and the run's name.

use std::{env, process, sync::Arc};

use jiff::Timestamp;
use records::{Error, Result, RunStart};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::{
    Args, Like,
    exchange::Client,
    feed::Row,
    fire::{self, Warmup},
    models::{self, Server},
    pool::Pool,
    stop::Stop,
    target::Target,
    tls,
};

/// A server that requests can be sent to.
pub(crate) struct Setup {
    /// How they are made.
    pub(crate) client: Arc<Client>,
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
        let endpoint =
            target.path(args.endpoint.as_deref().unwrap_or(args.backend.endpoint(!args.sampling.no_stream)));
        let uri =
            endpoint.parse().map_err(|_| Error::usage(format!("--endpoint: '{endpoint}' is no path")))?;
        let (base_url, headers) = (target.base_url(), Client::headers(&target, headers));
        let client = Arc::new(Client {
            api: args.backend,
            stream: !args.sampling.no_stream,
            save_text: args.save_text,
            pool: Pool::new(target, tls),
            uri,
            headers,
        });
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

    /// Sends the warm-up requests.
    pub(crate) async fn warm_up(
        &self,
        args: &Args,
        row: &Row,
        cap: Option<&Arc<Semaphore>>,
        stop: &Arc<Stop>,
    ) -> Vec<Warmup> {
        fire::warm_up(&self.client, row, args.num_warmups, cap, args.request_timeout, stop).await
    }
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
