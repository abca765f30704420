//! Reading and writing any kind of record.

use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Comparison, Prompt, RunEnd, RunStart, Summary, Timing};

/// A type with a place on the wire.
pub trait Record: Serialize + DeserializeOwned {
    /// The value of `kind`.
    const KIND: &'static str;
    /// The newest `v` this crate writes and reads.
    const VERSION: u32;

    /// What serde cannot see: fields that contradict each other.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// The record as one line without its newline, `kind` and `v` first.
    fn to_line(&self) -> String {
        let body = serde_json::to_string(self).expect("records hold only strings, numbers and lists");
        format!(r#"{{"kind":"{}","v":{},{}"#, Self::KIND, Self::VERSION, &body[1..])
    }

    /// Reads one line, whatever its `kind` says.
    fn from_line(line: &str) -> Result<Self, String> {
        let record: Self = serde_json::from_str(line).map_err(|error| explain(&error))?;
        record.check().map(|()| record)
    }
}

/// The `kind` of a line and its version, read before the rest.
#[derive(Debug, Deserialize)]
pub struct Kind<'a> {
    /// Absent on rows that no tool of ours wrote.
    #[serde(borrow, default)]
    pub kind: Option<std::borrow::Cow<'a, str>>,
    /// Taken as 1 where absent.
    #[serde(default)]
    pub v: Option<u32>,
}

impl<'a> Kind<'a> {
    /// Looks at the head of a line; fails if it is not one JSON object.
    pub fn of(line: &'a str) -> Result<Self, String> {
        if !line.trim_start().starts_with('{') {
            return Err("not a JSON object; each line must hold one".to_owned());
        }
        serde_json::from_str(line).map_err(|error| explain(&error))
    }

    /// The kind's name, `""` where there is none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.kind.as_deref().unwrap_or_default()
    }

    /// Refuses a version newer than `T` knows.
    pub fn check_version<T: Record>(&self) -> Result<(), String> {
        match self.v {
            Some(v) if v > T::VERSION => Err(format!(
                "`v` is {v}, but this tool knows {} records up to version {}; use a newer release of it",
                T::KIND,
                T::VERSION
            )),
            _ => Ok(()),
        }
    }
}

/// A record of whatever kind the line says it is.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyRecord {
    /// `prompt`
    Prompt(Box<Prompt>),
    /// `run_start`
    RunStart(Box<RunStart>),
    /// `timing`
    Timing(Box<Timing>),
    /// `run_end`
    RunEnd(Box<RunEnd>),
    /// `summary`
    Summary(Box<Summary>),
    /// `comparison`
    Comparison(Box<Comparison>),
    /// A kind that this crate does not know: a side-car such as GPU samples. Tools pass it over.
    Other(String),
}

impl AnyRecord {
    /// Whether `kind` is one of this crate's.
    #[must_use]
    pub fn knows(kind: &str) -> bool {
        let kinds =
            [Prompt::KIND, RunStart::KIND, Timing::KIND, RunEnd::KIND, Summary::KIND, Comparison::KIND];
        kinds.contains(&kind)
    }

    /// Reads one line.
    pub fn from_line(line: &str) -> Result<Self, String> {
        let kind = Kind::of(line)?;
        match kind.name() {
            Prompt::KIND => read(&kind, line).map(Self::Prompt),
            RunStart::KIND => read(&kind, line).map(Self::RunStart),
            Timing::KIND => read(&kind, line).map(Self::Timing),
            RunEnd::KIND => read(&kind, line).map(Self::RunEnd),
            Summary::KIND => read(&kind, line).map(Self::Summary),
            Comparison::KIND => read(&kind, line).map(Self::Comparison),
            "" => Err("no field `kind`; this is not a record of these tools".to_owned()),
            other => Ok(Self::Other(other.to_owned())),
        }
    }
}

impl fmt::Display for AnyRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prompt(_) => Prompt::KIND,
            Self::RunStart(_) => RunStart::KIND,
            Self::Timing(_) => Timing::KIND,
            Self::RunEnd(_) => RunEnd::KIND,
            Self::Summary(_) => Summary::KIND,
            Self::Comparison(_) => Comparison::KIND,
            Self::Other(kind) => kind,
        })
    }
}

fn read<T: Record>(kind: &Kind<'_>, line: &str) -> Result<Box<T>, String> {
    kind.check_version::<T>()?;
    T::from_line(line).map(Box::new)
}

/// serde's message, with the column alone (the line is ours to state) and the remedy for run-together objects.
fn explain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    let column = error.column();
    if message == "trailing characters" {
        return format!(
            "more follows the first JSON value at column {column}; put each object on a line of its own"
        );
    }
    if error.is_data() {
        format!("{message} (column {column})")
    } else {
        format!("not JSON: {message} (column {column})")
    }
}
