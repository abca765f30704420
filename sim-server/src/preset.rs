//! Named engines, and what the flags change in them.

use std::time::Duration;

use clap::ValueEnum;
use records::{Error, Output, Result};

use crate::{
    args::EngineArgs,
    engine::{Batching, BatchingConfig, Engine, Fixed},
};

/// A named engine. The figures are derived, not measured: an 8-billion-parameter model with grouped-query attention
/// (131 kB of KV cache a token in bf16) on one GPU with 80 GB, 2 TB/s and 400 TFLOP/s in practice. Reading 16 GB of
/// weights takes 8 ms, to which 2 ms are added; a prompt token's 16 GFLOP take 40 µs; the KV cache of 1000 tokens is
/// read in 65 µs; and the weights leave room for 400 000 tokens. 8-bit weights and cache halve what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// 8B model in bf16, small batches, no prefix caching
    Baseline,
    /// 8-bit weights and KV cache: faster steps, twice the cache; larger batches and prefix caching
    Optimized,
    /// The baseline with a batch of 256 and long prefill steps: more tokens per second, each of them later
    LargeBatch,
    /// The optimized engine held to 16 sequences and short prefill steps: steady tokens, longer queue
    LowLatency,
    /// A constant pace whatever the load (--ttft-ms, --tpot-ms): to check a client's clock
    Fixed,
}

const BASELINE: BatchingConfig = BatchingConfig {
    step_base_us: 10_000.0,
    step_per_seq_us: 65.0,
    prefill_us_per_token: 40.0,
    max_num_seqs: 32,
    max_num_batched_tokens: 2048,
    kv_cache_tokens: 400_000,
    prefix_caching: false,
    chunked_prefill: true,
};

const OPTIMIZED: BatchingConfig = BatchingConfig {
    step_base_us: 6_000.0,
    step_per_seq_us: 33.0,
    prefill_us_per_token: 25.0,
    max_num_seqs: 128,
    kv_cache_tokens: 950_000,
    prefix_caching: true,
    ..BASELINE
};

/// Which model of an engine to run, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EngineConfig {
    /// Continuous batching.
    Batching(BatchingConfig),
    /// A constant pace.
    Fixed {
        /// Time to the first token.
        ttft: Duration,
        /// Time to each later one.
        tpot: Duration,
    },
}

