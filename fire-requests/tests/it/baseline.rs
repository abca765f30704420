//! The well-behaved answer that faults are measured against, played by the clock: its first token after 50 ms, then
//! one every 20 ms, eight in all.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    server::{Late, Seen, Server, Step, chunk, end, head},
    tool::{Done, fire, ms, rows},
};

/// What is sent and when, in milliseconds after the request.
pub(crate) type Plan<T> = Vec<(u64, T)>;

pub(crate) const TTFT: u64 = 50;
pub(crate) const GAP: u64 = 20;
pub(crate) const LATENCY: u64 = 190;
/// Text of the tokens.
pub(crate) const WORDS: [&str; 8] = [" w0", " w1", " w2", " w3", " w4", " w5", " w6", " w7"];
/// Prompt tokens by the server's count; the rows state another.
pub(crate) const PROMPT: u64 = 5;
/// Flags that choose the chat API.
pub(crate) const CHAT: [&str; 2] = ["--backend", "openai-chat"];

/// What a busy machine may add to a time, in milliseconds, besides what the server knows that it was late: far less
/// than any fault makes.
const SLACK: f64 = 40.0;

/// A chunk of a completion.
pub(crate) fn text(text: &str, finish: Option<&str>) -> String {
    json!({"id": "r0", "object": "text_completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "text": text, "finish_reason": finish}]})
    .to_string()
}

/// A chunk of a chat's answer.
pub(crate) fn delta(delta: &Value, finish: Option<&str>) -> String {
    json!({"id": "r0", "object": "chat.completion.chunk", "created": 0, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    .to_string()
}

/// The chunk that counts tokens.
pub(crate) fn usage(output: u64) -> String {
    json!({"id": "r0", "choices": [], "usage":
        {"prompt_tokens": PROMPT, "completion_tokens": output, "total_tokens": PROMPT + output}})
    .to_string()
}

/// When each of `count` tokens comes.
pub(crate) fn times(count: usize) -> impl Iterator<Item = u64> {
    (0..count as u64).map(|token| TTFT + token * GAP)
}

/// A completion of these tokens, up to its finish reason.
pub(crate) fn tokens(words: &[&str], finish: Option<&str>) -> Plan<String> {
    let is_last = |at| at + 1 == words.len();
    let each = words.iter().enumerate();
    times(words.len())
        .zip(each)
        .map(|(ms, (at, word))| (ms, text(word, finish.filter(|_| is_last(at)))))
        .collect()
}

/// `plan`, and with its last event these.
pub(crate) fn then(mut plan: Plan<String>, events: &[String]) -> Plan<String> {
    let end = plan.last().map_or(TTFT, |(ms, _)| *ms);
    plan.extend(events.iter().map(|event| (end, event.clone())));
    plan
}

/// The whole answer.
pub(crate) fn completion(words: &[&str]) -> Plan<String> {
    then(tokens(words, Some("length")), &[usage(words.len() as u64), "[DONE]".to_owned()])
}

/// The events as most servers write them.
pub(crate) fn plain(plan: Plan<String>) -> Plan<Vec<u8>> {
    plan.into_iter().map(|(ms, data)| (ms, format!("data: {data}\n\n").into_bytes())).collect()
}

/// A server that keeps to a plan, and knows how well it did.
pub(crate) struct Stage {
    pub(crate) server: Server,
    late: Late,
}

impl Stage {
    /// Answers every request by the plan, the head at once.
    pub(crate) fn start(plan: Plan<Vec<u8>>) -> Self {
        Self::scripted(move |_, late| played(&plan, late))
    }

    /// Answers by a script.
    pub(crate) fn scripted(script: impl Fn(&Seen, &Late) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let late = Late::default();
        let own = Late::clone(&late);
        Self { server: Server::start(move |seen| script(seen, &own)), late }
    }

    /// Sends one row.
    pub(crate) fn fire(&self, flags: &[&str]) -> Done {
        fire(&self.server.url, flags, &rows(1))
    }

    /// Checks a time of a row: never too early, and late only as far as the machine explains it.
    pub(crate) fn on_time(&self, what: &str, ms: f64, due: f64) {
        let late = self.late.load(std::sync::atomic::Ordering::SeqCst) as f64 / 1e3;
        assert!(ms >= due - 0.5 && ms <= due + late + SLACK, "{what}: {ms} ms, not {due} (late: {late})");
    }

    /// Checks the times of a row whose output came at these times.
    pub(crate) fn output_at(&self, row: &Value, due: impl IntoIterator<Item = u64>) {
        let (due, came): (Vec<u64>, Vec<f64>) = (due.into_iter().collect(), output_ms(row));
        assert_eq!(came.len(), due.len(), "{row}");
        for (&came, &due) in came.iter().zip(&due) {
            self.on_time("an event", came, due as f64);
        }
        assert_eq!((ms(row, "ttft_us"), ms(row, "e2e_us")), (came[0], came[came.len() - 1]), "{row}");
    }

    /// Checks everything that holds for the baseline, whatever its bytes looked like.
    pub(crate) fn check(&self, row: &Value) {
        assert_eq!((&row["outcome"], &row["status"]), (&json!("ok"), &json!(200)), "{row}");
        assert_eq!((&row["output_tokens"], &row["tokens_from"]), (&json!(8), &json!("usage")), "{row}");
        assert_eq!(
            (&row["prompt_tokens"], &row["finish_reason"]),
            (&json!(PROMPT), &json!("length")),
            "{row}"
        );
        self.output_at(row, times(8));
    }
}

/// The plan as steps.
pub(crate) fn played(plan: &[(u64, Vec<u8>)], late: &Late) -> Vec<Step> {
    let at = |ms| Step::At(Duration::from_millis(ms), Late::clone(late));
    let sent = plan.iter().flat_map(|(ms, bytes)| [at(*ms), chunk(bytes)]);
    [vec![head()], sent.collect(), vec![end()]].concat()
}

/// When each event that the row takes for output came, in milliseconds.
fn output_ms(row: &Value) -> Vec<f64> {
    let letters = row["events"].as_str().unwrap().chars();
    let times = row["events_us"].as_array().unwrap();
    assert_eq!(letters.clone().count(), times.len(), "{row}");
    let output = letters.zip(times).filter(|(letter, _)| "cth".contains(*letter));
    output.map(|(_, time)| time.as_f64().unwrap() / 1e3).collect()
}
