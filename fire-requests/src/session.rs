//! A run from its command line to its last line.

use std::{
    num::NonZeroU64,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use records::{Error, Exit, Lines, Output, Result, RunStart, StoppedBy};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
};

use crate::{
    Args,
    ahead::Ahead,
    body::Template,
    descriptors,
    feed::{self, Feed, Plan},
    fire::Run,
    gate::Gate,
    health::{Baseline, Health},
    overlay,
    pacer::{Arrivals, Pacer},
    progress::Counters,
    report,
    resume::Earlier,
    setup::{self, Setup},
    sink::{self, Written},
    stop::{Signals, Stop},
    warmup::{self, Share, Warmup},
    worker::Workers,
};

/// All that a run needs, checked; nothing has been sent.
pub(crate) struct Session<'a> {
    args: &'a Args,
    arrivals: Arrivals,
    setup: Setup,
    template: Arc<Template>,
    start: RunStart,
    feed: Feed,
}

/// A run whose clock has started.
struct Started {
    run: Arc<Run>,
    at: Timestamp,
    baseline: Baseline,
    warmups: Vec<Warmup>,
    cap: Option<Arc<Semaphore>>,
}

/// A run that is over.
pub(crate) struct Ended {
    /// How the tool exits.
    pub(crate) exit: Exit,
    /// µs 0 of the run's clock.
    pub(crate) start: Instant,
}

impl<'a> Session<'a> {
    /// Looks at the flags, asks the server for its models, and begins to read `lines`.
    pub(crate) fn open(args: &'a Args, lines: Lines) -> Result<Self> {
        let arrivals = Arrivals::new(args)?;
        let overlay = overlay::of(args)?;
        descriptors::raise_limit();
        let setup = Setup::new(args)?;
        let template = Arc::new(Template::new(args, &setup.model, overlay));
        let mut start = setup.run_start(args, arrivals.load(), template.overlay());
        let resumed = args.resume.as_deref().map(|path| Earlier::of(path, &mut start)).transpose()?;
        let plan = Plan { resumed, time_scale: args.time_scale };
        let feed = feed::start(lines, Arc::clone(&template), start.request_id_prefix.clone(), plan);
        Ok(Self { args, arrivals, setup, template, start, feed })
    }

    /// Sends all rows and waits for the answers.
    pub(crate) fn run(self, output: Output, stop: &Arc<Stop>) -> Result<Ended> {
        let runtime = current_thread_runtime()?;
        let ended = runtime.block_on(self.fire(output, stop));
        runtime.shutdown_background();
        ended
    }

    async fn fire(self, mut output: Output, stop: &Arc<Stop>) -> Result<Ended> {
        let Self { args, arrivals, setup, template, start, mut feed } = self;
        let signals =
            Signals::catch().map_err(|error| Error::usage(format!("cannot catch signals: {error}")))?;
        tokio::spawn(signals.obey(Arc::clone(stop), args.grace));
        let ahead = Ahead::new(args.max_concurrency, arrivals.load(), setup::threads(args));
        let pacer = pacer(arrivals, &mut feed, stop).await;
        let started = begin(args, setup, template, &mut feed, ahead, &start, stop).await?;

        let Started { run, at, baseline, warmups, cap } = started;
        output.record(&RunStart { started_at: format!("{at:.6}"), ..start })?;
        output.flush()?;
        let (rows, written) = sink::start(output, Arc::clone(stop));
        for row in warmup::warmup_rows(warmups, &run) {
            let _ = rows.send(row);
        }
        let watch = tokio::spawn(Arc::clone(&run).watch(args.quiet));
        if let Some(duration) = args.duration {
            tokio::spawn(drain_after(run.start + duration, Arc::clone(stop)));
        }
        let gate = Gate::new(cap);
        let sent = run.send_from_a_thread(current_thread_runtime()?, feed, pacer, gate, rows).await?;
        let written = sink::wait(written, stop).await;
        watch.abort();
        let _ = watch.await;

        let Written { mut output, tally } = written?;
        let end = report::run_end(&run, &sent, &tally, &baseline);
        output.record(&end)?;
        output.flush()?;
        if !args.silent {
            report::close(&run, &end, &tally, args.quiet);
        }
        // A resumed run, or a shard, may have nothing left to send.
        let nothing = end.sent == 0 && end.stopped_by == StoppedBy::InputEnd;
        let good = (tally.ok > 0 || nothing) && end.stopped_by != StoppedBy::MaxFailures;
        let exit = if good { Exit::Done } else { Exit::No };
        sent.error.map_or(Ok(Ended { exit, start: run.start }), Err)
    }
}

/// Starts the threads, warms the server, opens connections, and starts the clock.
async fn begin(
    args: &Args,
    setup: Setup,
    template: Arc<Template>,
    feed: &mut Feed,
    ahead: Ahead,
    start: &RunStart,
    stop: &Arc<Stop>,
) -> Result<Started> {
    let cap = args.max_concurrency.map(|cap| Arc::new(Semaphore::new(cap.get() as usize)));
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
    if let Some(time) = args.start_at {
        stop.unless_draining(tokio::time::sleep(soon_before(time))).await;
    }
    let ready = stop.unless_draining(feed.gather(ahead.at_first)).await.unwrap_or_default();
    descriptors::check(ready)?;
    stop.unless_draining(workers.open_ahead(ready)).await;

    let (at, begun) = clock(args.start_at, stop).await?;
    let baseline = health.begin();
    let run = Run {
        name: start.run.clone(),
        start: begun,
        template,
        shape,
        workers,
        spare: ahead.spare,
        shard: args.shard,
        timeout: args.request_timeout,
        capped: args.max_concurrency.is_some(),
        think_time: args.think_time,
        max_failures: args.max_failures.map(NonZeroU64::get),
        warmup: Share { requests: args.warmup_requests, time: args.warmup_duration },
        stop: Arc::clone(stop),
        counters: Counters::default(),
        health,
    };
    Ok(Started { run: Arc::new(run), at, baseline, warmups, cap })
}

async fn pacer(arrivals: Arrivals, feed: &mut Feed, stop: &Stop) -> Pacer {
    if arrivals.need_count() {
        arrivals.plan(stop.unless_draining(feed.read_all()).await.unwrap_or_default())
    } else {
        arrivals.stream()
    }
}

/// Where the run is written to.
pub(crate) fn output(args: &Args) -> Result<Output> {
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

/// Until there is just time to connect: connections that wait longer are closed by servers.
fn soon_before(start_at: Timestamp) -> Duration {
    const ENOUGH: Duration = Duration::from_secs(2);
    Duration::try_from(start_at.duration_since(Timestamp::now())).unwrap_or_default().saturating_sub(ENOUGH)
}

/// Waits for `--start-at`; returns the wall clock's instant of the run's start, and its own clock's.
async fn clock(start_at: Option<Timestamp>, stop: &Stop) -> Result<(Timestamp, Instant)> {
    let now = (Timestamp::now(), Instant::now());
    let Some(time) = start_at else { return Ok(now) };
    let late = |_| Error::usage(format!("--start-at {time} is past: it took until {} to be ready", now.0));
    let left = Duration::try_from(time.duration_since(now.0)).map_err(late)?;
    let start = now.1 + left;
    stop.unless_draining(tokio::time::sleep_until(start.into())).await;
    Ok((time, start))
}

async fn drain_after(time: Instant, stop: Arc<Stop>) {
    tokio::time::sleep_until(time.into()).await;
    stop.drain(StoppedBy::Duration);
}
