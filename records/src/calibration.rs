//! How far a client can be trusted on a machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Client, Micros, Record};

/// One case of `fire-requests --calibrate`: a null load against a server in the same process, which notes when it really
/// wrote. Errors are the client's times minus the server's.
///
/// A side-car: tools pass it over, so that it may stand in a file of results.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Name and version of the writer.
    #[serde(default)]
    pub tool: String,
    /// Streams at once.
    pub streams: u64,
    /// Requests in all.
    pub requests: u64,
    /// Events of each answer.
    pub events: u64,
    /// Time from one event to the next; 0: as fast as they are read.
    pub gap_us: Micros,
    /// Events read per second: with a `gap_us` of 0, the most that this client can read on this machine.
    pub events_per_second: Option<f64>,
    /// How much later than the server wrote it the first event was stamped, mean over requests; null without a gap.
    pub ttft_error_mean_us: Option<Micros>,
    /// The same, 99th percentile.
    pub ttft_error_p99_us: Option<Micros>,
    /// The same, worst.
    pub ttft_error_max_us: Option<Micros>,
    /// By how much the gap between two events differed from that between their writing, mean of the absolute value.
    pub gap_error_mean_us: Option<Micros>,
    /// The same, 99th percentile.
    pub gap_error_p99_us: Option<Micros>,
    /// How the client fared.
    pub client: Option<Client>,
}

impl Record for Calibration {
    const KIND: &'static str = "calibration";
    const VERSION: u32 = 1;
}
