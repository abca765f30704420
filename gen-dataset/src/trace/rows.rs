//! The rows of a trace that are to be written.

use std::collections::VecDeque;

use records::{Error, Input, Result};

use super::{
    BLOCK_SIZE,
    format::Reader,
    request::Request,
    schedule::{Place, Schedule},
};
use crate::{
    TraceArgs,
    args::MOST_TOKENS,
    feed::{Feed, Numbered},
};

/// Tokens made at once: bounds memory, and is enough work to spread over the threads.
const BATCH_TOKENS: u64 = 1 << 17;

/// A row to be written.
#[derive(Debug)]
pub(super) struct Row {
    /// Its number among the trace's rows, from 0.
    pub(super) index: u64,
    /// When it is due, µs after the first.
    pub(super) at_us: i64,
    /// What was recorded.
    pub(super) request: Request,
}

/// Reads lines as they come, and takes the rows of the window that can be sent.
pub(super) struct Rows {
    file: String,
    reader: Reader,
    feed: Feed,
    lines: VecDeque<Result<Numbered>>,
    schedule: Schedule,
    block: u64,
    failed: Option<Error>,
    ended: bool,
    read: u64,
    taken: u64,
    skipped: u64,
    lacking: u64,
}

impl Rows {
    /// Opens the file, and learns its format.
    pub(super) fn open(args: &TraceArgs) -> Result<Self> {
        let mut lines = Input::open(args.file.as_deref(), "name the file of a trace, or pipe one in")?;
        let reader = Reader::of(&mut lines, args.format)?;
        if args.block_size.is_some() && matches!(reader, Reader::Azure(_)) {
            return Err(Error::usage("--block-size: Azure's traces have no blocks; leave it out"));
        }
        Ok(Self {
            file: lines.file().to_owned(),
            reader,
            feed: Feed::new(lines, None),
            lines: VecDeque::new(),
            schedule: Schedule::new(args.start_offset, args.end_offset),
            block: args.block_size.unwrap_or(BLOCK_SIZE),
            failed: None,
            ended: false,
            read: 0,
            taken: 0,
            skipped: 0,
            lacking: 0,
        })
    }

    /// At most `want` rows: those at hand, or the next one if none is; `None` at the end.
    pub(super) fn batch(&mut self, want: u64) -> Result<Option<Vec<Row>>> {
        let threads = rayon::current_num_threads();
        let (mut batch, mut tokens) = (Vec::new(), 0);
        while (batch.len() as u64) < want && (tokens < BATCH_TOKENS || batch.len() < threads) {
            match self.next(batch.is_empty()) {
                Ok(Some(row)) => {
                    tokens += row.request.input;
                    batch.push(row);
                }
                Ok(None) => break,
                Err(error) if batch.is_empty() => return Err(error),
                // The rows before it are written first, however the lines fell into batches.
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    /// The next row that is taken; `None` at the end or, unless it may `wait`, if none is at hand.
    fn next(&mut self, wait: bool) -> Result<Option<Row>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        while !self.ended {
            if self.lines.is_empty() && wait {
                self.lines.extend(self.feed.some(usize::MAX));
            }
            let Some(line) = self.lines.pop_front() else { break };
            let line = line?;
            let row = self.row(&line).map_err(|problem| {
                let file = self.file.clone();
                Error::Line { file, line: line.line, problem }
            })?;
            if row.is_some() {
                return Ok(row);
            }
        }
        Ok(None)
    }

    /// The row of a line, unless it is left out.
    fn row(&mut self, line: &Numbered) -> std::result::Result<Option<Row>, String> {
        let request = self.reader.request(&line.text)?;
        self.read += 1;
        match self.schedule.place(request.us) {
            Place::Back => {
                let (field, command) = self.reader.time();
                return Err(format!(
                    "`{field}` lies before that of an earlier row; sort the rows by it: {command}"
                ));
            }
            Place::Before => return Ok(None),
            Place::After => {
                self.ended = true;
                return Ok(None);
            }
            Place::Within => {}
        }
        if request.input == 0 || request.output == 0 {
            self.skipped += 1;
            return Ok(None);
        }
        if let Some(most) = [request.input, request.output].into_iter().find(|length| *length > MOST_TOKENS) {
            return Err(format!("a length of {most} tokens; the most is {MOST_TOKENS}"));
        }
        self.lacking += u64::from(request.lacks_ids(self.block)?);
        self.taken += 1;
        Ok(Some(Row { index: line.index, at_us: self.schedule.due(request.us), request }))
    }

    /// What was left out or made up.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.skipped > 0 {
            remarks.push(format!("{}: skipped {} rows without input or output", self.file, self.skipped));
        }
        if self.lacking > 0 {
            remarks.push(format!(
                "{}: {} of {} rows have fewer hash_ids than blocks of {} tokens; their prompts go on with text of \
                 their own (--block-size)",
                self.file, self.lacking, self.taken, self.block
            ));
        }
        if self.taken == 0 && self.read > 0 {
            let span = self.schedule.span() as f64 / 1e6;
            remarks.push(format!(
                "{}: of the {} rows read, over {span} s, none can be taken (--start-offset, --end-offset)",
                self.file, self.read
            ));
        }
        remarks
    }
}
