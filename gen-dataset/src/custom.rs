//! `custom`: prompts or messages from JSON lines.

use std::collections::HashSet;

use rayon::prelude::*;
use records::{Error, Input, Prompt, Result};

use crate::{CustomArgs, Tokens, feed::Feed, foreign::Foreign, row, source::Source};

/// Rows that are read, checked and counted as they come.
pub(crate) struct Custom<'a> {
    counter: Counter<'a>,
    file: String,
    feed: Feed,
    ids: Ids,
    failed: Option<Error>,
}

impl<'a> Custom<'a> {
    /// Opens the file.
    pub(crate) fn open(args: &CustomArgs, tokens: &'a Tokens) -> Result<Self> {
        let lines = Input::open(args.file.as_deref(), "name a file of JSON lines, or pipe them in")?;
        Ok(Self {
            counter: Counter { tokens, output_len: args.default_output() },
            file: lines.file().to_owned(),
            feed: Feed::new(lines, args.shuffle.then_some(args.common.seed)),
            ids: Ids::default(),
            failed: None,
        })
    }
}

impl Source for Custom<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let lines = self.feed.some(usize::try_from(want).unwrap_or(usize::MAX));
        if lines.is_empty() {
            return Ok(None);
        }
        let counter = self.counter;
        let rows: Vec<_> = lines
            .into_par_iter()
            .map(|line| line.map(|line| (line.line, line.index, counter.row(&line.text))))
            .collect();
        let mut good = Vec::with_capacity(rows.len());
        for row in rows {
            let checked = row.and_then(|(line, index, row)| {
                let file = self.file.clone();
                let row = row.and_then(|row| self.ids.check(row, index));
                row.map_err(|problem| Error::Line { file, line, problem })
            });
            match checked {
                Ok(row) => good.push(row),
                // The rows before it are written first, however the lines fell into batches.
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok(Some(good))
    }

    fn remarks(&self) -> Vec<String> {
        self.feed.remark().into_iter().collect()
    }
}

/// Makes rows complete.
#[derive(Clone, Copy)]
struct Counter<'a> {
    tokens: &'a Tokens,
    output_len: Option<u64>,
}

impl Counter<'_> {
    /// The row of a line, with both its token counts; or what is wrong with it.
    fn row(self, line: &str) -> std::result::Result<Prompt, String> {
        let Foreign { mut row, answer } = row::read(line)?;
        if let Some(answer) = answer {
            if answer.is_empty() {
                return Err(
                    "the answer is empty, so that no output is asked for; leave the row out".to_owned()
                );
            }
            row.max_tokens = Some(self.tokens.count(&answer).map_err(|error| error.to_string())?);
        }
        if let Some(texts) = row::texts(&row) {
            let counts = texts.into_iter().map(|text| self.tokens.count(text));
            row.prompt_tokens = Some(counts.sum::<Result<u64>>().map_err(|error| error.to_string())?);
        }
        if row.prompt_tokens == Some(0) {
            return Err("the prompt is empty; a server would refuse it".to_owned());
        }
        row.max_tokens = row.max_tokens.or(self.output_len);
        match row.max_tokens {
            Some(0) => Err("`max_tokens` is 0; ask for at least 1".to_owned()),
            Some(_) => Ok(row),
            None => {
                Err("no `max_tokens` (or `output_tokens`); add it to the row, or give --output-len"
                    .to_owned())
            }
        }
    }
}

/// Ids of the rows so far.
#[derive(Default)]
struct Ids {
    given: HashSet<String>,
    made: bool,
}

impl Ids {
    /// Numbers a row without an id; refuses an id that would not name one row alone.
    fn check(&mut self, mut row: Prompt, index: u64) -> std::result::Result<Prompt, String> {
        let mixed = if row.id.is_some() { self.made } else { !self.given.is_empty() };
        if mixed {
            return Err("some rows have an `id` and some have none; give all of them one, or none".to_owned());
        }
        if let Some(id) = &row.id {
            if !self.given.insert(id.clone()) {
                return Err(format!("`id` \"{id}\" is taken by another row; ids must differ"));
            }
        } else {
            self.made = true;
            row.id = Some(index.to_string());
        }
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ids: &[Option<&str>]) -> std::result::Result<Vec<String>, String> {
        let mut known = Ids::default();
        let rows = ids.iter().zip(0..).map(|(id, index)| {
            let row = Prompt { id: id.map(str::to_owned), ..Prompt::default() };
            known.check(row, index).map(|row| row.id.unwrap_or_default())
        });
        rows.collect()
    }

    #[test]
    fn ids_name_one_row_each() {
        assert_eq!(check(&[None, None]).unwrap(), ["0", "1"]);
        assert_eq!(check(&[Some("b"), Some("a")]).unwrap(), ["b", "a"]);
        assert!(check(&[Some("a"), Some("a")]).unwrap_err().contains("taken by another row"));
        assert!(check(&[Some("1"), None]).unwrap_err().contains("all of them one, or none"));
        assert!(check(&[None, Some("0")]).unwrap_err().contains("all of them one, or none"));
    }
}
