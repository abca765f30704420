//! Rows, read as they are needed: a thread reads, checks and serialises, a short channel holds it back.

use std::{
    collections::{HashSet, VecDeque},
    fmt::Write,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::header::HeaderValue;
use records::{Error, Lines, Prompt, Result};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::{
    body::Template,
    conversation::{self, Turn},
    shard::Shard,
};

/// Rows read ahead: enough for bursts, few enough that long prompts do not fill the memory.
const AHEAD: usize = 64;

/// Bytes of bodies that are read ahead to know how many connections to open.
const MOST_BYTES_AHEAD: usize = 256 << 20;

/// Most words a dataset may have drawn from NumPy's generator: they are drawn again before the run, in some seconds.
const MOST_WORDS: u64 = 1 << 30;

/// A row, ready to be sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// As given, or its number.
    pub(crate) id: String,
    /// Its label.
    pub(crate) workload: Option<String>,
    /// Prompt tokens, as it states them.
    pub(crate) prompt_tokens: Option<u64>,
    /// Output tokens asked for.
    pub(crate) max_tokens: Option<u64>,
    /// When to send it, since the run's start.
    pub(crate) at: Option<Duration>,
    /// What its dataset has drawn from NumPy's generator.
    pub(crate) numpy_words: u64,
    /// The request's `x-request-id`.
    pub(crate) request_id: Option<HeaderValue>,
    /// The request's body.
    pub(crate) body: Bytes,
    /// Its number among those that are sent by the schedule, counted from 0: rows, and first turns of conversations.
    pub(crate) number: u64,
    /// Whether it has its answer already, from a run before.
    pub(crate) done: bool,
    /// The server that it goes to, by its number.
    pub(crate) site: usize,
    /// Its place in a conversation.
    pub(crate) turn: Option<Turn>,
    /// The turns after it; their bodies cannot be made yet.
    pub(crate) later: Vec<Row>,
}

impl Row {
    /// How many requests it makes: one, or as many as its conversation has turns.
    pub(crate) fn requests(&self) -> u64 {
        1 + self.later.len() as u64
    }
}

/// What the reading thread hands over.
pub(crate) enum Item {
    /// The next row.
    Row(Box<Row>),
    /// The input is used up: the hash over all its rows.
    End(String),
    /// The input cannot be used further.
    Bad(Error),
}

/// What a schedule must know of its rows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent {
    /// How many do not say themselves when to send them.
    pub(crate) count: usize,
    /// What their dataset has drawn from NumPy's generator.
    pub(crate) numpy_words: u64,
}

/// The rows, in their order.
pub(crate) struct Feed {
    /// Taken from the reading thread already.
    ahead: VecDeque<Item>,
    items: mpsc::Receiver<Item>,
}

impl Feed {
    /// The next item; `None` after the last.
    pub(crate) async fn next(&mut self) -> Option<Item> {
        match self.ahead.pop_front() {
            Some(item) => Some(item),
            None => self.items.recv().await,
        }
    }

    /// The first row, which remains the next.
    pub(crate) async fn peek(&mut self) -> Option<&Row> {
        if self.ahead.is_empty() {
            self.ahead.extend(self.items.recv().await);
        }
        match self.ahead.front() {
            Some(Item::Row(row)) => Some(row),
            _ => None,
        }
    }

    /// Reads up to `most` rows ahead, for a moment. Returns how many there are now.
    pub(crate) async fn gather(&mut self, most: usize) -> usize {
        /// In which a program writes what it has, or begins to write slowly.
        const LONGEST: Duration = Duration::from_millis(200);
        let (mut bytes, until) = (0, Instant::now() + LONGEST);
        while self.ahead.len() < most && bytes < MOST_BYTES_AHEAD {
            let Ok(Some(item)) = tokio::time::timeout_at(until.into(), self.items.recv()).await else {
                break;
            };
            bytes += if let Item::Row(row) = &item { row.body.len() } else { 0 };
            self.ahead.push_back(item);
        }
        self.ahead.iter().filter(|item| matches!(item, Item::Row(_))).count().min(most)
    }

