//! `burstgpt`: lengths and times of recorded requests, with random texts.

use std::io::BufRead;

use csv::{Reader, StringRecord};
use rand::seq::SliceRandom;
use rayon::prelude::*;
use records::{Error, Input, Micros, Prompt, Result};

use crate::{
    BurstGptArgs, Tokens, decimal,
    distinct::Distinct,
    generator::{self, Purpose},
    sampler::Sampler,
    source::Source,
};

/// Tokens made at once: bounds memory, and is enough work to spread over the threads.
const BATCH_TOKENS: u64 = 1 << 17;

/// Rows of recorded lengths, in their order.
pub(crate) struct BurstGpt<'a> {
    sampler: Sampler<'a>,
    seed: u64,
    file: String,
    skipped: u64,
    requests: std::iter::Peekable<std::vec::IntoIter<(u64, Request)>>,
    distinct: Distinct,
}

/// What is taken of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Request {
    input: u64,
    output: u64,
    /// µs since the first request that is taken.
    at: Option<u64>,
}

impl<'a> BurstGpt<'a> {
    /// Reads the file: with --arrivals as far as it is needed, else the whole of it.
    pub(crate) fn open(args: &BurstGptArgs, tokens: &'a Tokens) -> Result<Self> {
        let (file, reader) = Input::reader(args.file.as_deref(), "name a BurstGPT file, or pipe one in")?;
        let mut table = Table::new(&file, reader, args)?;
        let mut requests = Vec::new();
        while let Some(request) = table.next()? {
            requests.push(request);
            if args.arrivals && requests.len() as u64 == args.num_prompts {
                break;
            }
        }
        if !args.arrivals {
            requests.shuffle(&mut generator::of(args.common.seed, Purpose::Order));
        }
        let numbered: Vec<(u64, Request)> = (0..).zip(requests).collect();
        Ok(Self {
            sampler: Sampler::new(tokens, args.common.seed, 0)?,
            seed: args.common.seed,
            skipped: table.skipped,
            file,
            requests: numbered.into_iter().peekable(),
            distinct: Distinct::default(),
        })
    }

    fn row(&self, index: u64, request: Request, attempt: u64) -> Result<Prompt> {
        let mut rng = generator::of_row(self.seed, index, attempt);
        let (text, length) = self.sampler.text(index + attempt, request.input as usize, &mut rng)?;
        Ok(Prompt {
            prompt: Some(text),
            prompt_tokens: Some(length),
            max_tokens: Some(request.output),
            at_us: request.at.map(|at| Micros::new(at as f64)),
            ..Prompt::default()
        })
    }
}

impl Source for BurstGpt<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let (mut batch, mut tokens) = (Vec::new(), 0);
        while (batch.len() as u64) < want.min(1024)
            && tokens < BATCH_TOKENS
            && let Some((index, request)) = self.requests.next()
        {
            tokens += request.input;
            batch.push((index, request));
        }
        if batch.is_empty() {
            return Ok(None);
        }
        let made: Vec<Prompt> =
            batch.par_iter().map(|&(index, request)| self.row(index, request, 0)).collect::<Result<_>>()?;
        let mut distinct = std::mem::take(&mut self.distinct);
        let new = batch.into_iter().zip(made).map(|((index, request), row)| {
            distinct.or_else(row, |attempt| self.row(index, request, attempt))
        });
        let new = new.collect::<Result<_>>()?;
        self.distinct = distinct;
        Ok(Some(new))
    }

    fn remarks(&self) -> Vec<String> {
        let skipped = (self.skipped > 0).then(|| {
            format!("{}: skipped {} requests without request or response tokens", self.file, self.skipped)
        });
        skipped.into_iter().chain(self.distinct.remark()).collect()
    }
}

/// The lines of a trace that pass the filters.
struct Table<'f, R> {
    file: &'f str,
    rows: Reader<R>,
    header: StringRecord,
    record: StringRecord,
    timestamp: usize,
    input: usize,
    output: usize,
    filters: Vec<(usize, String)>,
    arrivals: bool,
    first: Option<u64>,
    last: Option<u64>,
    skipped: u64,
}

impl<'f, R: BufRead> Table<'f, R> {
    fn new(file: &'f str, reader: R, args: &BurstGptArgs) -> Result<Self> {
        let mut rows = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(reader);
        let header = rows.headers().map_err(|error| unreadable(file, &error))?.clone();
        let column = |name: &str| {
            header.iter().position(|column| column.trim_start_matches('\u{FEFF}') == name).ok_or_else(|| {
                Error::usage(format!(
                    "{file}: no column `{name}`; is it a BurstGPT trace? its first line is the header"
                ))
            })
        };
        let wanted = [("Model", &args.model), ("Log Type", &args.log_type)];
        let filters = wanted.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        Ok(Self {
            timestamp: if args.arrivals { column("Timestamp")? } else { 0 },
            input: column("Request tokens")?,
            output: column("Response tokens")?,
            filters: filters.map(|(name, value)| Ok((column(name)?, value))).collect::<Result<_>>()?,
            arrivals: args.arrivals,
            file,
            rows,
            header: header.clone(),
            record: StringRecord::new(),
            first: None,
            last: None,
            skipped: 0,
        })
    }

    fn next(&mut self) -> Result<Option<Request>> {
        while self.rows.read_record(&mut self.record).map_err(|error| unreadable(self.file, &error))? {
            if self.filters.iter().any(|(column, value)| &self.record[*column] != value) {
                continue;
            }
            let request =
                Request { input: self.count(self.input)?, output: self.count(self.output)?, at: None };
            if request.input == 0 || request.output == 0 {
                self.skipped += 1;
                continue;
            }
            let at = if self.arrivals { Some(self.arrival()?) } else { None };
            return Ok(Some(Request { at, ..request }));
        }
        Ok(None)
    }

    fn count(&self, column: usize) -> Result<u64> {
        let cell = &self.record[column];
        cell.parse().map_err(|_| self.wrong(column, &format!("`{cell}` is no number of tokens")))
    }

    /// The time since the first request that was taken.
    fn arrival(&mut self) -> Result<u64> {
        let cell = &self.record[self.timestamp];
        let time = decimal::scaled(cell, 6)
            .ok_or_else(|| self.wrong(self.timestamp, &format!("`{cell}` is no number of seconds")))?;
        if self.last.is_some_and(|last| time < last) {
            return Err(self.wrong(
                self.timestamp,
                &format!("{cell} is earlier than the line before; sort the file by it"),
            ));
        }
        self.last = Some(time);
        Ok(time - *self.first.get_or_insert(time))
    }

    fn wrong(&self, column: usize, problem: &str) -> Error {
        let line = self.record.position().map_or(0, csv::Position::line);
        let name = &self.header[column];
        Error::Line { file: self.file.to_owned(), line, problem: format!("column `{name}`: {problem}") }
    }
}

fn unreadable(file: &str, error: &csv::Error) -> Error {
    Error::usage(format!("{file}: {error}"))
}
