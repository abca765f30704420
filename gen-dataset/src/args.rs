//! The command line.
#![allow(clippy::doc_markdown, reason = "the comments on arguments are printed by --help, backticks and all")]

use std::path::PathBuf;

use clap::{Parser, Subcommand, value_parser};
use records::{Error, Result};

use crate::window::Window;

const EXAMPLES: &str = "\
Tokens are counted without the special tokens and the chat template that a server adds. RAYON_NUM_THREADS sets the \
number of threads; the rows do not depend on it.

Exit: 0 done, 2 unusable arguments, input or tokenizer.

Examples:
  gen-dataset random --input-len 128 --output-len 32 --num-prompts 200 --seed 42 > prompts.jsonl
  gen-dataset sharegpt ShareGPT_V3_unfiltered_cleaned_split.json --num-prompts 500 | fire-requests";

const RANDOM: &str = "\
Each prompt has exactly the length it states: it is encoded again before it is written. Row i depends on --seed and \
i alone: with more --num-prompts, the first rows stay the same. Prompts differ from their first token on (after the \
prefix), as long as the vocabulary has words.

Examples:
  gen-dataset random --input-len 1024 --output-len 128 --num-prompts 1000 > prompts.jsonl
  gen-dataset random --input-len 4000 --range-ratio 0.1 --workload long | fire-requests";

const SHAREGPT: &str = "\
FILE is a JSON array of {\"conversations\": [{\"from\": \"human\", \"value\": …}, {\"from\": \"gpt\", …}]}. The \
prompt is the first human turn that a gpt turn follows, max_tokens the token count of that answer. Entries without \
such turns, or with empty ones, are skipped and counted on stderr. So are, by vLLM's rule, prompts under 4 or over \
1024 tokens, answers under 4 (not with --output-len), and both over 2048. The turns used are held in memory.

Examples:
  gen-dataset sharegpt ShareGPT_V3_unfiltered_cleaned_split.json --num-prompts 500 --seed 1 > prompts.jsonl
  gen-dataset sharegpt chats.json --no-oversample --disable-shuffle --output-len 64 | fire-requests";

const CUSTOM: &str = "\
A row is a JSON object a line with `prompt` or `messages`, and optionally `id`, `max_tokens` (or `output_tokens`), \
`workload`, `at_us` and `extra_body`. Rows give all an id or none; without, the id is the row's number from 0. \
`prompt_tokens` is counted anew: of messages, their text; where they hold more than text, the row's own count is \
kept, or none. Sampling parameters beside the prompt are refused, since they belong into `extra_body`; other unknown \
fields are ignored. Rows pass one by one, and are held in memory only for --shuffle and for repeats (--num-prompts \
without --no-oversample).

Examples:
  gen-dataset custom questions.jsonl --output-len 256 --workload qa > prompts.jsonl
  jq -c '{prompt: .question, max_tokens: 64}' qa.jsonl | gen-dataset custom - | fire-requests";

/// Most tokens a length may ask for: beyond any model's context, and small enough to be made.
const MOST_TOKENS: u64 = 1 << 24;

/// Write prompts for an LLM benchmark as JSON lines
#[derive(Parser)]
#[command(version, after_help = EXAMPLES, max_term_width = 110)]
pub struct Args {
    /// The dataset.
    #[command(subcommand)]
    pub dataset: Dataset,
}

/// Where the prompts come from.
#[derive(Subcommand)]
pub enum Dataset {
    /// Words drawn at random, of exactly the length asked for
    #[command(after_help = RANDOM)]
    Random(RandomArgs),
    /// First questions of ShareGPT conversations, with their answers' lengths
    #[command(after_help = SHAREGPT)]
    Sharegpt(ShareGptArgs),
    /// Your own prompts or messages, from JSON lines
    #[command(after_help = CUSTOM)]
    Custom(CustomArgs),
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
    /// Special tokens that the tokenizer adds (BOS) are reckoned in. A chat template's are not known here: for a
    /// chat endpoint give a context smaller by so many.
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(1..))]
    pub max_model_len: Option<u64>,
}

/// `random`
#[derive(clap::Args)]
pub struct RandomArgs {
    /// Rows to write
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u64).range(1..))]
    pub num_prompts: u64,
    /// Prompt length in tokens, the prefix not included
    #[arg(long, visible_alias = "random-input-len", value_name = "TOKENS", default_value_t = 1024,
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub input_len: u64,
    /// Output length in tokens
    #[arg(long, visible_alias = "random-output-len", value_name = "TOKENS", default_value_t = 128,
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub output_len: u64,
    /// How far lengths vary, in [0, 1): each is drawn uniformly from floor(length × (1 − R)) to
    /// ceil(length × (1 + R)), both included, outputs never below 1; 0 is a fixed length
    ///
    /// This is vLLM's meaning. SGLang's flag of the same name means the opposite: there 1 is a fixed length, and 0
    /// allows anything from 1 token to the length given.
    #[arg(long, visible_alias = "random-range-ratio", value_name = "R", default_value_t = 0.0,
          allow_negative_numbers = true, value_parser = ratio)]
    pub range_ratio: f64,
    /// Tokens of a prefix that all prompts share, before the --input-len tokens of their own
    #[arg(long, visible_alias = "random-prefix-len", value_name = "TOKENS", default_value_t = 0,
          value_parser = value_parser!(u64).range(..=MOST_TOKENS))]
    pub prefix_len: u64,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

