//! Continuous batching, scheduled as vLLM's V1 engine does it.

use std::{collections::VecDeque, time::Duration};

use super::{
    Engine, Load, Sequence, Token,
    kv_cache::{BLOCK_TOKENS, Holding, KvCache},
};

/// What a step costs and what it may hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchingConfig {
    /// Time of a step before anything is in it (reading the weights), µs.
    pub step_base_us: f64,
    /// Further time for each sequence in the step (reading its KV cache), µs.
    pub step_per_seq_us: f64,
    /// Further time for each prompt token in the step, µs.
    pub prefill_us_per_token: f64,
    /// Most sequences in a step.
    pub max_num_seqs: u32,
    /// Most tokens in a step, prompt tokens and generated ones together.
    pub max_num_batched_tokens: u32,
    /// Size of the KV cache, tokens.
    pub kv_cache_tokens: u32,
    /// Whether a prompt's blocks can be used again by a later prompt with the same start.
    pub prefix_caching: bool,
    /// Whether a prompt may be spread over several steps. If not, it is computed in one, however long that takes.
    pub chunked_prefill: bool,
}

/// The model. Each step first takes one token from every running sequence (or the next piece of its prompt), in order
/// of admission, then admits waiting sequences, first come first served, while budget, places and cache last.
/// Without room in the cache for a running sequence, the one admitted last is preempted: it loses its blocks, goes
/// back to the head of the queue and is computed again from the start.
#[derive(Debug)]
pub struct Batching {
    config: BatchingConfig,
    cache: KvCache,
    waiting: VecDeque<Active>,
    running: Vec<Active>,
    /// When the next step begins.
    clock: Duration,
    /// When the step under way ends.
    step_end: Option<Duration>,
    load: Load,
}

/// A sequence inside the engine.
#[derive(Debug)]
struct Active {
    sequence: Sequence,
    holding: Holding,
    /// Tokens whose keys and values are in the cache.
    computed: u32,
    generated: u32,
    /// Tokens that the step under way computes.
    scheduled: u32,
    /// Prompt tokens found in the prefix cache at first admission.
    cached: Option<u32>,
}

impl Active {
    fn new(sequence: Sequence) -> Self {
        Self { sequence, holding: Holding::default(), computed: 0, generated: 0, scheduled: 0, cached: None }
    }

    /// Tokens still to be computed before the next one can be generated.
    fn pending(&self) -> u32 {
        self.sequence.prompt_tokens + self.generated - self.computed
    }

    /// The prompt's blocks that may come from the cache: never all of it, for the last token has to be computed.
    fn reusable_blocks(&self) -> &[u64] {
        let most = (self.sequence.prompt_tokens - 1) / BLOCK_TOKENS;
        &self.sequence.blocks[..self.sequence.blocks.len().min(most as usize)]
    }
}

/// What a step has taken on so far.
#[derive(Debug, Default)]
struct Step {
    tokens: u32,
    sequences: u32,
    prefill_tokens: u32,
}

impl Step {
    fn add(&mut self, active: &mut Active, tokens: u32) {
        let decodes = active.pending() == 1 && active.computed >= active.sequence.prompt_tokens;
        active.scheduled = tokens;
        self.tokens += tokens;
        self.sequences += 1;
        self.prefill_tokens += if decodes { 0 } else { tokens };
    }
}

impl Batching {
    /// An idle engine.
    #[must_use]
    pub fn new(config: BatchingConfig) -> Self {
        Self {
            config,
            cache: KvCache::new(config.kv_cache_tokens, config.prefix_caching),
            waiting: VecDeque::new(),
            running: Vec::new(),
            clock: Duration::ZERO,
            step_end: None,
            load: Load::default(),
        }
    }

    /// Fills a step and says how long it takes.
    fn plan(&mut self) -> Duration {
        let mut step = Step::default();
        if self.schedule_running(&mut step) {
            self.admit(&mut step);
        }
        let us = self.config.step_base_us
            + self.config.step_per_seq_us * f64::from(step.sequences)
            + self.config.prefill_us_per_token * f64::from(step.prefill_tokens);
        Duration::from_nanos((us * 1e3).round() as u64)
    }

    fn budget(&self, step: &Step) -> u32 {
        self.config.max_num_batched_tokens.saturating_sub(step.tokens)
    }

    /// Schedules the running sequences; false if one had to be preempted, after which nothing is admitted.
    fn schedule_running(&mut self, step: &mut Step) -> bool {
        let before = self.load.preemptions;
        let mut at = 0;
        while at < self.running.len() {
            let tokens = self.running[at].pending().min(self.budget(step));
            if tokens == 0 || !self.make_room(at, tokens) {
                break;
            }
            step.add(&mut self.running[at], tokens);
            at += 1;
        }
        self.load.preemptions == before
    }

