//! Where a tool writes to.

use std::{
    fs::File,
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
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

    /// A file to go on with: new lines stand after those that are whole. A torn last line, which a killed writer leaves,
    /// is removed; returns whether there was one.
    pub fn append(path: &Path) -> Result<(Self, bool)> {
        let name = path.display().to_string();
        let failed = |source| Error::Io { what: name.clone(), source };
        let mut file = File::options().read(true).write(true).open(path).map_err(failed)?;
        let whole = whole_lines(&mut file).map_err(failed)?;
        let torn = whole < file.metadata().map_err(failed)?.len();
        file.set_len(whole).map_err(failed)?;
        file.seek(SeekFrom::Start(whole)).map_err(failed)?;
        Ok((Self::new(name.clone(), Box::new(file)), torn))
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

/// How many bytes of `file` are lines that a newline ends.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    const STEP: u64 = 1 << 16;
    let mut end = file.metadata()?.len();
    let mut bytes = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(STEP);
        file.seek(SeekFrom::Start(start))?;
        bytes.clear();
        file.take(end - start).read_to_end(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_appended_glues_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl");
        for (before, torn, after) in [
            ("a\nb\n", false, "a\nb\nnew\n"),
            ("a\n{\"to", true, "a\nnew\n"),
            ("{\"to", true, "new\n"),
            ("", false, "new\n"),
            (&format!("a\n{}", "x".repeat(200_000)), true, "a\nnew\n"),
        ] {
            fs::write(&path, before).unwrap();
            let (mut output, was_torn) = Output::append(&path).unwrap();
            output.line("new").unwrap();
            output.flush().unwrap();
            assert_eq!((was_torn, fs::read_to_string(&path).unwrap().as_str()), (torn, after));
        }
    }
}
