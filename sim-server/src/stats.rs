//! What the server knows about itself: counters, the engine's load, and its own lateness.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::engine::Load;

/// Shared by the driver, the connections and the endpoints that report it.
pub struct Stats {
    /// Connections accepted.
    pub connections: AtomicU64,
    /// Generations begun.
    pub requests: AtomicU64,
    /// Generations in progress.
    pub in_flight: AtomicU64,
    /// Most of them at once.
    pub peak_in_flight: AtomicU64,
    /// Generations that ended at the length asked for.
    pub finished_length: AtomicU64,
    /// Generations that ended by themselves.
    pub finished_stop: AtomicU64,
    /// Generations whose client went away.
    pub aborted: AtomicU64,
    /// How late the driver took up each step's tokens.
    pub step_late: Lateness,
    /// How late each token was handed to its connection for writing.
    pub token_late: Lateness,
    load: Mutex<Load>,
}

impl Stats {
    /// All zero.
    #[must_use]
    pub fn new() -> Self {
        Self {
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            peak_in_flight: AtomicU64::new(0),
            finished_length: AtomicU64::new(0),
            finished_stop: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            step_late: Lateness::new(),
            token_late: Lateness::new(),
            load: Mutex::default(),
        }
    }

    /// Counts a generation in.
    pub fn begin(&self) {
        self.requests.fetch_add(1, Relaxed);
        let now = self.in_flight.fetch_add(1, Relaxed) + 1;
        self.peak_in_flight.fetch_max(now, Relaxed);
    }

    /// The engine's load, as of its last change.
    pub fn load(&self) -> Load {
        *lock(&self.load)
    }

    /// Replaces the engine's load.
    pub fn set_load(&self, load: Load) {
        *lock(&self.load) = load;
    }

    /// `/stats`.
    #[must_use]
    pub fn json(&self) -> Value {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        let (step, token) = (lock(&self.step_late.0), lock(&self.token_late.0));
        json!({
            "connections": get(&self.connections),
            "requests": get(&self.requests),
            "in_flight": get(&self.in_flight),
            "peak_in_flight": get(&self.peak_in_flight),
            "finished_length": get(&self.finished_length),
            "finished_stop": get(&self.finished_stop),
            "aborted": get(&self.aborted),
            "steps": step.len(),
            "step_late_p50_us": step.value_at_quantile(0.5),
            "step_late_p99_us": step.value_at_quantile(0.99),
            "step_late_max_us": step.max(),
            "tokens": token.len(),
            "token_late_p50_us": token.value_at_quantile(0.5),
            "token_late_p99_us": token.value_at_quantile(0.99),
            "token_late_max_us": token.max(),
        })
    }

    /// `/metrics`: Prometheus text under vLLM's names.
    #[must_use]
    pub fn prometheus(&self, model: &str) -> String {
        let load = self.load();
        let labels = format!("engine=\"0\",model_name={}", Value::from(model));
        let engine = [
            ("num_requests_running", "gauge", load.running as f64),
            ("num_requests_waiting", "gauge", load.waiting as f64),
            ("kv_cache_usage_perc", "gauge", load.kv_usage),
            ("prompt_tokens_total", "counter", load.prompt_tokens as f64),
            ("generation_tokens_total", "counter", load.generated_tokens as f64),
            ("prefix_cache_queries_total", "counter", load.prefix_queries as f64),
            ("prefix_cache_hits_total", "counter", load.prefix_hits as f64),
            ("num_preemptions_total", "counter", load.preemptions as f64),
        ]
        .map(|(name, kind, value)| format!("# TYPE vllm:{name} {kind}\nvllm:{name}{{{labels}}} {value}\n"));
        let requests =
            [("stop", &self.finished_stop), ("length", &self.finished_length), ("abort", &self.aborted)].map(
                |(reason, counter)| {
                    let value = counter.load(Relaxed);
                    format!("vllm:request_success_total{{{labels},finished_reason=\"{reason}\"}} {value}\n")
                },
            );
        engine.concat() + "# TYPE vllm:request_success_total counter\n" + &requests.concat()
    }
}

impl Default for Stats {
    fn default() -> Self {
        Self::new()
    }
}

/// A distribution of delays, in microseconds to three digits.
pub struct Lateness(Mutex<Histogram<u64>>);

impl Lateness {
    fn new() -> Self {
        const MINUTE_US: u64 = 60_000_000;
        Self(Mutex::new(Histogram::new_with_bounds(1, MINUTE_US, 3).expect("constant bounds are valid")))
    }

    /// Adds one; a minute stands for anything longer.
    pub fn add(&self, late: Duration) {
        lock(&self.0).saturating_record(late.as_micros() as u64);
    }
}

/// Each value behind these locks is valid after every statement, so a panic elsewhere spoils nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
