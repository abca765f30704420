//! The brackets of a run: what was asked before it, what became of it after.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Micros, Rate, Record};

/// `--label KEY=VALUE` pairs: what the person at the keyboard knows and the client cannot (engine, GPU, flags).
pub type Labels = BTreeMap<String, String>;

/// First line of a run: everything that a fair comparison must find equal, and the one wall-clock time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunStart {
    /// Names the run; each of its timing rows carries it.
    pub run: String,
    /// Wall-clock instant of µs 0 of the run's clock, RFC 3339 in UTC.
    pub started_at: String,
    /// Name and version of the writer.
    #[serde(default)]
    pub tool: String,
    /// As given, without a key or a password.
    #[serde(default)]
    pub base_url: String,
    /// All servers, where there are several: requests go to them in turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_urls: Vec<String>,
    /// The client whose requests and arrival times these are (`vllm-0.33`); null: the tool's own.
    #[serde(default)]
    pub like: Option<String>,
    /// Which API is spoken: `openai`, `openai-chat`, `anthropic` …
    #[serde(default)]
    pub backend: String,
    /// Path of the endpoint.
    #[serde(default)]
    pub endpoint: String,
    /// The model asked for.
    #[serde(default)]
    pub model: String,
    /// What stands before a row's id in the `x-request-id` of its request; null: none is sent.
    #[serde(default)]
    pub request_id_prefix: Option<String>,
    /// Requests per second of the arrival process; infinite with a ramp.
    #[serde(default)]
    pub request_rate: Option<Rate>,
    /// Shape of the gamma-distributed gaps: 1 is a Poisson process, `"inf"` evenly spaced.
    #[serde(default)]
    pub burstiness: Option<Rate>,
    /// How the rate rises from the first request to the last: `linear`, `exponential`; null: it does not.
    #[serde(default)]
    pub ramp_up_strategy: Option<String>,
    /// Requests per second at the first request of a ramp.
    #[serde(default)]
    pub ramp_up_start_rps: Option<Rate>,
    /// Requests per second at the last request of a ramp.
    #[serde(default)]
    pub ramp_up_end_rps: Option<Rate>,
    /// Most requests in flight at once; null: no limit.
    #[serde(default)]
    pub max_concurrency: Option<u64>,
    /// Seed of the arrival process.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Whether the server was told to generate past the end-of-sequence token.
    #[serde(default)]
    pub ignore_eos: bool,
    /// The rate over time: pieces `SECONDS RATE`, `SECONDS FROM TO` or `SECONDS sine MEAN AMPLITUDE PERIOD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// What the rows' `at_us` were multiplied by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_scale: Option<f64>,
    /// The part of the rows that was sent, `I/N`: others were sent by other machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Seconds between an answer and the next turn of its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time: Option<f64>,
    /// The first so many rows are warm-ups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_requests: Option<u64>,
    /// What was scheduled within the first so many seconds is a warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_duration: Option<f64>,
    /// Seconds after which nothing more was sent; null: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// Rows left out because a run before had their answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<u64>,
    /// Warm-up requests sent before the run's clock started.
    #[serde(default)]
    pub num_warmups: u64,
    /// Sampling parameters, `--no-stream` and `--extra-body`, as laid over each request.
    #[serde(default)]
    pub body: Map<String, Value>,
    /// `--label` pairs.
    #[serde(default)]
    pub labels: Labels,
}

impl Record for RunStart {
    const KIND: &'static str = "run_start";
    const VERSION: u32 = 1;
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// Every row of the input was sent and answered.
    InputEnd,
    /// SIGINT or SIGTERM.
    Signal,
    /// A row of the input, or reading it, was at fault.
    BadInput,
    /// `--duration` was over.
    Duration,
    /// `--schedule` was over.
    ScheduleEnd,
    /// So many requests failed as `--max-failures` allows.
    MaxFailures,
}

/// Last line of a run. A file without it was cut off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// As in [`RunStart::run`].
    pub run: String,
    /// From the run's start until the last request was done: vLLM's `duration`.
    pub elapsed_us: Micros,
    /// Requests begun, warm-ups left out; `ok + failed`.
    pub sent: u64,
    /// Requests with outcome `ok`.
    pub ok: u64,
    /// Requests with any other outcome.
    pub failed: u64,
    /// Rows read but never begun.
    pub unsent: u64,
    /// Why it ended.
    pub stopped_by: StoppedBy,
    /// SHA-256 over the rows in input order (id, prompt or messages, `max_tokens`): equal for equal work.
    #[serde(default)]
    pub dataset_sha256: Option<String>,
    /// How well the client itself kept up.
    #[serde(default)]
    pub client: Option<Client>,
}

impl Record for RunEnd {
    const KIND: &'static str = "run_end";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        if self.elapsed_us < Micros::ZERO {
            return Err(format!("`elapsed_us` is {}; a duration cannot be negative", self.elapsed_us));
        }
        Ok(())
    }
}

/// The client's own part in the figures.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// How late requests were written, against their schedule and not counting time spent waiting for
    /// `--max-concurrency` or for their connection (`connect_us`): median.
    pub send_lag_p50_us: Option<Micros>,
    /// The same, 99th percentile.
    pub send_lag_p99_us: Option<Micros>,
    /// The same, worst.
    pub send_lag_max_us: Option<Micros>,
    /// How late bytes were read after they had come, median: by the system's stamp of their arrival where it gives one,
    /// and by a probe of each thread's event loop. Stamped arrivals do not make events late; elsewhere, and where
    /// several events were read at once, this is what the client may have added.
    #[serde(default)]
    pub read_lag_p50_us: Option<Micros>,
    /// The same, 99th percentile.
    pub read_lag_p99_us: Option<Micros>,
    /// The same, worst.
    pub read_lag_max_us: Option<Micros>,
    /// CPU time used over elapsed time, in percent of one core.
    pub cpu_pct: Option<f64>,
    /// Threads that sent and received.
    #[serde(default)]
    pub threads: Option<u64>,
    /// CPU time of the busiest of them over elapsed time, in percent.
    #[serde(default)]
    pub thread_cpu_pct: Option<f64>,
    /// Time that one of them could have run and no CPU was free, the worst, over elapsed time, in percent; 0 where the
    /// system does not say.
    #[serde(default)]
    pub thread_wait_pct: Option<f64>,
    /// Most requests in flight at once.
    pub peak_in_flight: u64,
    /// TCP connections opened.
    pub connections: u64,
    /// Whether the figures are the server's or the client's.
    pub verdict: ClientVerdict,
    /// Why, when the verdict is not `ok`.
    pub reason: Option<String>,
}

/// Whether the client kept up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientVerdict {
    /// The client's own error is small beside what it measured.
    #[default]
    Ok,
    /// The client was the bottleneck: the figures say more about it than about the server.
    ClientBound,
}
