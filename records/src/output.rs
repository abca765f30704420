//! Where a tool writes to.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use crate::{Error, Record, Result};

/// A buffered stream of lines. A closed pipe surfaces as [`Error::ClosedPipe`], which ends a tool quietly.
pub struct Output {
    name: String,
    writer: BufWriter<Box<dyn Write + Send>>,
}

impl Output {
    /// Standard output.
    #[must_use]
    pub fn stdout() -> Self {
        Self::new("stdout", Box::new(io::stdout()))
    }

    /// A new file. Refuses one that exists unless `overwrite`: results of an earlier run are not replaced unasked.
    pub fn create(path: &Path, overwrite: bool) -> Result<Self> {
        let name = path.display().to_string();
        if path.is_dir() {
            return Err(Error::usage(format!("{name} is a folder; name a file")));
        }
        let file = if overwrite { File::create(path) } else { File::create_new(path) };
        match file {
            Ok(file) => Ok(Self::new(name, Box::new(file))),
            Err(source) if source.kind() == io::ErrorKind::AlreadyExists => Err(Error::usage(format!(
                "{name} exists; name another file, or give --overwrite to replace it"
            ))),
            Err(source) => Err(Error::Io { what: name, source }),
        }
    }

    /// Any writer, called `name` in errors.
    #[must_use]
    pub fn new(name: impl Into<String>, writer: Box<dyn Write + Send>) -> Self {
        Self { name: name.into(), writer: BufWriter::with_capacity(1 << 16, writer) }
    }

    /// Writes one record and its newline.
    pub fn record<T: Record>(&mut self, record: &T) -> Result<()> {
        self.line(&record.to_line())
    }

    /// Writes `text` and a newline.
    pub fn line(&mut self, text: &str) -> Result<()> {
        self.text(text)?;
        self.text("\n")
    }

    /// Writes `text` as it is.
    pub fn text(&mut self, text: &str) -> Result<()> {
        self.writer.write_all(text.as_bytes()).map_err(|source| Error::write(&self.name, source))
    }

    /// Hands everything written so far to the system. To be called at the end: dropping would hide an error.
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|source| Error::write(&self.name, source))
    }
}
