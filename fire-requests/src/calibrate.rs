//! Measuring the client itself: the same path as any run, against a server of known times.

use std::{
    fmt::{Display, Write as _},
    io,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use clap::Parser;
use records::{
    AnyRecord, Calibration, ClientVerdict, Error, Exit, Lines, Micros, Output, Result, RunEnd, Timing,
};

use crate::{
    Args,
    null_server::{NullServer, Pace, Truth},
    session::{self, Session},
    stop::Stop,
};

/// A load to be measured under.
#[derive(Debug, Clone, Copy)]
struct Case {
    streams: usize,
    requests: usize,
    pace: Pace,
}

/// Streams at once, at the pace of a fast model; and as many events as the client can take.
const CASES: [Case; 4] = [paced(1, 4), paced(64, 128), paced(512, 1024), BURST];

const BURST: Case = Case {
    streams: 64,
    requests: 512,
    pace: Pace { events: 2000, first: Duration::ZERO, gap: Duration::ZERO },
};

const fn paced(streams: usize, requests: usize) -> Case {
    let pace = Pace { events: 32, first: Duration::from_millis(50), gap: Duration::from_millis(15) };
    Case { streams, requests, pace }
}

/// Measures each case and writes a line about it. Says no if the client was the bottleneck of a paced one.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let mut output = session::output(args)?;
    let mut kept_up = true;
    for case in CASES {
        let calibration = case.measure(args)?;
        output.record(&calibration)?;
        output.flush()?;
        if !args.quiet {
            eprintln!("fire-requests: {}", told(&calibration));
        }
        let client = calibration.client.as_ref();
        let bound = client.is_some_and(|client| client.verdict == ClientVerdict::ClientBound);
        kept_up &= case.is_burst() || !bound;
    }
    Ok(if kept_up { Exit::Done } else { Exit::No })
}

impl Case {
    fn is_burst(&self) -> bool {
        self.pace.gap.is_zero()
    }

    fn measure(&self, args: &Args) -> Result<Calibration> {
        let failed = |error: io::Error| bad(format_args!("cannot serve on loopback: {error}"));
        let server = NullServer::start(self.pace).map_err(failed)?;
        let (url, cap) = (format!("http://{}", server.address), self.streams.to_string());
        let threads = args.threads.map(|threads| format!("--threads={threads}"));
        let model = ["--model", "null", "--no-model-check", "--request-id-prefix", ""];
        let flags = ["fire-requests", "--quiet", "--base-url", &url, "--max-concurrency", &cap];
        let flags = flags.into_iter().chain(model).chain(threads.as_deref());
        let own = Args { silent: true, ..Args::try_parse_from(flags).map_err(bad)? };
        let (kept, lines) =
            (Kept::default(), Lines::new("calibration", Box::new(io::Cursor::new(self.rows()))));
        let output = Output::new("calibration", Box::new(kept.clone()));
        let ended = Session::open(&own, lines)?.run(output, &Arc::new(Stop::new()))?;
        self.judge(&kept.text(), &server.truth(), ended.start)
    }

    fn rows(&self) -> String {
        (0..self.requests).fold(String::new(), |mut rows, id| {
            let events = self.pace.events;
            let _ = writeln!(rows, r#"{{"id":"{id}","prompt":"null","max_tokens":{events}}}"#);
            rows
        })
    }

    fn judge(&self, text: &str, truth: &Truth, start: Instant) -> Result<Calibration> {
        let (mut rows, mut end): (Vec<Timing>, Option<RunEnd>) = (Vec::new(), None);
        for line in text.lines() {
            match AnyRecord::from_line(line).map_err(bad)? {
                AnyRecord::Timing(row) => rows.push(*row),
                AnyRecord::RunEnd(run_end) => end = Some(*run_end),
                _ => {}
            }
        }
        if let Some(error) = rows.iter().find_map(|row| row.error.as_ref()) {
            return Err(bad(format_args!("a request to the server in this process failed: {error}")));
        }
        let errors = Errors::of(&rows, truth, start);
        let seconds = end.as_ref().map(|end| end.elapsed_us.secs()).filter(|&secs| secs > 0.0);
        let events = (self.requests * self.pace.events) as f64;
        Ok(Calibration {
            tool: concat!("fire-requests ", env!("CARGO_PKG_VERSION")).to_owned(),
            streams: self.streams as u64,
            requests: self.requests as u64,
            events: self.pace.events as u64,
            gap_us: Micros::from_duration(self.pace.gap),
            events_per_second: seconds.map(|seconds| (events / seconds).round()),
            client: end.and_then(|end| end.client),
            ..errors.calibration()
        })
    }
}

fn bad(problem: impl Display) -> Error {
    Error::usage(format!("--calibrate: {problem}"))
}

/// What the client's times differ from the server's by, in µs, sorted.
#[derive(Debug, Default)]
struct Errors {
    first: Vec<f64>,
    gaps: Vec<f64>,
}

impl Errors {
    fn of(rows: &[Timing], truth: &Truth, start: Instant) -> Self {
        let mut errors = Self::default();
        for row in rows {
            let Some((sent, truth)) = row.sent_us.zip(truth.get(&row.id)) else { continue };
            let seen = row.stream().output_times().map(|time| (sent + time).us());
            let wrote = truth.iter().map(|at| at.saturating_duration_since(start).as_secs_f64() * 1e6);
            let late: Vec<f64> = seen.zip(wrote).map(|(seen, wrote)| seen - wrote).collect();
            errors.first.extend(late.first());
            errors.gaps.extend(late.windows(2).map(|pair| (pair[1] - pair[0]).abs()));
        }
        errors.first.sort_by(f64::total_cmp);
        errors.gaps.sort_by(f64::total_cmp);
        errors
    }

    fn calibration(&self) -> Calibration {
        Calibration {
            ttft_error_mean_us: mean(&self.first),
            ttft_error_p99_us: at(&self.first, 0.99),
            ttft_error_max_us: at(&self.first, 1.0),
            gap_error_mean_us: mean(&self.gaps),
            gap_error_p99_us: at(&self.gaps, 0.99),
            ..Calibration::default()
        }
    }
}

fn mean(values: &[f64]) -> Option<Micros> {
    (!values.is_empty()).then(|| whole(values.iter().sum::<f64>() / values.len() as f64))
}

fn at(sorted: &[f64], quantile: f64) -> Option<Micros> {
    let rank = (sorted.len().checked_sub(1)? as f64 * quantile).round() as usize;
    Some(whole(sorted[rank]))
}

fn whole(us: f64) -> Micros {
    Micros::new(us.round())
}

fn told(calibration: &Calibration) -> String {
    let ms = |time: Option<Micros>| time.map_or(0.0, Micros::ms);
    let streams = calibration.streams;
    let client = calibration.client.as_ref();
    let bound = client.filter(|client| client.verdict == ClientVerdict::ClientBound);
    let remark =
        bound.and_then(|client| client.reason.as_ref()).map_or(String::new(), |why| format!(" ({why})"));
    if calibration.gap_us == Micros::ZERO {
        let rate = calibration.events_per_second.unwrap_or_default();
        return format!("{streams} at once: at most {rate:.0} events a second");
    }
    format!(
        "{streams} at once: TTFT {:+.3} ms on average, {:+.3} at p99; gaps ±{:.3} ms at p99{remark}",
        ms(calibration.ttft_error_mean_us),
        ms(calibration.ttft_error_p99_us),
        ms(calibration.gap_error_p99_us)
    )
}

/// Bytes written, to be read afterwards.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