    /// Reads to the end, for what a schedule must know. What makes the input
    /// unusable comes before all rows then: none is sent on a schedule made for fewer than there are.
    pub(crate) async fn read_all(&mut self) -> Extent {
        while let Some(item) = self.items.recv().await {
            match item {
                Item::Bad(_) => self.ahead.push_front(item),
                _ => self.ahead.push_back(item),
            }
        }
        let rows =
            || self.ahead.iter().filter_map(|item| if let Item::Row(row) = item { Some(row) } else { None });
        Extent {
            count: rows().filter(|row| row.at.is_none() && !row.done).count(),
            numpy_words: rows().next().map_or(0, |row| row.numpy_words),
        }
    }

    /// Stops reading. Returns how many requests were read and not taken, of those that this machine would send.
    pub(crate) fn close(mut self, shard: Option<Shard>) -> u64 {
        self.items.close();
        let rest = std::iter::from_fn(|| self.items.try_recv().ok());
        let mine = |row: &Row| !row.done && shard.is_none_or(|shard| shard.has(row.number));
        let requests = |item| match item {
            Item::Row(row) if mine(&row) => row.requests(),
            _ => 0,
        };
        self.ahead.into_iter().chain(rest).map(requests).sum()
    }
}

/// What becomes of rows besides their bodies.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The ids of those that have an answer already, when a run is resumed.
    pub(crate) resumed: Option<HashSet<String>>,
    /// `--time-scale`.
    pub(crate) time_scale: Option<f64>,
}

/// Starts reading `lines`; ids are sent after `id_prefix`, if there is one. The thread ends with its input, or when
/// the feed is closed.
pub(crate) fn start(lines: Lines, template: Arc<Template>, id_prefix: Option<String>, plan: Plan) -> Feed {
    let (sender, items) = mpsc::channel(AHEAD);
    thread::spawn(move || {
        let Plan { resumed, time_scale } = plan;
        let ids = Ids { resumed, seen: HashSet::new(), warned: false };
        let mut reader = Reader {
            lines,
            template,
            id_prefix,
            ids,
            time_scale,
            words: Vec::new(),
            count: 0,
            last_at: None,
            hash: Sha256::new(),
        };
        // The turns of a conversation may stand anywhere: from the first on, all rows are read before one is handed on.
        let mut held = Vec::new();
        let last = loop {
            match reader.next() {
                Ok(Some(row)) if row.turn.is_some() || !held.is_empty() => held.push(row),
                Ok(Some(row)) => {
                    if sender.blocking_send(Item::Row(row.into())).is_err() {
                        return;
                    }
                }
                Ok(None) => match reader.chained(held) {
                    Ok(rows) => {
                        if rows.into_iter().any(|row| sender.blocking_send(Item::Row(row.into())).is_err()) {
                            return;
                        }
                        break Item::End(hex(&reader.hash.finalize_reset()));
                    }
                    Err(error) => break Item::Bad(error),
                },
                Err(error) => break Item::Bad(error),
            }
        };
        let _ = sender.blocking_send(last);
    });
    Feed { ahead: VecDeque::new(), items }
}

/// Which ids there have been.
struct Ids {
    /// Those of rows that have an answer already.
    resumed: Option<HashSet<String>>,
    /// Hashes: a dataset may have millions.
    seen: HashSet<u64>,
    warned: bool,
}

impl Ids {
    /// Notes that a row has this id. Fails if that would leave rows unsent.
    fn add(&mut self, id: &str, line: u64) -> std::result::Result<(), String> {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        if self.seen.insert(hasher.finish()) {
            return Ok(());
        }
        if self.resumed.is_some() {
            return Err(
                "`id` is that of an earlier row, so that --resume cannot tell them apart; give each its own"
                    .to_owned(),
            );
        }
        if !std::mem::replace(&mut self.warned, true) {
            eprintln!(
                "fire-requests: warning: line {line}: id \"{}\" is that of an earlier row; rows cannot be told apart by it",
                id.escape_debug()
            );
        }
        Ok(())
    }

    fn is_done(&self, id: &str) -> bool {
        self.resumed.as_ref().is_some_and(|done| done.contains(id))
    }
}

