//! Fires prompts at an LLM server and writes the timing of each request as a JSON line.
//!
//! Rows come in through `feed`, are sent at the times of `pacer` (at the rates of `load`) by `fire`, each as one `exchange` over a
//! `connection` of the `pool`; `sse` or `lines` splits the answer (`framing`), an `api` reads its events, an `answer` judges it,
//! and `sink` writes the row. Every time is the monotonic clock's; an event's is that of the socket read that
//! completed it, taken before anything is made of its bytes.

mod ahead;
mod answer;
mod api;
mod args;
mod arrival;
mod body;
mod connection;
mod conversation;
mod cpu;
mod descriptors;
mod exchange;
mod failure;
mod feed;
mod fire;
mod framing;
mod gate;
mod health;
mod http1;
mod inflate;
mod lag;
mod like;
mod likeness;
mod lines;
mod load;
mod models;
mod overlay;
mod pacer;
mod pool;
mod progress;
mod python_json;
mod reception;
mod report;
mod resume;
mod sampling;
mod setup;
mod shot;
mod sink;
mod sse;
#[cfg(test)]
mod sse_properties;
#[cfg(test)]
mod sse_reference;
mod stop;
mod stream;
mod talk;
mod target;
mod tls;
mod verdict;
mod warmup;
mod worker;

use std::{num::NonZeroU64, path::Path, sync::Arc, time::Instant};

use records::{Error, Exit, Input, Output, Result, RunStart, StoppedBy};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
};

pub use args::Args;
pub use like::Like;
pub use load::Strategy;
pub use sampling::{ExtraBody, Sampling};

use crate::{
    ahead::Ahead,
    body::Template,
    feed::Feed,
    fire::Run,
    gate::Gate,
    health::Health,
    pacer::Arrivals,
    progress::Counters,
    resume::Earlier,
    setup::Setup,
    sink::Written,
    stop::{Signals, Stop},
    warmup::Share,
    worker::Workers,
};

const HINT: &str = "pipe rows in (gen-dataset … | fire-requests), or name a file";

/// Fires the rows that `args` name, and writes a run: its start, a timing row a request, its end.
pub fn run(args: &Args) -> Result<Exit> {
    let arrivals = Arrivals::new(args)?;
    let overlay = overlay::of(args)?;
    let lines = Input::open(args.file.as_deref(), HINT)?;
    descriptors::raise_limit();
    let setup = Setup::new(args)?;
    let template = Arc::new(Template::new(args, &setup.model, overlay));
    let mut start = setup.run_start(args, template.overlay());
    let earlier = args.resume.as_deref().map(|path| resumed(path, &mut start)).transpose()?;
    let output = output(args)?;
    let done = earlier.map(|earlier| earlier.done);
    let feed = feed::start(lines, Arc::clone(&template), start.request_id_prefix.clone(), done);
    let runtime = current_thread_runtime()?;
    let stop = Arc::new(Stop::new());
    let exit = runtime.block_on(fire(args, setup, template, start, output, feed, arrivals, &stop));
    runtime.shutdown_background();
    if let (Ok(_), Some(signal)) = (&exit, stop.signal()) {
        stop::die_by(signal);
    }
    exit
}

fn resumed(path: &Path, start: &mut RunStart) -> Result<Earlier> {
    let earlier = Earlier::read(path)?;
    earlier.check(path, start)?;
    start.resumed = Some(earlier.done.len() as u64);
    eprintln!("fire-requests: {}", earlier.notice());
    Ok(earlier)
}

fn output(args: &Args) -> Result<Output> {
    match &args.output {
        Some(path) if args.resume.as_ref() == Some(path) && !args.overwrite => {
            let (output, torn) = Output::append(path)?;
            if torn {
                eprintln!("fire-requests: warning: the torn last line of {} is removed", path.display());
            }
            Ok(output)
        }
        Some(path) => Output::create(path, args.overwrite),
        None => Ok(Output::stdout()),
    }
}

fn current_thread_runtime() -> Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::usage(format!("cannot start threads: {error}")))
}

async fn fire(
    args: &Args,
    setup: Setup,
    template: Arc<Template>,
    run_start: RunStart,
    mut output: Output,
    mut feed: Feed,
    arrivals: Arrivals,
    stop: &Arc<Stop>,
) -> Result<Exit> {
    let signals = Signals::catch().map_err(|error| Error::usage(format!("cannot catch signals: {error}")))?;
    tokio::spawn(signals.obey(Arc::clone(stop), args.grace));
    let cap = args.max_concurrency.map(|cap| Arc::new(Semaphore::new(cap.get() as usize)));
    let pacer = if arrivals.need_count() {
        arrivals.plan(stop.unless_draining(feed.read_all()).await.unwrap_or_default())
    } else {
        arrivals.stream()
    };
    let (health, probes) = Health::new(setup::threads(args))
        .map_err(|error| Error::usage(format!("cannot open sockets: {error}")))?;
    let shape = Arc::clone(&setup.client.shape);
    let workers = Workers::start(setup.client, probes)?;
    let warmups = match stop.unless_draining(feed.peek()).await.flatten() {
        Some(row) => {
            warmup::warm_up(&workers, row, args.num_warmups, cap.as_ref(), args.request_timeout, stop).await
        }
        None => Vec::new(),
    };
    let connections = Ahead::new(args, workers.count());
    let ahead = stop.unless_draining(feed.gather(connections.at_first)).await.unwrap_or_default();
    descriptors::check(ahead)?;
    stop.unless_draining(workers.open_ahead(ahead)).await;

    let baseline = health.begin();
    let run = Arc::new(Run {
        name: run_start.run.clone(),
        start: baseline.wall,
        template,
        shape,
        workers,
        spare: connections.spare,
        timeout: args.request_timeout,
        capped: args.max_concurrency.is_some(),
        think_time: args.think_time,
        max_failures: args.max_failures.map(NonZeroU64::get),
        warmup: Share { requests: args.warmup_requests, time: args.warmup_duration },
        stop: Arc::clone(stop),
        counters: Counters::default(),
        health,
    });
    output.record(&RunStart { started_at: setup::now(), ..run_start })?;
    output.flush()?;
    let (rows, written) = sink::start(output, Arc::clone(stop));
    for row in warmup::warmup_rows(warmups, &run) {
        let _ = rows.send(row);
    }
    let watch = tokio::spawn(Arc::clone(&run).watch(args.quiet));
    if let Some(duration) = args.duration {
        tokio::spawn(drain_after(run.start + duration, Arc::clone(stop)));
    }
    let sent = run.send_from_a_thread(current_thread_runtime()?, feed, pacer, Gate::new(cap), rows).await?;
    let written = sink::wait(written, stop).await;
    watch.abort();
    let _ = watch.await;

    let Written { mut output, tally } = written?;
    let end = report::run_end(&run, &sent, &tally, &baseline);
    output.record(&end)?;
    output.flush()?;
    report::close(&run, &end, &tally, args.quiet);
    let good = tally.ok > 0 && end.stopped_by != StoppedBy::MaxFailures;
    sent.error.map_or(Ok(if good { Exit::Done } else { Exit::No }), Err)
}

async fn drain_after(time: Instant, stop: Arc<Stop>) {
    tokio::time::sleep_until(time.into()).await;
    stop.drain(StoppedBy::Duration);
}
