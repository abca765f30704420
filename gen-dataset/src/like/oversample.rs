//! What vLLM does when a dataset has fewer rows than are asked for (`maybe_oversample_requests`).

use records::Prompt;
use rng::python;

use super::Like;

/// Rows that are kept, to be repeated at the end.
pub(super) struct Oversample {
    like: Like,
    seed: u64,
    /// Rows in all; `None`: no repeats.
    wanted: Option<u64>,
    kept: Vec<Prompt>,
    repeated: u64,
}

impl Oversample {
    /// Up to `wanted` rows, or as many as there are.
    pub(super) fn new(like: Like, seed: u64, wanted: Option<u64>) -> Self {
        Self { like, seed, wanted, kept: Vec::new(), repeated: 0 }
    }

    /// Takes note of rows that are written.
    pub(super) fn keep(&mut self, rows: &[Prompt]) {
        if self.wanted.is_some() {
            self.kept.extend_from_slice(rows);
        }
    }

    /// The repeats, once: drawn one by one in 0.33, all at once in 0.11, by a generator that starts anew.
    pub(super) fn repeats(&mut self) -> Option<Vec<Prompt>> {
        let missing = self.wanted?.saturating_sub(self.kept.len() as u64);
        if missing == 0 || self.kept.is_empty() || self.repeated > 0 {
            return None;
        }
        self.repeated = missing;
        let mut rng = python::Random::new(self.seed);
        Some(match self.like {
            Like::Vllm033 => (0..missing).map(|_| rng.choice(&self.kept).clone()).collect(),
            Like::Vllm011 => rng.choices(&self.kept, missing as usize).into_iter().cloned().collect(),
        })
    }

    /// What to say if rows were repeated.
    pub(super) fn remark(&self) -> Option<String> {
        (self.repeated > 0).then(|| {
            format!(
                "warning: {} usable rows for {} asked: {} are repeated as in vLLM, and a server's prefix cache may \
                 answer them (--no-oversample: write {})",
                self.kept.len(),
                self.wanted.unwrap_or_default(),
                self.repeated,
                self.kept.len()
            )
        })
    }
}
