//! vLLM's `RandomDataset`.

use rayon::prelude::*;
use records::{Prompt, Result};
use rng::numpy::Generator;
use serde_json::Map;

use super::{Like, length_loop::LengthLoop};
use crate::{RandomArgs, Tokens, source::Source, window::Window};

/// Tokens made at once: bounds memory, and is enough work to spread over the threads.
const BATCH_TOKENS: u64 = 1 << 17;

/// Runs of consecutive token ids, each from an offset of its own; all lengths and offsets are drawn beforehand.
pub(crate) struct Random<'a> {
    tokens: &'a Tokens,
    like: Like,
    /// Goes on where the lengths, the offsets and the prefix left it.
    rng: Generator,
    allowed: Vec<u32>,
    prefix: Vec<u32>,
    plans: std::iter::Enumerate<std::vec::IntoIter<Plan>>,
    /// Tokens of the longest prompt.
    longest: u64,
    mismatch: i64,
}

/// What is drawn for each prompt.
#[derive(Clone, Copy)]
struct Plan {
    input: u32,
    output: u32,
    offset: u32,
}

impl<'a> Random<'a> {
    /// Draws what is drawn before the first prompt is made.
    pub(crate) fn new(args: &RandomArgs, like: Like, tokens: &'a Tokens) -> Result<Self> {
        let mut rng = Generator::new(args.common.seed);
        let special = like.special_count(tokens);
        let input = args.input_window(special);
        if like == Like::Vllm033 {
            args.check_input(special)?;
        }
        let mut draws = |window: Window| -> Vec<u32> {
            let (low, high) = (window.low as i64, window.high as i64);
            (0..args.num_prompts).map(|_| rng.integers(low, high + 1) as u32).collect()
        };
        let (inputs, outputs) = (draws(input), draws(args.output_window()));
        if args.prefix_len == 0 && inputs.contains(&0) {
            return Err(args.too_short(special));
        }
        let offsets = draws(Window { low: 0, high: u64::from(tokens.vocab_size()) - 1 });
        let plans: Vec<Plan> = inputs
            .into_iter()
            .zip(outputs)
            .zip(offsets)
            .map(|((input, output), offset)| Plan { input, output, offset })
            .collect();
        let allowed = match like {
            Like::Vllm033 => tokens.unspecial_ids(),
            Like::Vllm011 => (0..tokens.vocab_size()).collect(),
        };
        let mut source = Self {
            tokens,
            like,
            rng,
            allowed,
            prefix: Vec::new(),
            plans: plans.into_iter().enumerate(),
            longest: args.prefix_len + input.high,
            mismatch: 0,
        };
        source.prefix = source.draw_prefix(args.prefix_len as usize)?;
        Ok(source)
    }

    fn draw_prefix(&mut self, length: usize) -> Result<Vec<u32>> {
        let mut ids = Vec::with_capacity(length);
        for _ in 0..length {
            let at = self.draw(self.allowed.len()) as usize;
            ids.push(self.allowed[at]);
        }
        match self.like {
            Like::Vllm033 if length > 0 => {
                let settled = LengthLoop::start(self.tokens, ids, length)?;
                Ok(settled.finish(|| self.draw_token())?.1)
            }
            _ => Ok(ids),
        }
    }

    fn draw(&mut self, below: usize) -> u32 {
        self.rng.integers(0, below as i64) as u32
    }

    /// Any token of the vocabulary, special ones included.
    fn draw_token(&mut self) -> u32 {
        self.draw(self.tokens.vocab_size() as usize)
    }

    /// The tokens that the prompt of this plan is first made of.
    fn ids(&self, index: usize, plan: Plan) -> Vec<u32> {
        let first = plan.offset as usize + index;
        let run = (first..first + plan.input as usize).map(|at| self.allowed[at % self.allowed.len()]);
        self.prefix.iter().copied().chain(run).collect()
    }

    /// What was cut off is not made up for.
    fn cut(&self, index: usize, plan: Plan) -> Result<(String, Vec<u32>)> {
        let ids = self.ids(index, plan);
        let target = ids.len();
        let mut ids = self.tokens.encode(&self.like.decode(self.tokens, &ids)?)?;
        ids.truncate(target);
        Ok((self.like.decode(self.tokens, &ids)?, ids))
    }

    /// All but the drawing is done in parallel; what is drawn for one prompt decides what is left for the next.
    fn settled(&mut self, plans: &[(usize, Plan)]) -> Result<Vec<(String, Vec<u32>)>> {
        let started: Vec<LengthLoop> = plans
            .par_iter()
            .map(|&(index, plan)| {
                let ids = self.ids(index, plan);
                let target = ids.len();
                LengthLoop::start(self.tokens, ids, target)
            })
            .collect::<Result<_>>()?;
        started.into_iter().map(|started| started.finish(|| self.draw_token())).collect()
    }
}

impl Source for Random<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let most = (BATCH_TOKENS / self.longest).clamp(rayon::current_num_threads() as u64, 1024).min(want);
        let plans: Vec<(usize, Plan)> = self.plans.by_ref().take(most as usize).collect();
        if plans.is_empty() {
            return Ok(None);
        }
        let made = match self.like {
            Like::Vllm033 => self.settled(&plans)?,
            Like::Vllm011 => {
                plans.par_iter().map(|&(index, plan)| self.cut(index, plan)).collect::<Result<_>>()?
            }
        };
        let rows = plans.into_iter().zip(made).map(|((_, plan), (text, ids))| {
            self.mismatch += ids.len() as i64 - self.prefix.len() as i64 - i64::from(plan.input);
            row(self.like, text, ids.len(), plan.output)
        });
        Ok(Some(rows.collect()))
    }

    fn remarks(&self) -> Vec<String> {
        if self.mismatch == 0 {
            return Vec::new();
        }
        vec![format!(
            "--like {}: {} tokens {} than asked for, as in vLLM; the rows state what they have",
            self.like,
            self.mismatch.abs(),
            if self.mismatch < 0 { "fewer" } else { "more" }
        )]
    }
}

/// 0.33 has the server ignore the end-of-sequence token for this dataset.
fn row(like: Like, text: String, length: usize, output: u32) -> Prompt {
    let ignore = Map::from_iter([("ignore_eos".to_owned(), true.into())]);
    Prompt {
        prompt: Some(text),
        prompt_tokens: Some(length as u64),
        max_tokens: Some(output.into()),
        extra_body: (like == Like::Vllm033).then_some(ignore),
        ..Prompt::default()
    }
}
