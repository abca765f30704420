//! Lines read ahead on a thread of their own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, sync_channel},
    },
    thread,
};

use rand::seq::SliceRandom;
use records::{Lines, Result};

use crate::{
    generator::{self, Purpose},
    row,
};

/// Most lines read ahead.
const AHEAD: usize = 256;

/// A line that is not blank, with its place.
pub(crate) struct Numbered {
    /// Its number in the file, from 1.
    pub(crate) line: u64,
    /// Its number among the rows, from 0.
    pub(crate) index: u64,
    /// Without its end.
    pub(crate) text: String,
}

/// Hands over lines as they come: those of a slow input one by one, those of a fast one many at once.
///
/// Records of other kinds than these tools' are passed over, as `fire-requests` does, and have no number.
pub(crate) struct Feed {
    lines: Receiver<Result<Numbered>>,
    passed_over: Arc<AtomicU64>,
}

impl Feed {
    /// Reads `lines` in their order or, given a seed, to their end and in random order.
    pub(crate) fn new(lines: Lines, shuffle: Option<u64>) -> Self {
        let (sender, receiver) = sync_channel(AHEAD);
        let passed_over = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&passed_over);
        thread::spawn(move || {
            let lines: Box<dyn Iterator<Item = Result<Numbered>>> = match shuffle {
                Some(seed) => Box::new(shuffled(lines, &counter, seed).into_iter()),
                None => Box::new(numbered(lines, &counter)),
            };
            for line in lines {
                let last = line.is_err();
                // Sending fails once nobody wants more rows.
                if sender.send(line).is_err() || last {
                    break;
                }
            }
        });
        Self { lines: receiver, passed_over }
    }

    /// At most `most` lines: those at hand, or the next one if none is; none at the end.
    pub(crate) fn some(&self, most: usize) -> Vec<Result<Numbered>> {
        self.lines.recv().into_iter().chain(self.lines.try_iter()).take(most.min(AHEAD)).collect()
    }

    /// What to say if records were passed over; complete once the lines are at their end.
    pub(crate) fn remark(&self) -> Option<String> {
        passed_over(self.passed_over.load(Ordering::Relaxed))
    }
}

/// What to say of records of other kinds.
pub(crate) fn passed_over(count: u64) -> Option<String> {
    (count > 0).then(|| format!("{count} records of other kinds passed over"))
}

/// All lines, or the error that kept one from being read.
fn shuffled(lines: Lines, passed_over: &AtomicU64, seed: u64) -> Vec<Result<Numbered>> {
    match numbered(lines, passed_over).collect::<Result<Vec<_>>>() {
        Ok(mut lines) => {
            lines.shuffle(&mut generator::of(seed, Purpose::Order));
            lines.into_iter().map(Ok).collect()
        }
        Err(error) => vec![Err(error)],
    }
}

fn numbered(mut lines: Lines, passed_over: &AtomicU64) -> impl Iterator<Item = Result<Numbered>> {
    (0..).map_while(move |index| {
        loop {
            match lines.next_line() {
                Ok(Some(line)) if row::passes_by(line.text) => passed_over.fetch_add(1, Ordering::Relaxed),
                Ok(line) => {
                    return line
                        .map(|line| Ok(Numbered { line: line.number, index, text: line.text.to_owned() }));
                }
                Err(error) => return Some(Err(error)),
            };
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &'static str, shuffle: Option<u64>) -> Vec<(u64, u64, String)> {
        let feed = Feed::new(Lines::new("f", Box::new(text.as_bytes())), shuffle);
        let mut all = Vec::new();
        loop {
            let some = feed.some(2);
            if some.is_empty() {
                return all;
            }
            assert!(some.len() <= 2);
            all.extend(some.into_iter().map(|line| line.map(|l| (l.line, l.index, l.text)).unwrap()));
        }
    }

    #[test]
    fn lines_keep_their_places() {
        let text = "a\n\nb\n{\"kind\":\"gpu\"}\nc";
        let expected = [(1, 0, "a"), (3, 1, "b"), (5, 2, "c")];
        let expected = expected.map(|(line, index, text)| (line, index, text.to_owned()));
        assert_eq!(all(text, None), expected);
        let mut shuffled = all(text, Some(1));
        shuffled.sort();
        assert_eq!(shuffled, expected);
    }

    #[test]
    fn an_unreadable_line_ends_it() {
        for shuffle in [None, Some(0)] {
            let feed = Feed::new(Lines::new("f", Box::new(&b"\xff\nb\n"[..])), shuffle);
            let some = feed.some(10);
            assert_eq!(some.len(), 1);
            assert!(some[0].as_ref().err().unwrap().to_string().starts_with("f:1: not UTF-8"));
            assert!(feed.some(10).is_empty());
        }
    }
}
