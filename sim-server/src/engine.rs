//! Models of an inference engine: pure, without a clock or any I/O.
//!
//! Time is a [`Duration`] since an epoch of the caller's choice. The caller submits sequences, asks with
//! [`Engine::due`] when the next tokens are to come, waits, and collects them with [`Engine::emit`].

mod batching;
mod fixed;
mod kv_cache;

use std::time::Duration;

pub use batching::{Batching, BatchingConfig};
pub use fixed::Fixed;
pub use kv_cache::BLOCK_TOKENS;

/// What to generate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// Names it in [`Token`] and [`Engine::cancel`].
    pub id: u64,
    /// Length of the prompt; at least 1.
    pub prompt_tokens: u32,
    /// One hash for each full block of [`BLOCK_TOKENS`] prompt tokens, which stands for the prompt up to there.
    pub blocks: Vec<u64>,
    /// How many tokens to generate; at least 1.
    pub output_tokens: u32,
}

/// One generated token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// The sequence it belongs to.
    pub id: u64,
    /// When the model says it is ready.
    pub due: Duration,
    /// Counted from 0.
    pub index: u32,
    /// Prompt tokens of its sequence that came from the prefix cache.
    pub cached_tokens: u32,
    /// Whether it ends the sequence.
    pub last: bool,
}

/// The engine's gauges and counters.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Load {
    /// Sequences in the batch.
    pub running: usize,
    /// Sequences that wait for a place in it.
    pub waiting: usize,
    /// Share of the KV cache that running sequences hold, 0 to 1.
    pub kv_usage: f64,
    /// Prompt tokens of all sequences that have produced their first token.
    pub prompt_tokens: u64,
    /// Tokens generated.
    pub generated_tokens: u64,
    /// Prompt tokens looked up in the prefix cache.
    pub prefix_queries: u64,
    /// Prompt tokens found there.
    pub prefix_hits: u64,
    /// Times that a sequence lost its KV cache and had to be computed again.
    pub preemptions: u64,
}

/// A model of an engine.
pub trait Engine: Send {
    /// Takes a sequence in, at `now`.
    fn submit(&mut self, now: Duration, sequence: Sequence);

    /// Forgets a sequence and frees what it held. Unknown ids are those of sequences that have ended.
    fn cancel(&mut self, id: u64);

    /// When the next tokens are ready; `None` if there is nothing to do.
    fn due(&mut self) -> Option<Duration>;

    /// Takes the tokens that are ready at `now`, which is not before [`Engine::due`].
    fn emit(&mut self, now: Duration) -> Vec<Token>;

    /// Gauges and counters as they stand.
    fn load(&self) -> Load;
}
