//! A streamed answer: one server-sent event a token, in the shape of vLLM 0.25.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use serde_json::Value;

use crate::{
    answer::{Answer, Generation},
    engine::Token,
    request::{Api, StreamUsage},
};

/// The body of a streamed response.
pub(crate) struct EventStream {
    generation: Generation,
    events: Events,
}

impl EventStream {
    pub(crate) fn new(generation: Generation, answer: Answer, usage: StreamUsage) -> Self {
        Self { generation, events: Events::new(answer, usage) }
    }
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let token = ready!(self.generation.poll_next(context));
        Poll::Ready(token.map(|token| Ok(Frame::data(self.events.render(&token).into()))))
    }
}

/// Renders events. All that is the same in each of them is rendered once.
struct Events {
    answer: Answer,
    /// Up to `choices`, without it.
    envelope: String,
    usage: StreamUsage,
}

/// What stands around the text of a token.
struct Shape {
    open: &'static str,
    close: &'static str,
    end: &'static str,
}

const CHAT: Shape = Shape {
    open: r#","choices":[{"index":0,"delta":{"content":""#,
    close: r#""},"logprobs":null,"finish_reason":"#,
    end: r#","token_ids":null}]"#,
};

const COMPLETIONS: Shape = Shape {
    open: r#","choices":[{"index":0,"text":""#,
    close: r#"","logprobs":null,"finish_reason":"#,
    end: r#","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]"#,
};

const ROLE: &str = concat!(
    r#","choices":[{"index":0,"delta":{"role":"assistant","content":""},"#,
    r#""logprobs":null,"finish_reason":null}]"#
);

impl Events {
    fn new(answer: Answer, usage: StreamUsage) -> Self {
        let object = if answer.api == Api::Chat { "chat.completion.chunk" } else { "text_completion" };
        let envelope = format!(
            r#"data: {{"id":"{}","object":"{object}","created":{},"model":{}"#,
            answer.id,
            answer.created,
            Value::from(answer.model.as_str()),
        );
        Self { answer, envelope, usage }
    }

    /// The event of one token; before the first of a chat the one that opens the answer, and after the last the
    /// usage and the end mark. vLLM too sends those together.
    fn render(&self, token: &Token) -> String {
        let so_far = |tokens| (self.usage == StreamUsage::Always).then_some(tokens);
        let mut out = String::with_capacity(2 * self.envelope.len() + 512);
        if token.index == 0 && self.answer.api == Api::Chat {
            self.event(&mut out, &[ROLE], so_far(0), token);
        }
        let shape = if self.answer.api == Api::Chat { CHAT } else { COMPLETIONS };
        let (space, word) = self.answer.text(token);
        let (quote, reason) = if token.last { ("\"", self.answer.finish_reason()) } else { ("", "null") };
        let choice = [shape.open, space, word, shape.close, quote, reason, quote, shape.end];
        self.event(&mut out, &choice, so_far(token.index + 1), token);
        if token.last {
            if self.usage != StreamUsage::Never {
                self.event(&mut out, &[r#","choices":[]"#], Some(token.index + 1), token);
            }
            out.push_str("data: [DONE]\n\n");
        }
        out
    }

    fn event(&self, out: &mut String, choice: &[&str], completion_tokens: Option<u32>, token: &Token) {
        out.push_str(&self.envelope);
        out.extend(choice.iter().copied());
        if let Some(completion_tokens) = completion_tokens {
            out.push_str(r#","usage":"#);
            out.push_str(&self.answer.usage(completion_tokens, token.cached_tokens).to_string());
        }
        out.push_str("}\n\n");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::request::{Job, Limits};

    fn events(api: Api, body: &str, index: u32, last: bool) -> Vec<Value> {
        let limits = Limits { model: "a\"b".to_owned(), max_model_len: 100, seed: 0, early_stop: false };
        let job = Job::parse(api, body.as_bytes(), &limits).unwrap();
        let events = Events::new(Answer::new(1, &job, &limits.model), job.stream.unwrap());
        let token = Token { id: 1, due: Duration::ZERO, index, cached_tokens: 16, last };
        let text = events.render(&token);
        text.split_terminator("\n\n")
            .map(|event| event.strip_prefix("data: ").unwrap())
            .map(
                |data| if data == "[DONE]" { Value::from(data) } else { serde_json::from_str(data).unwrap() },
            )
            .collect()
    }

    const CHAT_BODY: &str = r#"{"messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}"#;

    #[test]
    fn a_chat_opens_with_a_role_and_its_first_token() {
        let events = events(Api::Chat, CHAT_BODY, 0, false);
        assert_eq!(events.len(), 2);
        assert_eq!(events[0]["choices"][0]["delta"], serde_json::json!({"role": "assistant", "content": ""}));
        assert_eq!(events[1]["choices"][0]["delta"]["content"].as_str().unwrap().len(), 4);
        assert_eq!(events[1]["object"], "chat.completion.chunk");
        assert_eq!(events[1]["model"], "a\"b");
        assert!(events[1]["choices"][0]["finish_reason"].is_null() && events[1].get("usage").is_none());
    }

    #[test]
    fn the_last_token_carries_the_reason_and_usage_follows() {
        let events = events(
            Api::Completions,
            r#"{"prompt":"x","stream":true,"stream_options":{"include_usage":true}}"#,
            4,
            true,
        );
        assert_eq!(events.len(), 3);
        assert_eq!(events[0]["choices"][0]["finish_reason"], "length");
        assert_eq!(events[0]["choices"][0]["text"].as_str().unwrap().len(), 5);
        assert_eq!(events[1]["choices"], serde_json::json!([]));
        assert_eq!(events[1]["usage"]["completion_tokens"], 5);
        assert_eq!(events[1]["usage"]["prompt_tokens_details"]["cached_tokens"], 16);
        assert_eq!(events[2], "[DONE]");
    }

    #[test]
    fn an_answer_that_ends_by_itself_ends_with_an_empty_token() {
        let body = r#"{"messages":[{"role":"user","content":"x"}],"max_tokens":90}"#;
        let limits = Limits { model: "m".to_owned(), max_model_len: 100, seed: 0, early_stop: false };
        let job = Job { stops: true, ..Job::parse(Api::Chat, body.as_bytes(), &limits).unwrap() };
        let events = Events::new(Answer::new(1, &job, "m"), StreamUsage::Never);
        let token = Token { id: 1, due: Duration::ZERO, index: 9, cached_tokens: 0, last: true };
        assert!(
            events
                .render(&token)
                .contains(r#""delta":{"content":""},"logprobs":null,"finish_reason":"stop""#)
        );
    }

    #[test]
    fn continuous_usage_counts_along() {
        let body = CHAT_BODY.replace("true}", r#"true,"continuous_usage_stats":true}"#);
        let events = events(Api::Chat, &body, 0, false);
        assert_eq!(events[0]["usage"]["completion_tokens"], 0);
        assert_eq!(events[1]["usage"]["completion_tokens"], 1);
    }
}
