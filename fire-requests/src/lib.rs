//! Fires prompts at an LLM server and writes the timing of each request as a JSON line.
//!
//! A `session` is the plan of a run. Rows come in through `feed`, and `fire` sends them at the times of `pacer` (at the
//! rates of `load`), each when its `gate` lets it pass. A `worker` is a thread with an event loop: there a row is `talk`ed
//! about, each request as one `exchange` over a `connection` of the `pool`; `http1` takes its bytes apart, `sse` splits
//! the answer, an `api` reads its events, an `answer` judges it, and `sink` writes the row. Every time is the monotonic
//! clock's; an event's is that of the `arrival` of the bytes that completed it. `health` watches the client itself.

mod ahead;
mod answer;
mod api;
mod args;
mod arrival;
mod body;
mod calibrate;
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
mod null_server;
mod overlay;
mod pacer;
mod pool;
mod progress;
mod python_json;
mod reception;
mod report;
mod resume;
mod sampling;
mod schedule;
mod session;
mod setup;
mod shard;
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

#[doc(hidden)]
pub mod parts;

use std::sync::Arc;

use records::{Exit, Input, Result};

pub use args::Args;
pub use like::Like;
pub use load::Strategy;
pub use sampling::{ExtraBody, Sampling};
pub use shard::Shard;

use crate::{session::Session, stop::Stop};

const HINT: &str = "pipe rows in (gen-dataset … | fire-requests), or name a file";

/// Fires the rows that `args` name, and writes a run: its start, a timing row a request, its end. With `--calibrate`,
/// measures the client itself instead.
pub fn run(args: &Args) -> Result<Exit> {
    if args.calibrate {
        return calibrate::run(args);
    }
    let session = Session::open(args, Input::open(args.file.as_deref(), HINT)?)?;
    let (output, stop) = (session::output(args)?, Arc::new(Stop::new()));
    let ended = session.run(output, &stop);
    if let (Ok(_), Some(signal)) = (&ended, stop.signal()) {
        stop::die_by(signal);
    }
    ended.map(|ended| ended.exit)
}
