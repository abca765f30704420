//! What is settled before the first request: server, model, and the run's name.

use std::{env, num::NonZeroUsize, process, sync::Arc, thread::available_parallelism};

use jiff::Timestamp;
use records::{Error, Result, RunStart};
use serde_json::{Map, Value};

use crate::{
    Args, Like,
    exchange::{Client, Shape, Site},
    load::Load,
    models::{self, Server},
    pool::Pool,
    shard::Shard,
    target::Target,
    tls,
};

/// A server that requests can be sent to.
pub(crate) struct Setup {
    /// How they are made.
    pub(crate) client: Client,
    /// The model to ask for.
    pub(crate) model: String,
    base_urls: Vec<String>,
    endpoint: String,
}

impl Setup {
    /// Looks at the flags, and asks the servers for their models.
    pub(crate) fn new(args: &Args) -> Result<Self> {
        let stream = !args.sampling.no_stream;
        let endpoint = args.endpoint.as_deref().unwrap_or(args.backend.endpoint(stream));
        let (mut sites, mut pools, mut model) = (Vec::new(), Vec::new(), args.model.clone());
        for target in targets(args)? {
            let tls = tls::config(target.tls, args.insecure, args.cacert.as_deref())?;
            let own = args.backend.headers(&|name| env::var(name).ok().filter(|value| !value.is_empty()));
            let headers = target.headers(&args.header, &own)?;
            let server = Server::new(&target, args.backend, &tls, &headers)?;
            if !args.ready_check_timeout_sec.is_zero() {
                server.wait_until_ready(args.ready_check_timeout_sec)?;
            }
            model = Some(match model {
                Some(name) if args.no_model_check => name,
                named => models::choose(&server, named.as_deref())?,
            });
            let headers = Shape::headers(&target, headers);
            sites.push(Site { base_url: target.base_url(), path: path(&target, endpoint)?, headers });
            pools.push(Pool::new(target, tls));
        }
        let base_urls = sites.iter().map(|site| site.base_url.clone()).collect();
        let endpoint = sites[0].path.clone();
        let shape = Shape {
            api: args.backend,
            sites,
            stream,
            save_text: args.save_text,
            idle_timeout: args.idle_timeout,
        };
        let client = Client::new(Arc::new(shape), pools);
        Ok(Self { client, model: model.unwrap_or_default(), base_urls, endpoint })
    }

    /// The run's first record, but for the time it starts.
    pub(crate) fn run_start(&self, args: &Args, load: &Load, body: &Map<String, Value>) -> RunStart {
        let part = args.shard.map(Shard::suffix).unwrap_or_default();
        RunStart {
            run: args.run.clone().unwrap_or_else(run_name) + &part,
            started_at: String::new(),
            tool: concat!("fire-requests ", env!("CARGO_PKG_VERSION")).to_owned(),
            base_url: self.base_urls[0].clone(),
            base_urls: if self.base_urls.len() > 1 { self.base_urls.clone() } else { Vec::new() },
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
            schedule: load.line(),
            time_scale: args.time_scale,
            shard: args.shard.map(|shard| shard.to_string()),
            think_time: Some(args.think_time.as_secs_f64()).filter(|&secs| secs > 0.0),
            warmup_requests: Some(args.warmup_requests).filter(|&count| count > 0),
            warmup_duration: Some(args.warmup_duration.as_secs_f64()).filter(|&secs| secs > 0.0),
            duration: args.duration.map(|duration| duration.as_secs_f64()),
            resumed: None,
            num_warmups: args.num_warmups.into(),
            body: body.clone(),
            labels: args.label.iter().cloned().collect(),
        }
    }
}

fn targets(args: &Args) -> Result<Vec<Target>> {
    let plain = || vec![Target::url(&args.host, args.port)];
    let urls = if args.base_url.is_empty() { plain() } else { args.base_url.clone() };
    let targets: Vec<Target> = urls.iter().map(|url| Target::parse(url)).collect::<Result<_>>()?;
    for target in &targets {
        if let Some(name) = target.unused_proxy(|name| env::var(name).ok()) {
            eprintln!(
                "fire-requests: warning: {name} is set but not used; requests go to {} directly",
                target.host
            );
        }
    }
    Ok(targets)
}

fn path(target: &Target, endpoint: &str) -> Result<String> {
    let path = target.path(endpoint);
    match path.parse::<http::Uri>() {
        Ok(uri) if uri.authority().is_none() => Ok(path),
        _ => Err(Error::usage(format!("--endpoint: '{path}' is no path"))),
    }
}

/// Threads that send and receive: `--threads`, or as many as there are cores to run them, up to eight.
pub(crate) fn threads(args: &Args) -> usize {
    const ENOUGH: usize = 8;
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    args.threads.map_or(cores.min(ENOUGH), NonZeroUsize::get)
}

/// Unique on a machine: the second it was made in, and the process.
fn run_name() -> String {
    format!("{}-{:x}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"), process::id())
}
