//! `trace`: requests as they came in production, with their times, lengths and shared prefixes.

mod azure;
mod blocks;
mod mooncake;

use std::io::BufRead;

use rayon::prelude::*;
use records::{Error, Input, Lines, Micros, Prompt, Result};

use self::{azure::Azure, blocks::Blocks, mooncake::Mooncake};
use crate::{
    Tokens, TraceArgs, TraceFormat, distinct::Distinct, generator, sampler::Sampler, source::Source,
};

/// Tokens made at once: bounds memory, and is enough work to spread over the threads.
const BATCH_TOKENS: u64 = 1 << 18;
const NANOS: i64 = 1_000_000_000;

/// A request of a trace.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    line: u64,
    /// In ns, from an instant that is the same for the whole trace.
    at: i64,
    input: u64,
    output: u64,
    /// Names of the prompt's blocks.
    hashes: Vec<u64>,
}

/// Requests in their order.
trait Entries {
    fn next(&mut self) -> Result<Option<Entry>>;
}

/// Rows made from the requests as they are read.
pub(crate) struct Trace<'a> {
    maker: Maker<'a>,
    entries: Box<dyn Entries>,
    window: Window,
    /// Rows so far.
    count: u64,
    distinct: Distinct,
    empty: u64,
    incomplete: u64,
}

impl<'a> Trace<'a> {
    /// Opens the file.
    pub(crate) fn open(args: &TraceArgs, tokens: &'a Tokens) -> Result<Self> {
        let (file, mut reader) = Input::reader(args.file.as_deref(), "name a trace, or pipe one in")?;
        let format = match args.format {
            Some(format) => format,
            None => guess(reader.fill_buf().map_err(|source| Error::read(&file, source))?),
        };
        let reader: Box<dyn BufRead + Send> = Box::new(reader);
        let entries: Box<dyn Entries> = match format {
            TraceFormat::Mooncake => Box::new(Mooncake::new(Lines::new(&file, reader))),
            TraceFormat::Azure => Box::new(Azure::new(&file, reader)?),
        };
        let seed = args.common.seed;
        let blocks = Blocks::new(seed, args.block_size as usize);
        Ok(Self {
            maker: Maker { sampler: Sampler::new(tokens, seed, 0)?, blocks, seed, file },
            entries,
            window: Window::new(args),
            count: 0,
            distinct: Distinct::default(),
            empty: 0,
            incomplete: 0,
        })
    }

    /// The next request that makes a row, with its time in µs since the first of them.
    fn next(&mut self) -> Result<Option<(Entry, u64)>> {
        while let Some(entry) = self.entries.next()? {
            match self.window.place(&entry) {
                Place::Before => {}
                Place::After => return Ok(None),
                Place::Backwards => {
                    let problem = "its time is earlier than that of the line before; sort the file by it";
                    return Err(self.maker.wrong(entry.line, problem.to_owned()));
                }
                Place::Within if entry.input == 0 || entry.output == 0 => self.empty += 1,
                Place::Within => {
                    let at = self.window.since_first(entry.at);
                    return Ok(Some((entry, at)));
                }
            }
        }
        Ok(None)
    }
}

impl Source for Trace<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let (mut batch, mut tokens) = (Vec::new(), 0);
        while (batch.len() as u64) < want.min(1024) && tokens < BATCH_TOKENS {
            let Some((entry, at)) = self.next()? else { break };
            tokens += entry.input;
            let own = entry.input - self.maker.covered(&entry)?;
            self.incomplete += u64::from(own > 0 && !entry.hashes.is_empty());
            batch.push((self.count, entry, at));
            self.count += 1;
        }
        if batch.is_empty() {
            return Ok(None);
        }
        let maker = &self.maker;
        let made: Vec<Prompt> = batch
            .par_iter()
            .map(|(index, entry, at)| maker.row(*index, entry, *at, 0))
            .collect::<Result<_>>()?;
        let distinct = &mut self.distinct;
        let new = batch.iter().zip(made).map(|((index, entry, at), row)| {
            if !entry.hashes.is_empty() {
                return Ok(row);
            }
            distinct.or_else(row, |attempt| maker.row(*index, entry, *at, attempt))
        });
        let new = new.collect::<Result<_>>()?;
        Ok(Some(new))
    }

    fn remarks(&self) -> Vec<String> {
        let file = &self.maker.file;
        let empty = (self.empty > 0)
            .then(|| format!("{file}: skipped {} requests of no input or output", self.empty));
        let incomplete = (self.incomplete > 0).then(|| {
            format!(
                "{file}: {} prompts are longer than their `hash_ids`; the rest is their own",
                self.incomplete
            )
        });
        empty.into_iter().chain(incomplete).chain(self.distinct.remark()).collect()
    }
}

