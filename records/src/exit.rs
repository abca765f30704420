//! Exit codes: one table for all the tools.

use std::process::ExitCode;

use crate::{Error, Result};

/// How a tool ends when nothing went wrong with the tool itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, exit 0.
    Done,
    /// Done, and the answer is no (a regression, no request succeeded, a run that was cut off): exit 1.
    No,
}

/// Turns the result of a tool's `run` into its exit code: 0 done, 1 the answer is no, 2 it could not work.
///
/// Prints `tool: message` on stderr for every error but a closed pipe, which is success.
#[must_use]
pub fn finish(tool: &str, result: Result<Exit>) -> ExitCode {
    match result {
        Ok(Exit::Done) | Err(Error::ClosedPipe) => ExitCode::SUCCESS,
        Ok(Exit::No) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{tool}: {error}");
            ExitCode::from(2)
        }
    }
}
