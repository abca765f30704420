//! The command line.

use clap::{Parser, builder::NonEmptyStringValueParser};

use crate::preset::Preset;

const ABOUT: &str = "An OpenAI-compatible server in front of a simulated inference engine";

const LONG_ABOUT: &str = "\
An OpenAI-compatible server in front of a simulated inference engine: /v1/chat/completions and /v1/completions \
(streamed or not), /v1/models, /health, /metrics (Prometheus, vLLM's names) and /stats (JSON: the server's own \
lateness). It prints its URL on stdout once it accepts connections, and ends on SIGINT or SIGTERM.

A step of the engine takes  base + per-seq x sequences + prefill x prompt tokens  and gives each sequence whose \
prompt is computed one token. Sequences queue for a place in the batch, for the step's token budget and for the KV \
cache; one that outgrows the cache preempts the latest, which is computed again.

Token counts follow a fixed rule: a word with the blank before it is a token, and so is any other character; a chat \
adds 5 a message and 3. A prompt given as token ids counts exactly. Answers are as long as asked (max_tokens) unless \
--early-stop is given; a chat request without max_tokens ends by itself. Sampling parameters are accepted and change \
nothing.";

const EXAMPLES: &str = "\
Examples:
  sim-server --preset optimized --port 8000
  sim-server --preset baseline --max-num-seqs 64 --enable-prefix-caching
  sim-server --preset fixed --ttft-ms 50 --tpot-ms 10 --port 0 > url";

/// The options of `sim-server`.
#[derive(Debug, Clone, Parser)]
#[command(name = "sim-server", version, about = ABOUT, long_about = LONG_ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub host: String,

    /// Port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 8000)]
    pub port: u16,

    /// Engine to simulate
    #[arg(long, value_enum, default_value_t = Preset::Baseline)]
    pub preset: Preset,

    /// Print the presets with their parameters and exit
    #[arg(long)]
    pub list_presets: bool,

    /// Name of the model that is served
    #[arg(long, default_value = "sim-8b", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub model: String,

    /// Longest prompt and answer together, tokens
    #[arg(long, default_value_t = 32_768, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(2..=16_777_216))]
    pub max_model_len: u32,

    /// Seed of the generated words and of answer lengths that the model chooses
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Let answers end before `max_tokens`, at a length drawn from the seed and the prompt (mean 200 tokens), unless
    /// the request says `ignore_eos`
    #[arg(long)]
    pub early_stop: bool,

    /// Changes to the preset.
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// What changes a preset. An absent value leaves the preset's.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Engine (default: as the preset has it)")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "two pairs of flags and their opposites, in vLLM's spelling"
)]
pub struct EngineArgs {
    /// Time of a step before anything is in it, ms
    #[arg(long, value_name = "MS", value_parser = time)]
    pub step_base_ms: Option<f64>,

    /// Further time for each sequence in a step, µs
    #[arg(long, value_name = "US", value_parser = time)]
    pub step_per_seq_us: Option<f64>,

    /// Further time for each prompt token in a step, µs
    #[arg(long, value_name = "US", value_parser = time)]
    pub prefill_us_per_token: Option<f64>,

    /// Most sequences in a step
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_num_seqs: Option<u32>,

    /// Most tokens in a step
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_num_batched_tokens: Option<u32>,

    /// Size of the KV cache, tokens
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub kv_cache_tokens: Option<u32>,

    /// Use blocks of 16 tokens again where prompts start alike
    #[arg(long, overrides_with = "no_enable_prefix_caching")]
    pub enable_prefix_caching: bool,

    /// Compute every prompt in full
    #[arg(long, overrides_with = "enable_prefix_caching")]
    pub no_enable_prefix_caching: bool,

    /// Spread a long prompt over several steps
    #[arg(long, overrides_with = "no_enable_chunked_prefill")]
    pub enable_chunked_prefill: bool,

    /// Compute a prompt in one step, however long it takes
    #[arg(long, overrides_with = "enable_chunked_prefill")]
    pub no_enable_chunked_prefill: bool,

    /// Time to the first token with --preset fixed, ms [default: 100]
    #[arg(long, value_name = "MS", value_parser = time)]
    pub ttft_ms: Option<f64>,

    /// Time to each later token with --preset fixed, ms [default: 20]
    #[arg(long, value_name = "MS", value_parser = time)]
    pub tpot_ms: Option<f64>,
}

impl EngineArgs {
    /// What the flags say about prefix caching, if anything.
    #[must_use]
    pub fn prefix_caching(&self) -> Option<bool> {
        choice(self.enable_prefix_caching, self.no_enable_prefix_caching)
    }

    /// What the flags say about chunked prefill, if anything.
    #[must_use]
    pub fn chunked_prefill(&self) -> Option<bool> {
        choice(self.enable_chunked_prefill, self.no_enable_chunked_prefill)
    }

    /// A flag given that only the fixed preset understands.
    #[must_use]
    pub fn pace_flag(&self) -> Option<&'static str> {
        given([("--ttft-ms", self.ttft_ms.is_some()), ("--tpot-ms", self.tpot_ms.is_some())])
    }

    /// A flag given that the fixed preset does not understand.
    #[must_use]
    pub fn batching_flag(&self) -> Option<&'static str> {
        given([
            ("--step-base-ms", self.step_base_ms.is_some()),
            ("--step-per-seq-us", self.step_per_seq_us.is_some()),
            ("--prefill-us-per-token", self.prefill_us_per_token.is_some()),
            ("--max-num-seqs", self.max_num_seqs.is_some()),
            ("--max-num-batched-tokens", self.max_num_batched_tokens.is_some()),
            ("--kv-cache-tokens", self.kv_cache_tokens.is_some()),
            ("--enable-prefix-caching", self.enable_prefix_caching),
            ("--no-enable-prefix-caching", self.no_enable_prefix_caching),
            ("--enable-chunked-prefill", self.enable_chunked_prefill),
            ("--no-enable-chunked-prefill", self.no_enable_chunked_prefill),
        ])
    }
}

fn choice(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}

fn given<const N: usize>(flags: [(&'static str, bool); N]) -> Option<&'static str> {
    flags.into_iter().find_map(|(flag, given)| given.then_some(flag))
}

fn time(text: &str) -> Result<f64, String> {
    const MOST: f64 = 1e7;
    match text.parse() {
        Ok(value) if (0.0..=MOST).contains(&value) => Ok(value),
        _ => Err(format!("not a time between 0 and {MOST}")),
    }
}