struct Reader {
    lines: Lines,
    ids: Ids,
    time_scale: Option<f64>,
    /// What the first row says of `numpy_words`; empty before that.
    words: Vec<Option<u64>>,
    template: Arc<Template>,
    id_prefix: Option<String>,
    count: u64,
    last_at: Option<f64>,
    hash: Sha256,
}

impl Reader {
    fn next(&mut self) -> Result<Option<Row>> {
        loop {
            let Some(line) = self.lines.next_line()? else { return self.end() };
            let number = line.number;
            let prompt = match Prompt::from_row(line.text) {
                Ok(Some(prompt)) => prompt,
                Ok(None) => continue,
                Err(problem) => return Err(self.lines.error(number, problem)),
            };
            return self.row(prompt, number).map(Some).map_err(|problem| self.lines.error(number, problem));
        }
    }

    fn end(&self) -> Result<Option<Row>> {
        if self.count == 0 {
            let file = self.lines.file();
            return Err(Error::usage(format!(
                "{file}: no rows, so nothing to send; was the stage before it cut short?"
            )));
        }
        Ok(None)
    }

    fn chained(&self, rows: Vec<Row>) -> Result<Vec<Row>> {
        conversation::chained(rows).map_err(|(line, problem)| self.lines.error(line, problem))
    }

    fn row(&mut self, mut prompt: Prompt, line: u64) -> std::result::Result<Row, String> {
        let id = prompt.id.take().unwrap_or_else(|| self.count.to_string());
        self.count += 1;
        if let Some(words) = prompt.numpy_words.filter(|words| *words > MOST_WORDS) {
            return Err(format!("`numpy_words` is {words}; no dataset draws more than {MOST_WORDS}"));
        }
        refuse_empty(&prompt)?;
        if self.words.is_empty() {
            self.words.push(prompt.numpy_words);
        }
        if self.words[0] != prompt.numpy_words {
            return Err(
                "`numpy_words` is not that of the first row; rows of several datasets have no common seed"
                    .to_owned(),
            );
        }
        self.ids.add(&id, line)?;
        self.hash.update(hashed(&id, &prompt)?);
        if self.ids.resumed.is_some() && prompt.session.is_some() {
            return Err(
                "`session`: a conversation cannot be resumed in its middle; leave --resume out".to_owned()
            );
        }
        let done = self.ids.is_done(&id);
        Ok(Row {
            number: self.count - 1,
            done,
            request_id: self.request_id(&id)?,
            id,
            workload: prompt.workload.take(),
            prompt_tokens: prompt.prompt_tokens,
            max_tokens: prompt.max_tokens,
            numpy_words: prompt.numpy_words.unwrap_or(0),
            at: self.at(&prompt)?,
            site: 0,
            turn: Turn::of(&prompt, line),
            later: Vec::new(),
            body: self.template.body(prompt)?.into(),
        })
    }

    fn request_id(&self, id: &str) -> std::result::Result<Option<HeaderValue>, String> {
        let Some(prefix) = &self.id_prefix else { return Ok(None) };
        let value = HeaderValue::from_bytes(format!("{prefix}{id}").as_bytes());
        value.map(Some).map_err(|_| "`id`: a control character in it, which no header may have".to_owned())
    }

    fn at(&mut self, prompt: &Prompt) -> std::result::Result<Option<Duration>, String> {
        let Some(at) = prompt.at_us else {
            let missing =
                self.time_scale.map(|_| "no `at_us`, which --time-scale multiplies; add it".to_owned());
            return missing.map_or(Ok(None), Err);
        };
        if self.last_at.replace(at.us()).is_some_and(|last| last > at.us()) {
            return Err("`at_us` lies before that of an earlier row; sort the rows by it".to_owned());
        }
        let at = Duration::try_from_secs_f64(at.secs() * self.time_scale.unwrap_or(1.0));
        at.map(Some).map_err(|_| "`at_us` must be 0 or more microseconds".to_owned())
    }
}

