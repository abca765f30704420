//! An answer in progress: its tokens as they come, and its JSON.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::{
    driver::Driver,
    engine::{Sequence, Token},
    request::{Api, Job},
    stats::Stats,
    words::{mix, word},
};

/// The tokens of one answer. Dropping it before the last one, as happens when the client goes away, cancels the
/// sequence.
pub struct Generation {
    id: u64,
    tokens: UnboundedReceiver<Token>,
    driver: Driver,
    stats: Arc<Stats>,
    stops: bool,
    done: bool,
}

impl Generation {
    /// Starts `job`, whose request was read at `at` on the engine's clock.
    #[must_use]
    pub fn start(id: u64, at: std::time::Duration, job: &Job, driver: &Driver, stats: &Arc<Stats>) -> Self {
        stats.begin();
        let (sender, tokens) = unbounded_channel();
        let sequence = Sequence {
            id,
            prompt_tokens: job.prompt.tokens,
            blocks: job.prompt.blocks.clone(),
            output_tokens: job.output_tokens,
        };
        driver.submit(at, sequence, sender);
        Self { id, tokens, driver: driver.clone(), stats: Arc::clone(stats), stops: job.stops, done: false }
    }

    /// The next token; `None` after the last.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Token>> {
        self.tokens.poll_recv(context).map(|token| token.inspect(|token| self.account(token)))
    }

    /// The next token; `None` after the last.
    pub async fn next(&mut self) -> Option<Token> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn account(&mut self, token: &Token) {
        self.stats.token_late.add(self.driver.now().saturating_sub(token.due));
        if token.last {
            self.done = true;
            let ended = if self.stops { &self.stats.finished_stop } else { &self.stats.finished_length };
            ended.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        self.stats.in_flight.fetch_sub(1, Relaxed);
        if !self.done {
            self.stats.aborted.fetch_add(1, Relaxed);
            self.driver.cancel(self.id);
        }
    }
}

/// What an answer says about itself.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The API it goes through.
    pub api: Api,
    /// Its name: `chatcmpl-` or `cmpl-` and 16 hexadecimal digits.
    pub id: String,
    /// Seconds since 1970.
    pub created: u64,
    /// The model.
    pub model: String,
    prompt_tokens: u32,
    stops: bool,
    key: u64,
}

impl Answer {
    /// The answer to `job`, the server's `number`th.
    #[must_use]
    pub fn new(number: u64, job: &Job, model: &str) -> Self {
        let prefix = if job.api == Api::Chat { "chatcmpl" } else { "cmpl" };
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self {
            api: job.api,
            id: format!("{prefix}-{:016x}", mix(number)),
            created,
            model: model.to_owned(),
            prompt_tokens: job.prompt.tokens,
            stops: job.stops,
            key: job.key,
        }
    }

    /// The text of a token: a word, or nothing for the token that ends the answer by itself.
    #[must_use]
    pub fn text(&self, token: &Token) -> (&'static str, &'static str) {
        match token {
            token if token.last && self.stops => ("", ""),
            Token { index: 0, .. } => ("", word(self.key, 0)),
            token => (" ", word(self.key, token.index)),
        }
    }

    /// Why the answer ended.
    #[must_use]
    pub fn finish_reason(&self) -> &'static str {
        if self.stops { "stop" } else { "length" }
    }

    /// The usage after `completion_tokens`.
    #[must_use]
    pub fn usage(&self, completion_tokens: u32, cached_tokens: u32) -> Value {
        json!({
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": self.prompt_tokens + completion_tokens,
            "completion_tokens": completion_tokens,
            "prompt_tokens_details": { "cached_tokens": cached_tokens },
        })
    }

    /// The whole answer, once its last token is there.
    #[must_use]
    pub fn whole(&self, text: &str, last: &Token) -> Value {
        let reason = self.finish_reason();
        let (object, choice) = match self.api {
            Api::Chat => (
                "chat.completion",
                json!({ "index": 0, "message": { "role": "assistant", "content": text, "refusal": null },
                    "logprobs": null, "finish_reason": reason, "stop_reason": null }),
            ),
            Api::Completions => (
                "text_completion",
                json!({ "index": 0, "text": text, "logprobs": null, "finish_reason": reason, "stop_reason": null }),
            ),
        };
        json!({
            "id": self.id, "object": object, "created": self.created, "model": self.model, "choices": [choice],
            "usage": self.usage(last.index + 1, last.cached_tokens),
        })
    }
}
