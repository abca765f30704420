//! `[LABEL=]FILE`: an input and what to call it.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use records::{Error, Input, Lines, Result};

/// An input as named on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    label: Option<String>,
    path: PathBuf,
}

impl FromStr for Source {
    type Err = String;

    /// A `=` after a `/` belongs to the path, so that `./a=b.json` names a file.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (label, path) = match text.split_once('=') {
            Some((label, path)) if !label.contains('/') => (Some(label.to_owned()), path),
            _ => (None, text),
        };
        if label.as_deref() == Some("") {
            return Err("the label before '=' is empty; write LABEL=FILE".to_owned());
        }
        if path.is_empty() {
            return Err("no file is named; write LABEL=FILE, or - for standard input".to_owned());
        }
        Ok(Self { label, path: path.into() })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_stdin() { f.write_str("stdin") } else { write!(f, "{}", self.path.display()) }
    }
}

impl Source {
    /// Opens the file or standard input.
    pub(crate) fn open(&self) -> Result<Lines> {
        Input::open(Some(&self.path), "name a file")
    }

    fn is_stdin(&self) -> bool {
        self.path == Path::new("-")
    }

    fn default_label(&self) -> String {
        let stem = self.path.file_stem().filter(|_| !self.is_stdin());
        stem.map_or_else(|| self.to_string(), |stem| stem.to_string_lossy().into_owned())
    }
}

/// One label for each source, all different. Files of one name in different folders are called by their paths.
pub(crate) fn labels(sources: &[Source]) -> Result<Vec<String>> {
    if sources.iter().filter(|source| source.is_stdin()).count() > 1 {
        return Err(Error::usage(
            "standard input (-) can be read only once; name a file for the other inputs",
        ));
    }
    let short: Vec<_> =
        sources.iter().map(|source| source.label.clone().unwrap_or_else(|| source.default_label())).collect();
    let shared = |label: &String| short.iter().filter(|other| *other == label).count() > 1;
    let labels: Vec<_> = sources
        .iter()
        .zip(&short)
        .map(
            |(source, label)| {
                if source.label.is_none() && shared(label) { source.to_string() } else { label.clone() }
            },
        )
        .collect();
    match labels.iter().enumerate().find(|(index, label)| labels[..*index].contains(label)) {
        Some((_, label)) => Err(Error::usage(format!(
            "two inputs are called '{label}'; tell them apart with LABEL=FILE, such as new={}",
            sources.last().map(Source::to_string).unwrap_or_default()
        ))),
        None => Ok(labels),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Result<Vec<String>> {
        labels(&texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn labels_default_to_the_stem() {
        for (inputs, expected) in [
            (["runs/base.json", "new=b.json"], ["base", "new"]),
            (["-", "./a=b.json"], ["stdin", "a=b"]),
            (["a/run.json", "b/run.json"], ["a/run.json", "b/run.json"]),
            (["run=a.json", "b/run.json"], ["run", "b/run.json"]),
            (["one=a.json", "two=a.json"], ["one", "two"]),
        ] {
            assert_eq!(of(&inputs).unwrap(), expected);
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        for inputs in [["a.json", "a.json"], ["x=a.json", "x=b.json"], ["-", "new=-"]] {
            assert!(of(&inputs).is_err(), "{inputs:?}");
        }
        for text in ["=a.json", "new=", ""] {
            assert!(text.parse::<Source>().is_err(), "{text}");
        }
    }
}
