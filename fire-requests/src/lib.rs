//! Fires prompts at an LLM server and writes the timing of each request as a JSON line.
//!
//! Rows come in through `feed`, are sent at the times of `pacer` (at the rates of `load`) by `fire`, each as one `exchange` over a
//! `connection` of the `pool`; `sse` or `lines` splits the answer (`framing`), an `api` reads its events, an `answer` judges it,
//! and `sink` writes the row. Every time is the monotonic clock's; an event's is that of the socket read that
//! completed it, taken before anything is made of its bytes.

mod answer;
mod api;
mod args;
mod body;
mod connection;
mod exchange;
mod failure;
mod feed;
mod fire;
mod framing;
mod health;
mod like;
mod lines;
mod load;
mod models;
mod overlay;
mod pacer;
mod pool;
mod progress;
mod python_json;
mod report;
mod sampling;
mod setup;
mod shot;
mod sink;
mod sse;
mod stop;
mod stream;
mod target;
mod tls;

use std::sync::Arc;

use records::{Error, Exit, Input, Output, Result, RunStart};
use tokio::sync::Semaphore;

pub use args::Args;
pub use like::Like;
pub use load::Strategy;
pub use sampling::{ExtraBody, Sampling};

use crate::{
    body::Template,
    feed::Feed,
    fire::{Gate, Run},
    health::Baseline,
    pacer::Arrivals,
    setup::Setup,
    sink::Written,
    stop::{Signals, Stop},
};

const HINT: &str = "pipe rows in (gen-dataset … | fire-requests), or name a file";

/// Fires the rows that `args` name, and writes a run: its start, a timing row a request, its end.
pub fn run(args: &Args) -> Result<Exit> {
    let arrivals = Arrivals::new(args)?;
    let overlay = overlay::of(args)?;
    let lines = Input::open(args.file.as_deref(), HINT)?;
    setup::raise_descriptor_limit();
    let setup = Setup::new(args)?;
    let output = match &args.output {
        Some(path) => Output::create(path, args.overwrite)?,
        None => Output::stdout(),
    };
    let template = Template::new(args, &setup.model, overlay);
    let start = setup.run_start(args, template.overlay());
    let feed = feed::start(lines, template, start.request_id_prefix.clone());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::usage(format!("cannot start threads: {error}")))?;
    let stop = Arc::new(Stop::new());
    let exit = runtime.block_on(fire(args, setup, start, output, feed, arrivals, &stop));
    runtime.shutdown_background();
    if let (Ok(_), Some(signal)) = (&exit, stop.signal()) {
        stop::die_by(signal);
    }
    exit
}

async fn fire(
    args: &Args,
    setup: Setup,
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
    let warmups = match stop.unless_draining(feed.peek()).await.flatten() {
        Some(row) => setup.warm_up(args, row, cap.as_ref(), stop).await,
        None => Vec::new(),
    };

    let baseline = Baseline::now();
    let run = Arc::new(Run::new(&run_start.run, baseline.wall, setup.client, args.request_timeout, stop));
    output.record(&RunStart { started_at: setup::now(), ..run_start })?;
    output.flush()?;
    let (rows, written) = sink::start(output, Arc::clone(stop));
    for row in fire::warmup_rows(warmups, &run) {
        let _ = rows.send(row);
    }
    let watch = tokio::spawn(Arc::clone(&run).watch(args.quiet));
    let sent = run.send_all(feed, pacer, Gate::new(cap), rows).await;
    let written = sink::wait(written, stop).await;
    watch.abort();
    let _ = watch.await;

    let Written { mut output, tally } = written?;
    let end = report::run_end(&run, &sent, &tally, baseline);
    output.record(&end)?;
    output.flush()?;
    report::close(&end, &tally, args.quiet);
    sent.error.map_or(Ok(if tally.ok > 0 { Exit::Done } else { Exit::No }), Err)
}