/// Servers answer such rows with an error, or with something else than was meant to be measured.
fn refuse_empty(prompt: &Prompt) -> std::result::Result<(), String> {
    if prompt.prompt.as_deref() == Some("") {
        return Err("`prompt` is empty; give it a text, or delete the row".to_owned());
    }
    if prompt.messages.as_ref().is_some_and(Vec::is_empty) {
        return Err("`messages` is empty; give it a message, or delete the row".to_owned());
    }
    if prompt.max_tokens == Some(0) {
        return Err("`max_tokens` is 0; ask for 1 or more, or leave it out".to_owned());
    }
    Ok(())
}

/// What the dataset's hash is taken over: `[id,prompt,messages,max_tokens]` as compact JSON, null for what is absent,
/// and a newline.
fn hashed(id: &str, prompt: &Prompt) -> std::result::Result<String, String> {
    let fields = (id, &prompt.prompt, &prompt.messages, prompt.max_tokens);
    serde_json::to_string(&fields).map(|line| line + "\n").map_err(|error| error.to_string())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::Args;

    fn read(text: &'static str) -> (Vec<Row>, std::result::Result<String, String>) {
        let args = Args::try_parse_from(["x"]).unwrap();
        let template = Template::new(&args, "m", serde_json::Map::new());
        let mut items = start(
            Lines::new("rows.jsonl", Box::new(text.as_bytes())),
            template.into(),
            None,
            Plan::default(),
        )
        .items;
        let mut rows = Vec::new();
        loop {
            match items.blocking_recv().unwrap() {
                Item::Row(row) => rows.push(*row),
                Item::End(hash) => return (rows, Ok(hash)),
                Item::Bad(error) => return (rows, Err(error.to_string())),
            }
        }
    }

    #[test]
    fn rows_without_an_id_are_numbered() {
        let (rows, _) = read(
            "{\"prompt\":\"a\"}\n{\"prompt\":\"b\",\"id\":\"x\"}\n{\"kind\":\"gpu\"}\n{\"prompt\":\"c\"}\n",
        );
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["0", "x", "2"]);
    }

    #[test]
    fn the_hash_is_that_of_the_work() {
        let hash = |text| read(text).1.unwrap();
        let one = hash("{\"prompt\":\"a\",\"max_tokens\":3}\n");
        assert_eq!(one.len(), 64);
        assert_eq!(
            one,
            hash("{\"kind\":\"prompt\",\"id\":0,\"output_tokens\":3,\"prompt\":\"a\",\"workload\":\"w\"}")
        );
        assert_ne!(one, hash("{\"prompt\":\"a\",\"max_tokens\":4}\n"));
        assert_ne!(one, hash("{\"prompt\":\"b\",\"max_tokens\":3}\n"));
    }

    #[test]
    fn rows_that_cannot_be_used_name_their_place_and_the_remedy() {
        for (text, part) in [
            ("{\"prompt\":\"a\"}\n{\"text\":\"b\"}\n", "rows.jsonl:2: no `prompt` or `messages`"),
            ("{\"prompt\":\"a\",\"temperature\":0}\n", "rows.jsonl:1: `temperature` would be lost"),
            ("{\"prompt\":\"a\",\"temperature\":0}\n", "extra_body"),
            ("{\"kind\":\"timing\",\"outcome\":\"ok\"}\n", "rows.jsonl:1: a timing record"),
            ("{\"messages\":[{\"role\":\"user\"}]}\n", "--backend openai-chat"),
            ("{\"messages\":[]}\n", "`messages` is empty"),
            ("{\"prompt\":\"\"}\n", "rows.jsonl:1: `prompt` is empty"),
            ("{\"prompt\":\"a\",\"max_tokens\":0}\n", "`max_tokens` is 0"),
            ("{\"prompt\":\"a\",\"at_us\":9}\n{\"prompt\":\"a\",\"at_us\":8}\n", "rows.jsonl:2: `at_us`"),
            ("{\"prompt\":\"a\",\"at_us\":-1}\n", "0 or more"),
            ("{\"prompt\":\"a\"}{\"prompt\":\"b\"}\n", "rows.jsonl:1: more follows"),
        ] {
            let problem = read(text).1.unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
