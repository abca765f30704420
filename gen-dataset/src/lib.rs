//! Writes the prompts of an LLM benchmark as JSON lines, one [`records::Prompt`] a request.
//!
//! A dataset is a `Source` that yields batches of rows; what all datasets share (ids, labels, the
//! model's context, rows that run out) is done here, once, on the way to the output.

mod args;
mod burstgpt;
mod custom;
mod decimal;
mod distinct;
mod excerpt;
mod export;
mod feed;
mod foreign;
mod generator;
mod hub;
mod like;
mod limit;
mod locate;
mod pool;
mod prefix_repetition;
mod random;
mod row;
mod sampler;
mod sharegpt;
mod sonnet;
mod source;
mod supply;
mod tokens;
mod trace;
mod window;

use records::{Error, Exit, Output, Prompt, Result};

pub use args::{
    Args, BurstGptArgs, Command, Common, CustomArgs, Dataset, ExportArgs, Likeness, PrefixRepetitionArgs,
    RandomArgs, Ratios, ShareGptArgs, SonnetArgs, TraceArgs,
};
pub use export::Tool;
pub use like::Like;
pub use tokens::Tokens;
pub use trace::Format;

use crate::{
    burstgpt::BurstGpt, custom::Custom, limit::Limit, prefix_repetition::PrefixRepetition, random::Random,
    sharegpt::ShareGpt, sonnet::Sonnet, source::Source, supply::Supply, trace::Trace,
};

/// Does what `args` ask for: rows go to `output`, remarks about them to stderr.
pub fn run(args: &Args, output: &mut Output) -> Result<Exit> {
    match &args.command {
        Command::Dataset(dataset) => write(dataset, output),
        Command::Export(args) => export::run(args, output),
    }
}

fn write(dataset: &Dataset, output: &mut Output) -> Result<Exit> {
    dataset.check()?;
    let common = dataset.common();
    let tokens = Tokens::load(&common.tokenizer)?;
    let mut source = open(dataset, &tokens)?;
    let mut limit = Limit::new(&tokens, common.max_model_len, common.chat);
    let mut supply = Supply::new(dataset.wanted(), dataset.repeats());
    let mut label = Label::new(common);

    while supply.left() > 0
        && let Some(batch) = source.batch(supply.left())?
    {
        for row in batch {
            if let Some(row) = limit.fit(row)? {
                supply.pass(&row);
                output.record(&label.apply(row))?;
            }
        }
        output.flush()?;
    }
    let mut remarks = source.remarks();
    remarks.extend(limit.remark());
    remarks.extend(supply.remark());
    if supply.is_empty() {
        let why = if remarks.is_empty() { "the input is empty".to_owned() } else { remarks.join("; ") };
        return Err(Error::usage(format!("no row to write: {why}")));
    }
    for remark in remarks {
        eprintln!("gen-dataset: {remark}");
    }
    for row in supply.repeats() {
        output.record(&label.apply(row))?;
    }
    output.flush()?;
    Ok(Exit::Done)
}

fn open<'a>(dataset: &'a Dataset, tokens: &'a Tokens) -> Result<Box<dyn Source + 'a>> {
    Ok(match dataset {
        Dataset::Random(args) => match args.likeness.like {
            None => Box::new(Random::new(args, tokens)?),
            Some(like) => Box::new(like::Random::new(args, like, tokens)?),
        },
        Dataset::Sharegpt(args) => match args.likeness.like {
            None => Box::new(ShareGpt::open(args, tokens)?),
            Some(like) => Box::new(like::ShareGpt::open(args, like, tokens)?),
        },
        Dataset::PrefixRepetition(args) => match args.likeness.like {
            None => Box::new(PrefixRepetition::new(args, tokens)?),
            Some(like) => Box::new(like::PrefixRepetition::new(args, like, tokens)?),
        },
        Dataset::Sonnet(args) => Box::new(Sonnet::open(args, tokens)?),
        Dataset::Burstgpt(args) => Box::new(BurstGpt::open(args, tokens)?),
        Dataset::Trace(args) => Box::new(Trace::open(args, tokens)?),
        Dataset::Custom(args) => match args.likeness.like {
            None => Box::new(Custom::open(args, tokens)?),
            Some(like) => Box::new(like::Custom::open(args, like, tokens)?),
        },
    })
}

/// Gives rows their ids and their workload.
struct Label<'a> {
    common: &'a Common,
    next: u64,
}

impl<'a> Label<'a> {
    fn new(common: &'a Common) -> Self {
        Self { common, next: 0 }
    }

    /// Rows without an id are numbered from 0, in the order written.
    fn apply(&mut self, mut row: Prompt) -> Prompt {
        let id = row.id.take().unwrap_or_else(|| self.next.to_string());
        row.id = Some(format!("{}{id}", self.common.id_prefix));
        self.next += 1;
        if let Some(workload) = &self.common.workload {
            row.workload = Some(workload.clone());
        }
        row
    }
}
