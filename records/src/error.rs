//! Why a tool stops before its work is done.

use std::io;

/// What every fallible function of the tools returns.
pub type Result<T> = std::result::Result<T, Error>;

/// A reason to stop. A request that fails is *not* one: that is data, and goes into its [`crate::Timing`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Whoever read our output has seen enough (`| head -1`). Not a failure: [`crate::finish`] exits 0 in silence.
    #[error("output closed")]
    ClosedPipe,
    /// A file or stream could not be read or written.
    #[error("{what}: {source}")]
    Io {
        /// The file's name, or `stdin`, `stdout`.
        what: String,
        /// The system's own reason.
        source: io::Error,
    },
    /// A line of input that cannot be used: where it stands, what is wrong and what to do about it.
    #[error("{file}:{line}: {problem}")]
    Line {
        /// The file's name, or `stdin`.
        file: String,
        /// Counted from 1.
        line: u64,
        /// The field at fault and the remedy.
        problem: String,
    },
    /// Arguments, a file as a whole, or a server that the work cannot begin with.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// A [`Error::Usage`] from anything printable.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// Wraps a failed write to `what`: a closed pipe becomes [`Error::ClosedPipe`].
    pub fn write(what: impl Into<String>, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::Io { what: what.into(), source }
        }
    }

    /// Wraps a failed read from `what`.
    pub fn read(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}
