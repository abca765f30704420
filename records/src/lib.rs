//! The wire format that joins the tools: one JSON object a line, one kind of record at each joint.
//!
//! | record | written by | read by |
//! |---|---|---|
//! | [`Prompt`] | `gen-dataset`, or anything that writes rows with `prompt` or `messages` | `fire-requests` |
//! | [`RunStart`], [`Timing`], [`RunEnd`] | `fire-requests` | `summarize`, `compare` |
//! | [`Summary`] | `summarize --format json` | `compare` |
//! | [`Comparison`] | `compare --format json` | people, jq, CI |
//!
//! Every object starts with `kind` and `v`, the version of that kind. Adding an optional field leaves `v` alone; a
//! rename, another type, another unit or another meaning raises it. Readers ignore unknown fields and refuse a `v`
//! newer than they know. A value that was not measured is `null`, never 0. Every time is a count of microseconds
//! with `_us` in its name, except in [`Summary`], whose keys and units are those of vLLM's result files.
//!
//! The crate holds no clock and does no networking. Besides the types it has what the tools share at their edges:
//! [`Input`] and [`Output`] (files, `-`, closed pipes), [`Lines`] (positions in errors) and [`Exit`] (exit codes).

mod calibration;
mod comparison;
mod error;
mod events;
mod exit;
mod input;
mod lines;
mod micros;
mod output;
mod prompt;
mod rate;
mod record;
mod run;
pub mod schema;
mod summary;
mod timing;

pub use calibration::Calibration;
pub use comparison::{Better, Comparison, Direction};
pub use error::{Error, Result};
pub use events::{EventKind, Events};
pub use exit::{Exit, finish};
pub use input::Input;
pub use lines::{Line, Lines};
pub use micros::Micros;
pub use output::Output;
pub use prompt::Prompt;
pub use rate::Rate;
pub use record::{AnyRecord, Kind, Record};
pub use run::{Client, ClientVerdict, Labels, RunEnd, RunStart, StoppedBy};
pub use summary::Summary;
pub use timing::{Outcome, Phase, Timing, TokensFrom};
