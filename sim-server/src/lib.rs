//! An OpenAI-compatible server in front of a simulated inference engine.
//!
//! # The model
//!
//! The engine works in steps. A step that holds `s` sequences and `p` prompt tokens takes
//!
//! ```text
//! step_base + s * step_per_seq + p * prefill_per_token
//! ```
//!
//! and gives each sequence whose prompt is computed one token. What goes into a step is scheduled as in vLLM's V1
//! engine: running sequences first, then the queue in order, within `max_num_seqs` sequences,
//! `max_num_batched_tokens` tokens and the KV cache. [`engine::Batching`] says how preemption, chunked prefill and
//! prefix caching work; [`engine::Fixed`] is a constant pace to check clients by. Nothing in either is random: the
//! same arrivals give the same schedule. The seed chooses words, and answer lengths where the request leaves them
//! open.
//!
//! # The parts
//!
//! ```text
//!  connection ──Sequence──▶ driver (a thread: clock + engine) ──tokens of a step──▶ dispatcher ──▶ connections
//! ```
//!
//! [`engine`] is pure. [`driver`] holds it to an absolute schedule: a step begins where the one before it ended, not
//! when the thread woke. All HTTP runs on one further thread. [`stats`] keeps how late steps and tokens were, which
//! is the error bar of anything measured against this server. The tokens of a step are written one after another,
//! some 10 µs each: in a batch of 1000 the last one leaves 10 ms after the first.

pub mod answer;
mod args;
pub mod driver;
pub mod engine;
mod input;
pub mod preset;
pub mod prompt;
pub mod refusal;
pub mod request;
mod server;
mod sse;
pub mod stats;
mod system;
mod words;

pub use args::{Args, EngineArgs};

use records::{Error, Exit, Output, Result};

use crate::{preset::EngineConfig, server::Server};

/// Serves until SIGINT or SIGTERM.
pub fn run(args: &Args) -> Result<Exit> {
    if args.list_presets {
        preset::list(&mut Output::stdout())?;
        return Ok(Exit::Done);
    }
    let engine = EngineConfig::new(args.preset, &args.engine, args.max_model_len)?;
    system::raise_open_files();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::read("event loop", source))?;
    runtime.block_on(async {
        let stop = system::stop_signal()?;
        let listener = server::listen(&args.host, args.port)?;
        let server = Server::start(args, engine.build())?;
        announce(&format!("http://{}", server::address(&listener)?), args)?;
        tokio::select! {
            never = server.serve(listener) => never,
            () = stop => Ok(Exit::Done),
        }
    })
}

fn announce(url: &str, args: &Args) -> Result<()> {
    eprintln!("sim-server: listening on {url} (preset {}, model {})", args.preset.name(), args.model);
    let mut output = Output::stdout();
    output.line(url)?;
    output.flush()
}
