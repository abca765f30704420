//! The command line: what all datasets share; each dataset's own arguments are in a file of its name.
#![allow(clippy::doc_markdown, reason = "the comments on arguments are printed by --help, backticks and all")]

mod burstgpt;
mod custom;
mod export;
mod prefix_repetition;
mod random;
mod sharegpt;
mod sonnet;
mod trace;

use clap::{Parser, Subcommand, value_parser};
use records::{Error, Result};

use crate::like::Like;

pub use self::{
    burstgpt::BurstGptArgs,
    custom::CustomArgs,
    export::ExportArgs,
    prefix_repetition::PrefixRepetitionArgs,
    random::{RandomArgs, Ratios},
    sharegpt::ShareGptArgs,
    sonnet::SonnetArgs,
    trace::TraceArgs,
};

const EXAMPLES: &str = "\
Tokens are counted without the special tokens and the chat template that a server adds. RAYON_NUM_THREADS sets the \
number of threads; the rows do not depend on it.

Exit: 0 done, 2 unusable arguments, input or tokenizer.

Examples:
  gen-dataset random --input-len 128 --output-len 32 --num-prompts 200 --seed 42 > prompts.jsonl
  gen-dataset sharegpt ShareGPT_V3_unfiltered_cleaned_split.json --num-prompts 500 | fire-requests";

/// Most tokens a length may ask for: beyond any model's context, and small enough to be made.
pub(crate) const MOST_TOKENS: u64 = 1 << 24;

/// Write prompts for an LLM benchmark as JSON lines
#[derive(Parser)]
#[command(version, after_help = EXAMPLES, max_term_width = 110)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Write a dataset, or one's rows for another tool.
#[derive(Subcommand)]
pub enum Command {
    #[allow(missing_docs)]
    #[command(flatten)]
    Dataset(Dataset),
    /// Rows of these datasets, as the input file of another benchmark tool
    #[command(after_help = export::HELP)]
    Export(ExportArgs),
}

/// Where the prompts come from.
#[derive(Subcommand)]
pub enum Dataset {
    /// Words drawn at random, of exactly the length asked for
    #[command(after_help = random::HELP)]
    Random(RandomArgs),
    /// First questions of ShareGPT conversations, with their answers' lengths
    #[command(after_help = sharegpt::HELP)]
    Sharegpt(ShareGptArgs),
    /// Prompts that share one of a few prefixes, to measure prefix caching
    #[command(after_help = prefix_repetition::HELP)]
    PrefixRepetition(PrefixRepetitionArgs),
    /// Lines of verse after a shared beginning, of exactly the length asked for
    #[command(after_help = sonnet::HELP)]
    Sonnet(SonnetArgs),
    /// Lengths, and if asked for times, of requests recorded in the BurstGPT traces
    #[command(after_help = burstgpt::HELP)]
    Burstgpt(BurstGptArgs),
    /// Requests recorded in production: times, lengths and shared prefixes of Mooncake's and Azure's traces
    #[command(after_help = trace::HELP)]
    Trace(TraceArgs),
    /// Your own prompts or messages, from JSON lines
    #[command(after_help = custom::HELP)]
    Custom(CustomArgs),
}

/// The flag of the datasets that vLLM has as well.
#[derive(clap::Args, Clone, Copy)]
pub struct Likeness {
    /// Draw the very prompts that `vllm bench serve` of this version sends for the same flags, seed and tokenizer
    ///
    /// Repeats its generators, the order of its draws, and its ways with lengths that decoding and encoding changes.
    /// Not repeated is the realignment that 0.33 attempts where the server counts tokens otherwise than --tokenizer.
    #[arg(long, value_name = "TOOL", conflicts_with = "max_model_len")]
    pub like: Option<Like>,
}

/// What every dataset takes.
#[derive(clap::Args)]
pub struct Common {
    /// Seed of everything drawn at random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Tokenizer: `qwen3` (embedded), a tokenizer.json, a model folder, or a Hugging Face model id
    ///
    /// A model id such as Qwen/Qwen3-32B is looked up in the hub cache (HF_HUB_CACHE, HF_HOME/hub,
    /// ~/.cache/huggingface/hub), else downloaded from HF_ENDPOINT with HF_TOKEN and kept in ~/.cache/gen-dataset.
    /// HF_HUB_OFFLINE=1 forbids the download.
    #[arg(long, value_name = "NAME", default_value = "qwen3")]
    pub tokenizer: String,
    /// Label written into each row, for `summarize --by workload`
    #[arg(long, value_name = "LABEL")]
    pub workload: Option<String>,
    /// Put before each row's id, so that datasets can be joined
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub id_prefix: String,
    /// The model's context in tokens: outputs are cut so that prompt + output fit, rows without room for one output
    /// token are dropped, and both are counted on stderr
    ///
    /// Special tokens that the tokenizer adds (BOS) are reckoned in and, with --chat, those of the chat template.
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(1..))]
    pub max_model_len: Option<u64>,
    /// The rows are for a chat endpoint: --max-model-len reckons with the model's chat template
    #[arg(long, requires = "max_model_len")]
    pub chat: bool,
}