/// Makes the rows.
struct Maker<'a> {
    sampler: Sampler<'a>,
    blocks: Blocks,
    seed: u64,
    file: String,
}

impl Maker<'_> {
    /// How many tokens of the prompt the blocks make up; the rest is its own.
    fn covered(&self, entry: &Entry) -> Result<u64> {
        let size = self.blocks.size() as u64;
        let blocks = entry.hashes.len() as u64;
        if blocks > entry.input.div_ceil(size) {
            let problem = format!(
                "{blocks} `hash_ids` for an `input_length` of {}: with --block-size {size} there are {} blocks",
                entry.input,
                entry.input.div_ceil(size)
            );
            return Err(self.wrong(entry.line, problem));
        }
        Ok(entry.input.min(blocks * size))
    }

    fn row(&self, index: u64, entry: &Entry, at: u64, attempt: u64) -> Result<Prompt> {
        let mut rng = generator::of_row(self.seed, index, attempt);
        let covered = self.covered(entry)? as usize;
        let prefix = self.blocks.prefix(&self.sampler, &entry.hashes, covered)?;
        let own = entry.input as usize - covered;
        let (text, length) = self.sampler.text_after(&prefix, index + attempt, own, &mut rng)?;
        Ok(Prompt {
            prompt: Some(text),
            prompt_tokens: Some(length),
            max_tokens: Some(entry.output),
            at_us: Some(Micros::new(at as f64)),
            ..Prompt::default()
        })
    }

    fn wrong(&self, line: u64, problem: String) -> Error {
        Error::Line { file: self.file.clone(), line, problem }
    }
}

/// JSON begins with a brace, and no header of a table does.
fn guess(start: &[u8]) -> TraceFormat {
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') | None => TraceFormat::Mooncake,
        Some(_) => TraceFormat::Azure,
    }
}

/// The part of the trace that is taken.
struct Window {
    /// In ns since the trace's first request.
    start: i64,
    end: Option<i64>,
    /// Times in ns: the trace's first, the last so far, and the first that made a row.
    origin: Option<i64>,
    last: i64,
    first: Option<i64>,
}

/// Where a request lies.
#[derive(Debug, PartialEq)]
enum Place {
    Before,
    Within,
    After,
    Backwards,
}

impl Window {
    fn new(args: &TraceArgs) -> Self {
        let nanos = |seconds: u64| seconds as i64 * NANOS;
        Self {
            start: args.start_offset.map_or(0, nanos),
            end: args.end_offset.map(nanos),
            origin: None,
            last: i64::MIN,
            first: None,
        }
    }

    fn place(&mut self, entry: &Entry) -> Place {
        if entry.at < self.last {
            return Place::Backwards;
        }
        self.last = entry.at;
        let since = entry.at - *self.origin.get_or_insert(entry.at);
        match since {
            _ if since < self.start => Place::Before,
            _ if self.end.is_some_and(|end| since >= end) => Place::After,
            _ => Place::Within,
        }
    }

    /// In µs, rounded.
    fn since_first(&mut self, at: i64) -> u64 {
        let since = at - *self.first.get_or_insert(at);
        ((since + 500) / 1000) as u64
    }
}
