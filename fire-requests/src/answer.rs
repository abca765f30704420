//! The answer to a request, gathered event by event, and the judgement whether it is a whole one.

use records::{EventKind, Events, Micros, Outcome, TokensFrom};

use crate::{
    api::{Api, Event, Seen, Usage},
    failure::Failure,
    likeness::Likeness,
};

/// What a stream said.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// When each event was read, since the request was sent.
    pub(crate) times: Vec<Micros>,
    /// What each was, a letter an event.
    pub(crate) letters: String,
    /// Why generation ended.
    pub(crate) finish_reason: Option<String>,
    /// The server's last word on token counts.
    pub(crate) usage: Usage,
    /// What it said, if that is kept.
    pub(crate) text: Option<SavedText>,
    seen: Seen,
    likeness: Likeness,
    done: bool,
    failure: Option<Failure>,
}

/// The text of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SavedText {
    /// Content.
    pub(crate) content: String,
    /// Thinking.
    pub(crate) thinking: String,
}

impl SavedText {
    fn add(&mut self, kind: EventKind, text: &str) {
        match kind {
            EventKind::Reasoning | EventKind::ReasoningContent => self.thinking.push_str(text),
            _ => self.content.push_str(text),
        }
    }
}

impl Answer {
    /// Keeps the text from now on, or does not.
    pub(crate) fn keep_text(&mut self, keep: bool) {
        self.text = keep.then(SavedText::default);
    }

    /// Makes room for an answer of this many tokens, so that none is made while it is read.
    pub(crate) fn expect(&mut self, tokens: Option<u64>) {
        /// Longer answers grow as they come.
        const MOST: u64 = 1 << 14;
        let events = tokens.unwrap_or_default().min(MOST) as usize;
        self.times.reserve(events);
        self.letters.reserve(events);
    }