impl Common {
    /// Refuses prompts of `length` tokens that leave no room for an output.
    fn check_room(&self, length: u64) -> Result<()> {
        match self.max_model_len {
            Some(most) if length >= most => Err(Error::usage(format!(
                "--max-model-len {most} leaves no room for an output after prompts of {length} tokens or more"
            ))),
            _ => Ok(()),
        }
    }
}

impl Dataset {
    /// The part that all datasets have.
    pub(crate) fn common(&self) -> &Common {
        match self {
            Dataset::Random(args) => &args.common,
            Dataset::Sharegpt(args) => &args.common,
            Dataset::PrefixRepetition(args) => &args.common,
            Dataset::Sonnet(args) => &args.common,
            Dataset::Burstgpt(args) => &args.common,
            Dataset::Trace(args) => &args.common,
            Dataset::Custom(args) => &args.common,
        }
    }

    /// Rows asked for; `None`: all there are.
    pub(crate) fn wanted(&self) -> Option<u64> {
        match self {
            Dataset::Random(args) => Some(args.num_prompts),
            Dataset::Sharegpt(args) => Some(args.num_prompts),
            Dataset::PrefixRepetition(args) => Some(args.rows()),
            Dataset::Sonnet(args) => Some(args.num_prompts),
            Dataset::Burstgpt(args) => Some(args.num_prompts),
            Dataset::Trace(args) => args.num_prompts,
            Dataset::Custom(args) => args.num_prompts,
        }
    }

    /// Whether rows repeat if there are too few. Made rows can run out only by --max-model-len, and what is like
    /// vLLM's repeats rows as vLLM does.
    pub(crate) fn repeats(&self) -> bool {
        match self {
            Dataset::Random(_)
            | Dataset::PrefixRepetition(_)
            | Dataset::Sonnet(_)
            | Dataset::Burstgpt(_)
            | Dataset::Trace(_) => false,
            Dataset::Sharegpt(args) => !args.no_oversample && args.likeness.like.is_none(),
            Dataset::Custom(args) => !args.no_oversample && args.likeness.like.is_none(),
        }
    }

    /// Refuses what clap cannot judge flag by flag.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Dataset::Random(args) => args.check(),
            Dataset::Sharegpt(args) => args.check(),
            Dataset::PrefixRepetition(args) => args.check(),
            Dataset::Sonnet(args) => args.check(),
            Dataset::Burstgpt(_) => Ok(()),
            Dataset::Trace(args) => args.check(),
            Dataset::Custom(args) => args.check(),
        }
    }
}

/// A value in [0, 1).
fn ratio(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if (0.0..1.0).contains(&ratio) => Ok(ratio),
        _ => Err("must be a number from 0 (fixed length) to below 1".to_owned()),
    }
}

/// Refuses a flag that has no counterpart in the tool to be like.
fn only_without_like(like: Option<Like>, given: bool, flag: &str, why: &str) -> Result<()> {
    match like {
        Some(like) if given => Err(Error::usage(format!("{flag} with --like {like}: {why}"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Window;

    fn parse(flags: &str) -> std::result::Result<Args, String> {
        let args = Args::try_parse_from(["gen-dataset"].into_iter().chain(flags.split(' ')));
        let args = args.map_err(|error| error.to_string())?;
        if let Command::Dataset(dataset) = &args.command {
            dataset.check().map_err(|error| error.to_string())?;
        }
        Ok(args)
    }

    #[test]
    fn the_command_is_sound() {
        <Args as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn refusals_name_the_flag() {
        for (flags, named) in [
            ("random --input-len 0", "--input-len"),
            ("random --output-len 0", "--output-len"),
            ("random --num-prompts 0", "--num-prompts"),
            ("random --range-ratio 1.0", "--range-ratio"),
            ("random --range-ratio -0.1", "--range-ratio"),
            ("random --range-ratio nan", "--range-ratio"),
            ("random --range-ratio inf", "--range-ratio"),
            ("random --input-len 1 --range-ratio 0.5", "the smallest --input-len for these is 2"),
            ("random --input-len 256 --max-model-len 256", "--max-model-len"),
            ("random --input-length 3", "--input-length"),
        ] {
            let error = parse(flags).err().unwrap_or_default();
            assert!(error.contains(named), "{flags}: {error:?}");
        }
    }

    #[test]
    fn vllms_spellings_are_taken() {
        let flags = "random --random-input-len 7 --random-output-len 8 --random-range-ratio 0.5 --random-prefix-len 9";
        let Command::Dataset(Dataset::Random(args)) = parse(flags).unwrap().command else {
            panic!("not random")
        };
        assert_eq!((args.input_len, args.output_len, args.prefix_len), (7, 8, 9));
        assert_eq!(args.input_window(0), Window { low: 3, high: 11 });
    }
}
