//! Runs the tool.

use std::{
    fs::{self, File},
    io::{Seek, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use records::{Prompt, Record};
use tempfile::TempDir;

/// No run of these tests comes near it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder of its own for each test, which is the tool's home and working directory.
pub(crate) struct Tool {
    pub(crate) folder: TempDir,
    vars: Vec<(String, String)>,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Tool {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), vars: Vec::new() }
    }

    /// Sets a variable of the runs to come.
    pub(crate) fn var(&mut self, name: &str, value: impl Into<String>) {
        self.vars.push((name.to_owned(), value.into()));
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The command with words split at blanks, in an environment that holds nothing but what the test set.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gen-dataset"));
        command.args(words.split_whitespace()).env_clear().env("HOME", self.folder.path());
        command.envs(self.vars.iter().cloned()).current_dir(&self.folder);
        command
    }

    pub(crate) fn run(&self, words: &str) -> Ended {
        self.run_with(words, "")
    }

    pub(crate) fn run_with(&self, words: &str, stdin: &str) -> Ended {
        let mut input = tempfile::tempfile().unwrap();
        input.write_all(stdin.as_bytes()).unwrap();
        input.rewind().unwrap();
        let (out, err) = (self.folder.path().join(".out"), self.folder.path().join(".err"));
        let mut command = self.command(words);
        command.stdin(input).stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let code = wait(&mut command.spawn().unwrap());
        Ended { code, out: read(&out), err: read(&err) }
    }

    /// The rows of a run that has to succeed.
    pub(crate) fn rows(&self, words: &str) -> Vec<Prompt> {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(0), "{words}: {}", ended.err);
        ended.rows()
    }

    /// Starts it with all three streams piped.
    pub(crate) fn start(&self, words: &str) -> Child {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

impl Ended {
    /// Each line of stdout, which must be one prompt record.
    pub(crate) fn rows(&self) -> Vec<Prompt> {
        assert!(self.out.is_empty() || self.out.ends_with('\n'), "no newline at the end");
        let lines = self.out.split_terminator('\n');
        lines
            .map(|line| {
                assert!(line.starts_with(r#"{"kind":"prompt","v":1,"id":""#), "{line}");
                Prompt::from_line(line).unwrap()
            })
            .collect()
    }

    /// Asserts a refusal: exit 2, nothing on stdout, and a message that holds `part`.
    pub(crate) fn refused(&self, part: &str) {
        assert_eq!(self.code, Some(2), "{}", self.err);
        assert_eq!(self.out, "");
        assert!(self.err.contains(part), "{:?} is not in {:?}", part, self.err);
    }
}

/// The exit code; kills a tool that does not end.
pub(crate) fn wait(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the tool did not end within {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn read(path: &Path) -> String {
    String::from_utf8(fs::read(path).unwrap()).unwrap()
}