    /// Takes the data of an event that was read at `time`. What follows the end is passed
    /// over, and so is an event without data, which keeps a connection alive.
    pub(crate) fn event(&mut self, api: &dyn Api, time: Micros, data: &[u8]) {
        if self.is_over() || data.trim_ascii().is_empty() {
            return;
        }
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return self.push(time, EventKind::Done);
        }
        if let Some((kind, text)) = self.likeness.find(data) {
            self.push(time, kind);
            if self.text.is_some() {
                self.say(kind, &String::from_utf8_lossy(text));
            }
            return;
        }
        match api.read(data, &self.seen) {
            Ok(event) => {
                if api.is_stateless() {
                    self.likeness.learn(data, &event);
                }
                self.take(time, event);
            }
            Err(error) => self.unreadable("an event", data, &error),
        }
    }

    /// Takes a whole answer that was complete at `time`.
    pub(crate) fn whole(&mut self, api: &dyn Api, time: Micros, data: &[u8]) {
        if data.trim_ascii().is_empty() {
            return;
        }
        match api.read_whole(data) {
            Ok(event) => self.take(time, event),
            Err(error) => self.unreadable("an answer", data, &error),
        }
    }

    fn take(&mut self, time: Micros, event: Event<'_>) {
        self.push(time, event.kind);
        let (text, thinking) = (event.text.unwrap_or_default(), event.thinking.unwrap_or_default());
        self.say(event.kind, &text);
        self.say(EventKind::Reasoning, &thinking);
        self.finish_reason = event.finish_reason.or(self.finish_reason.take());
        self.count(event.usage);
        self.done |= event.ends;
        self.failure = event.error.map(|message| Failure::new(Outcome::ErrorEvent, message));
    }

    fn say(&mut self, kind: EventKind, text: &str) {
        if let Some(saved) = &mut self.text {
            saved.add(kind, text);
        }
        if !matches!(kind, EventKind::Reasoning | EventKind::ReasoningContent) {
            self.seen.text_bytes += text.len();
        }
    }

    fn unreadable(&mut self, what: &str, data: &[u8], error: &serde_json::Error) {
        let shown = String::from_utf8_lossy(&data[..data.len().min(80)]);
        let message = format!("{what} that cannot be read ({error}): {shown}");
        self.failure = Some(Failure::new(Outcome::Protocol, message));
    }

    /// Whether nothing more is to be expected: the end marker came, or the answer failed.
    pub(crate) fn is_over(&self) -> bool {
        self.done || self.failure.is_some()
    }

    /// Whether the server has said that it stopped generating.
    pub(crate) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Events that carried output.
    pub(crate) fn events(&self) -> Events<'_> {
        Events::new(&self.times, &self.letters, self.usage.output)
    }

    /// Tokens generated, and whose count that is. A server that counts none, though there was output, is not believed.
    pub(crate) fn output_tokens(&self) -> Option<(u64, TokensFrom)> {
        let silent = self.events().last_output().is_none();
        if let Some(tokens) = self.usage.output.filter(|&tokens| tokens > 0 || silent) {
            return Some((tokens, TokensFrom::Usage));
        }
        let counted = self.events().output_times().count() as u64;
        (counted > 0).then_some((counted, TokensFrom::Events))
    }

    /// Whether the answer, which has come to its end after `bytes` of body, is whole.
    pub(crate) fn judge(&self, bytes: u64) -> Result<(), Failure> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let fail = |outcome, message: &str| Err(Failure::new(outcome, message));
        if self.letters.is_empty() && bytes == 0 {
            return fail(Outcome::Protocol, "an empty body");
        }
        if self.letters.is_empty() {
            return fail(
                Outcome::Protocol,
                &format!("no event in a body of {bytes} bytes; is this a stream?"),
            );
        }
        if self.letters == "d" {
            return fail(Outcome::Protocol, "nothing but [DONE]");
        }
        if !self.done && self.finish_reason.is_none() {
            return fail(Outcome::Truncated, "the stream ended without a finish reason or [DONE]");
        }
        if self.events().last_output().is_none() && self.usage.output != Some(0) {
            return fail(
                Outcome::Protocol,
                "no event carried output, and no usage says that none was generated",
            );
        }
        Ok(())
    }

    fn push(&mut self, time: Micros, kind: EventKind) {
        self.times.push(time);
        self.letters.push(kind.letter());
    }

    fn count(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        self.usage.prompt = usage.prompt.or(self.usage.prompt);
        self.usage.output = usage.output.or(self.usage.output);
        self.usage.cached = usage.cached.or(self.usage.cached);
        self.seen.output_tokens = self.usage.output;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api;

    fn judged(events: &[&str]) -> (String, Result<(), Failure>) {
        let mut answer = Answer::default();
        for (at, event) in events.iter().enumerate() {
            answer.event(api::named("openai"), Micros::new(at as f64), event.as_bytes());
        }
        let judged = answer.judge(events.iter().map(|event| event.len() as u64).sum());
        (answer.letters, judged)
    }

    const TOKEN: &str = r#"{"choices":[{"text":"a"}]}"#;
    const LAST: &str = r#"{"choices":[{"text":"b","finish_reason":"length"}]}"#;
    const FINISH: &str = r#"{"choices":[{"finish_reason":"stop"}]}"#;
    const NONE: &str = r#"{"choices":[],"usage":{"completion_tokens":0}}"#;
    const ERROR: &str = r#"{"error":{"message":"engine died"}}"#;

    #[test]
    fn whole_answers_succeed() {
        for (events, letters) in [
            (&[TOKEN, LAST, "[DONE]"] as &[&str], "ccd"),
            (&[TOKEN, LAST], "cc"),
            (&[TOKEN, "[DONE]"], "cd"),
            (&[FINISH, NONE, "[DONE]"], "fud"),
            (&[TOKEN, LAST, "[DONE]", "rubbish"], "ccd"),
            (&[TOKEN, "", LAST], "cc"),
        ] {
            assert_eq!(judged(events), (letters.to_owned(), Ok(())), "{events:?}");
        }
    }

    #[test]
    fn tokens_are_the_servers_unless_it_denies_them() {
        const SAID: &str = r#"{"choices":[],"usage":{"completion_tokens":7}}"#;
        for (events, tokens) in [
            (&[TOKEN, LAST] as &[&str], Some((2, TokensFrom::Events))),
            (&[TOKEN, LAST, SAID], Some((7, TokensFrom::Usage))),
            (&[TOKEN, LAST, NONE], Some((2, TokensFrom::Events))),
            (&[FINISH, NONE], Some((0, TokensFrom::Usage))),
            (&[FINISH], None),
        ] {
            let mut answer = Answer::default();
            for event in events {
                answer.event(api::named("openai"), Micros::ZERO, event.as_bytes());
            }
            assert_eq!(answer.output_tokens(), tokens, "{events:?}");
        }
    }

    #[test]
    fn a_whole_answer_of_unknown_length_stays_so() {
        let mut answer = Answer::default();
        answer.whole(api::named("openai"), Micros::ZERO, LAST.as_bytes());
        assert_eq!((answer.output_tokens(), answer.judge(1)), (None, Ok(())));
    }

    #[test]
    fn thinking_is_kept_apart() {
        let mut answer = Answer::default();
        answer.keep_text(true);
        for delta in [r#"{"reasoning":"hm"}"#, r#"{"reasoning":", so","content":"A"}"#, r#"{"content":" é"}"#]
        {
            let event = format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#);
            answer.event(api::named("openai-chat"), Micros::ZERO, event.as_bytes());
        }
        let text = answer.text.unwrap();
        assert_eq!((text.content.as_str(), text.thinking.as_str()), ("A é", "hm, so"));
    }

    #[test]
    fn others_say_what_they_lack() {
        for (events, outcome, message) in [
            (&[] as &[&str], Outcome::Protocol, "an empty body"),
            (&["[DONE]"], Outcome::Protocol, "nothing but [DONE]"),
            (&[ERROR], Outcome::ErrorEvent, "engine died"),
            (&[TOKEN, ERROR, "[DONE]"], Outcome::ErrorEvent, "engine died"),
            (&[TOKEN, TOKEN], Outcome::Truncated, "the stream ended without a finish reason or [DONE]"),
            (&[FINISH, "[DONE]"], Outcome::Protocol, "no event carried output"),
            (&[TOKEN, "{"], Outcome::Protocol, "an event that cannot be read"),
        ] {
            let failure = judged(events).1.unwrap_err();
            assert_eq!(failure.outcome, outcome, "{events:?}");
            assert!(failure.message.starts_with(message), "{failure:?}");
        }
    }
}
