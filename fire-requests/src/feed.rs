//! Rows, read as they are needed: a thread reads, checks and serialises, a short channel holds it back.

use std::{fmt::Write, thread, time::Duration};

use bytes::Bytes;
use records::{Error, Lines, Prompt, Result};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::body::Template;

/// Rows read ahead: enough for bursts, few enough that long prompts do not fill the memory.
const AHEAD: usize = 64;

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
    /// The request's body.
    pub(crate) body: Bytes,
}

/// What the reading thread hands over.
pub(crate) enum Item {
    /// The next row.
    Row(Row),
    /// The input is used up: the hash over all its rows.
    End(String),
    /// The input cannot be used further.
    Bad(Error),
}

/// Starts reading `lines`. The thread ends with its input, or when the receiver is gone.
pub(crate) fn start(lines: Lines, template: Template) -> mpsc::Receiver<Item> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    thread::spawn(move || {
        let mut reader = Reader { lines, template, count: 0, last_at: None, hash: Sha256::new() };
        loop {
            let item = match reader.next() {
                Ok(Some(row)) => Item::Row(row),
                Ok(None) => Item::End(hex(&reader.hash.finalize_reset())),
                Err(error) => Item::Bad(error),
            };
            let last = !matches!(item, Item::Row(_));
            if sender.blocking_send(item).is_err() || last {
                return;
            }
        }
    });
    receiver
}

struct Reader {
    lines: Lines,
    template: Template,
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
            return self.row(prompt).map(Some).map_err(|problem| self.lines.error(number, problem));
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

    fn row(&mut self, mut prompt: Prompt) -> std::result::Result<Row, String> {
        let id = prompt.id.take().unwrap_or_else(|| self.count.to_string());
        self.count += 1;
        self.hash.update(hashed(&id, &prompt)?);
        Ok(Row {
            id,
            workload: prompt.workload.take(),
            prompt_tokens: prompt.prompt_tokens,
            max_tokens: prompt.max_tokens,
            at: self.at(&prompt)?,
            body: self.template.body(prompt)?.into(),
        })
    }

    fn at(&mut self, prompt: &Prompt) -> std::result::Result<Option<Duration>, String> {
        let Some(at) = prompt.at_us else { return Ok(None) };
        if self.last_at.replace(at.us()).is_some_and(|last| last > at.us()) {
            return Err("`at_us` lies before that of an earlier row; sort the rows by it".to_owned());
        }
        let at = Duration::try_from_secs_f64(at.secs());
        at.map(Some).map_err(|_| "`at_us` must be 0 or more microseconds".to_owned())
    }
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
        let template = Template::new(args.backend, "m", &args.sampling);
        let mut items = start(Lines::new("rows.jsonl", Box::new(text.as_bytes())), template);
        let mut rows = Vec::new();
        loop {
            match items.blocking_recv().unwrap() {
                Item::Row(row) => rows.push(row),
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
            ("{\"messages\":[]}\n", "--backend openai-chat"),
            ("{\"prompt\":\"a\",\"at_us\":9}\n{\"prompt\":\"a\",\"at_us\":8}\n", "rows.jsonl:2: `at_us`"),
            ("{\"prompt\":\"a\",\"at_us\":-1}\n", "0 or more"),
            ("{\"prompt\":\"a\"}{\"prompt\":\"b\"}\n", "rows.jsonl:1: more follows"),
        ] {
            let problem = read(text).1.unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
