//! Where a tool reads from.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal},
    path::Path,
};

use crate::{Error, Lines, Result};

/// Opens files and standard input the same way in every tool.
pub struct Input;

/// Large enough that reading is not what a tool spends its time on.
const BUFFER: usize = 1 << 17;

impl Input {
    /// Opens `path`; `None` and `-` are standard input.
    ///
    /// Refuses to wait on a terminal that nobody was told to type into: `hint` says what to pipe or name instead.
    pub fn open(path: Option<&Path>, hint: &str) -> Result<Lines> {
        Self::reader(path, hint).map(|(name, reader)| Lines::new(name, reader))
    }

    /// The same as a plain reader, with its name for errors: for input that is not made of lines.
    pub fn reader(path: Option<&Path>, hint: &str) -> Result<(String, Box<dyn BufRead + Send>)> {
        match path {
            Some(path) if path != Path::new("-") => {
                let name = path.display().to_string();
                let file = File::open(path).map_err(|source| Error::read(&name, source))?;
                if file.metadata().is_ok_and(|data| data.is_dir()) {
                    return Err(Error::usage(format!("{name} is a folder; name a file")));
                }
                Ok((name, Box::new(BufReader::with_capacity(BUFFER, file))))
            }
            None if io::stdin().is_terminal() => Err(Error::usage(format!("nothing to read: {hint}"))),
            _ => Ok(("stdin".to_owned(), Self::stdin())),
        }
    }

    fn stdin() -> Box<dyn BufRead + Send> {
        Box::new(BufReader::with_capacity(BUFFER, io::stdin()))
    }
}