    /// Finds blocks for `tokens` more of the sequence `at`, preempting later ones; false if it was itself the last.
    fn make_room(&mut self, at: usize, tokens: u32) -> bool {
        loop {
            let active = &mut self.running[at];
            let total = active.computed + tokens;
            if self.cache.grow(&mut active.holding, total) {
                return true;
            }
            self.preempt_last();
            if self.running.len() == at {
                return false;
            }
        }
    }

    fn preempt_last(&mut self) {
        let Some(mut victim) = self.running.pop() else { return };
        self.cache.release(std::mem::take(&mut victim.holding));
        victim.computed = 0;
        victim.scheduled = 0;
        self.waiting.push_front(victim);
        self.load.preemptions += 1;
    }

    /// Moves waiting sequences into the step, first come first served.
    fn admit(&mut self, step: &mut Step) {
        while self.running.len() < self.config.max_num_seqs as usize {
            let budget = self.budget(step);
            let Some(next) = self.waiting.front_mut() else { break };
            let mut holding = self.cache.attach(next.reusable_blocks());
            let found = holding.published_tokens();
            let needs = next.pending() - found;
            let tokens = match (self.config.chunked_prefill, needs <= budget) {
                (_, true) => needs,
                (true, false) => budget,
                // A prompt longer than the whole budget goes alone.
                (false, false) if step.prefill_tokens == 0 && budget > 0 => needs,
                (false, false) => 0,
            };
            if tokens == 0 || !self.cache.grow(&mut holding, found + tokens) {
                self.cache.release(holding);
                break;
            }
            next.holding = holding;
            next.computed = found;
            if next.cached.is_none() {
                next.cached = Some(found);
                if self.config.prefix_caching {
                    self.load.prefix_queries += u64::from(next.sequence.prompt_tokens);
                    self.load.prefix_hits += u64::from(found);
                }
            }
            step.add(next, tokens);
            self.running.extend(self.waiting.pop_front());
        }
    }

    /// Books what the step computed for one sequence; a token if that completed its input.
    fn advance(&mut self, active: &mut Active, due: Duration) -> Option<Token> {
        if active.scheduled == 0 {
            return None;
        }
        active.computed += std::mem::take(&mut active.scheduled);
        self.cache.publish(&mut active.holding, &active.sequence.blocks, active.computed);
        if active.pending() > 0 {
            return None;
        }
        if active.generated == 0 {
            self.load.prompt_tokens += u64::from(active.sequence.prompt_tokens);
        }
        let index = active.generated;
        active.generated += 1;
        self.load.generated_tokens += 1;
        Some(Token {
            id: active.sequence.id,
            due,
            index,
            cached_tokens: active.cached.unwrap_or(0),
            last: active.generated == active.sequence.output_tokens,
        })
    }
}

impl Engine for Batching {
    fn submit(&mut self, now: Duration, sequence: Sequence) {
        if self.step_end.is_none() {
            self.clock = self.clock.max(now);
        }
        self.waiting.push_back(Active::new(sequence));
    }

    fn cancel(&mut self, id: u64) {
        self.waiting.retain(|active| active.sequence.id != id);
        if let Some(at) = self.running.iter().position(|active| active.sequence.id == id) {
            let active = self.running.remove(at);
            self.cache.release(active.holding);
        }
    }

    fn due(&mut self) -> Option<Duration> {
        if self.step_end.is_none() && !(self.running.is_empty() && self.waiting.is_empty()) {
            self.step_end = Some(self.clock + self.plan());
        }
        self.step_end
    }

    fn emit(&mut self, now: Duration) -> Vec<Token> {
        let Some(end) = self.step_end.take_if(|end| *end <= now) else { return Vec::new() };
        // The next step begins where this one ended, not where the caller noticed: the schedule does not drift.
        self.clock = end;
        let mut tokens = Vec::with_capacity(self.running.len());
        for mut active in std::mem::take(&mut self.running) {
            let token = self.advance(&mut active, end);
            tokens.extend(token);
            if token.is_some_and(|token| token.last) {
                self.cache.release(active.holding);
            } else {
                self.running.push(active);
            }
        }
        tokens
    }

    fn load(&self) -> Load {
        Load {
            running: self.running.len(),
            waiting: self.waiting.len(),
            kv_usage: self.cache.usage(),
            ..self.load
        }
    }
}

#[cfg(test)]
#[path = "batching_tests.rs"]
mod tests;