impl Preset {
    /// Its parameters.
    #[must_use]
    pub fn engine(self) -> EngineConfig {
        EngineConfig::Batching(match self {
            Self::Baseline => BASELINE,
            Self::Optimized => OPTIMIZED,
            Self::LargeBatch => {
                BatchingConfig { max_num_seqs: 256, max_num_batched_tokens: 8192, ..BASELINE }
            }
            Self::LowLatency => BatchingConfig { max_num_seqs: 16, max_num_batched_tokens: 512, ..OPTIMIZED },
            Self::Fixed => {
                return EngineConfig::Fixed {
                    ttft: Duration::from_millis(100),
                    tpot: Duration::from_millis(20),
                };
            }
        })
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl EngineConfig {
    /// The preset with the flags' changes. A flag that means nothing to the preset is refused.
    pub fn new(preset: Preset, flags: &EngineArgs, max_model_len: u32) -> Result<Self> {
        match preset.engine() {
            Self::Batching(config) => batching(config, flags, max_model_len).map(Self::Batching),
            Self::Fixed { ttft, tpot } => fixed(ttft, tpot, flags),
        }
    }

    /// The engine itself.
    #[must_use]
    pub fn build(self) -> Box<dyn Engine> {
        match self {
            Self::Batching(config) => Box::new(Batching::new(config)),
            Self::Fixed { ttft, tpot } => Box::new(Fixed::new(ttft, tpot)),
        }
    }
}

fn batching(preset: BatchingConfig, flags: &EngineArgs, max_model_len: u32) -> Result<BatchingConfig> {
    if let Some(flag) = flags.pace_flag() {
        return Err(Error::usage(format!("{flag} sets a constant pace; give --preset fixed with it")));
    }
    let config = BatchingConfig {
        step_base_us: flags.step_base_ms.map_or(preset.step_base_us, |ms| ms * 1e3),
        step_per_seq_us: flags.step_per_seq_us.unwrap_or(preset.step_per_seq_us),
        prefill_us_per_token: flags.prefill_us_per_token.unwrap_or(preset.prefill_us_per_token),
        max_num_seqs: flags.max_num_seqs.unwrap_or(preset.max_num_seqs),
        max_num_batched_tokens: flags.max_num_batched_tokens.unwrap_or(preset.max_num_batched_tokens),
        kv_cache_tokens: flags.kv_cache_tokens.unwrap_or(preset.kv_cache_tokens),
        prefix_caching: flags.prefix_caching().unwrap_or(preset.prefix_caching),
        chunked_prefill: flags.chunked_prefill().unwrap_or(preset.chunked_prefill),
    };
    if config.step_base_us + config.step_per_seq_us <= 0.0 {
        return Err(Error::usage("a step has to take time; raise --step-base-ms or --step-per-seq-us"));
    }
    if config.max_num_batched_tokens < config.max_num_seqs {
        return Err(Error::usage(format!(
            "--max-num-batched-tokens {} is below --max-num-seqs {}: a step could not hold one token of each",
            config.max_num_batched_tokens, config.max_num_seqs
        )));
    }
    if config.kv_cache_tokens < max_model_len.next_multiple_of(crate::engine::BLOCK_TOKENS) {
        return Err(Error::usage(format!(
            "--kv-cache-tokens {} cannot hold one sequence of --max-model-len {max_model_len}; raise the one or \
             lower the other",
            config.kv_cache_tokens
        )));
    }
    Ok(config)
}

fn fixed(ttft: Duration, tpot: Duration, flags: &EngineArgs) -> Result<EngineConfig> {
    if let Some(flag) = flags.batching_flag() {
        return Err(Error::usage(format!("{flag} means nothing with --preset fixed; choose another preset")));
    }
    let ms = |given: Option<f64>, preset| given.map_or(preset, |ms| Duration::from_secs_f64(ms / 1e3));
    Ok(EngineConfig::Fixed { ttft: ms(flags.ttft_ms, ttft), tpot: ms(flags.tpot_ms, tpot) })
}

/// Prints each preset, what it stands for, and the flags that it amounts to.
pub fn list(output: &mut Output) -> Result<()> {
    for preset in Preset::value_variants() {
        let value = preset.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help()).map(ToString::to_string);
        output.line(&format!("{}: {}", preset.name(), help.unwrap_or_default()))?;
        output.line(&format!("  {}", flags(preset.engine())))?;
    }
    output.flush()
}

fn flags(config: EngineConfig) -> String {
    match config {
        EngineConfig::Fixed { ttft, tpot } => {
            format!("--ttft-ms {} --tpot-ms {}", ttft.as_secs_f64() * 1e3, tpot.as_secs_f64() * 1e3)
        }
        EngineConfig::Batching(config) => format!(
            "--step-base-ms {} --step-per-seq-us {} --prefill-us-per-token {} --max-num-seqs {} \
             --max-num-batched-tokens {} --kv-cache-tokens {} --{}enable-prefix-caching --{}enable-chunked-prefill",
            config.step_base_us / 1e3,
            config.step_per_seq_us,
            config.prefill_us_per_token,
            config.max_num_seqs,
            config.max_num_batched_tokens,
            config.kv_cache_tokens,
            if config.prefix_caching { "" } else { "no-" },
            if config.chunked_prefill { "" } else { "no-" },
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_change_the_preset_and_nothing_else() {
        let flags =
            EngineArgs { max_num_seqs: Some(7), enable_prefix_caching: true, ..EngineArgs::default() };
        let expected = BatchingConfig { max_num_seqs: 7, prefix_caching: true, ..BASELINE };
        let config = EngineConfig::new(Preset::Baseline, &flags, 32_768).unwrap();
        assert_eq!(config, EngineConfig::Batching(expected));
    }

    #[test]
    fn flags_that_cannot_work_are_refused_with_a_remedy() {
        let default = EngineArgs::default;
        for (preset, flags, names) in [
            (Preset::Baseline, EngineArgs { ttft_ms: Some(1.0), ..default() }, "--preset fixed"),
            (Preset::Fixed, EngineArgs { max_num_seqs: Some(1), ..default() }, "--max-num-seqs"),
            (Preset::Baseline, EngineArgs { kv_cache_tokens: Some(1000), ..default() }, "--max-model-len"),
            (Preset::Baseline, EngineArgs { max_num_batched_tokens: Some(8), ..default() }, "--max-num-seqs"),
        ] {
            let error = EngineConfig::new(preset, &flags, 32_768).unwrap_err().to_string();
            assert!(error.contains(names), "{error}");
        }
    }
}