/// `sharegpt`
#[derive(clap::Args)]
pub struct ShareGptArgs {
    /// The conversations, a JSON array; `-` or none: standard input
    pub file: Option<PathBuf>,
    /// Rows to write
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u64).range(1..))]
    pub num_prompts: u64,
    /// Output length in tokens, in place of each answer's own
    #[arg(long, visible_alias = "sharegpt-output-len", value_name = "TOKENS",
          value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub output_len: Option<u64>,
    /// Take the entries in the file's order
    #[arg(long)]
    pub disable_shuffle: bool,
    /// If there are fewer usable entries than --num-prompts, write fewer rows instead of repeating them
    #[arg(long)]
    pub no_oversample: bool,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

/// `custom`
#[derive(clap::Args)]
pub struct CustomArgs {
    /// The rows, JSON lines; `-` or none: standard input
    pub file: Option<PathBuf>,
    /// Rows to write. Default: all
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub num_prompts: Option<u64>,
    /// Output length in tokens of rows that state none
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(1..=MOST_TOKENS))]
    pub output_len: Option<u64>,
    /// Take the rows in random order, by --seed
    #[arg(long)]
    pub shuffle: bool,
    /// If there are fewer rows than --num-prompts, write fewer instead of repeating them
    #[arg(long)]
    pub no_oversample: bool,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

impl Args {
    /// The part that all datasets have.
    pub(crate) fn common(&self) -> &Common {
        match &self.dataset {
            Dataset::Random(args) => &args.common,
            Dataset::Sharegpt(args) => &args.common,
            Dataset::Custom(args) => &args.common,
        }
    }

    /// Rows asked for; `None`: all there are.
    pub(crate) fn wanted(&self) -> Option<u64> {
        match &self.dataset {
            Dataset::Random(args) => Some(args.num_prompts),
            Dataset::Sharegpt(args) => Some(args.num_prompts),
            Dataset::Custom(args) => args.num_prompts,
        }
    }

    /// Whether rows repeat if there are too few. Random rows can run out only by --max-model-len.
    pub(crate) fn repeats(&self) -> bool {
        match &self.dataset {
            Dataset::Random(_) => false,
            Dataset::Sharegpt(args) => !args.no_oversample,
            Dataset::Custom(args) => !args.no_oversample,
        }
    }

    /// Refuses what clap cannot judge flag by flag.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.dataset {
            Dataset::Random(args) => args.check(),
            _ => Ok(()),
        }
    }
}

impl RandomArgs {
    /// Lengths of the prompts, without the prefix.
    pub(crate) fn input_window(&self) -> Window {
        Window::around(self.input_len, self.range_ratio, 0)
    }

    /// Lengths of the outputs.
    pub(crate) fn output_window(&self) -> Window {
        Window::around(self.output_len, self.range_ratio, 1)
    }

    fn check(&self) -> Result<()> {
        let shortest = self.input_window().low;
        if shortest == 0 {
            return Err(Error::usage(format!(
                "--range-ratio {} lets prompts of --input-len {} shrink to nothing; the smallest --input-len for it \
                 is {}",
                self.range_ratio,
                self.input_len,
                (1.0 / (1.0 - self.range_ratio)).ceil()
            )));
        }
        match self.common.max_model_len {
            Some(most) if self.prefix_len + shortest >= most => Err(Error::usage(format!(
                "--max-model-len {most} leaves no room for an output after prompts of {} tokens or more",
                self.prefix_len + shortest
            ))),
            _ => Ok(()),
        }
    }
}

fn ratio(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if (0.0..1.0).contains(&ratio) => Ok(ratio),
        _ => Err("must be a number from 0 (fixed length) to below 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(flags: &str) -> std::result::Result<Args, String> {
        let args = Args::try_parse_from(["gen-dataset"].into_iter().chain(flags.split(' ')));
        let args = args.map_err(|error| error.to_string())?;
        args.check().map_err(|error| error.to_string())?;
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
            ("random --input-len 1 --range-ratio 0.5", "the smallest --input-len for it is 2"),
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
        let Dataset::Random(args) = parse(flags).unwrap().dataset else { panic!("not random") };
        assert_eq!((args.input_len, args.output_len, args.prefix_len), (7, 8, 9));
        assert_eq!(args.input_window(), Window { low: 3, high: 11 });
    }
}
