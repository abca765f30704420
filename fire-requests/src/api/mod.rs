//! The APIs that can be spoken: one small file each, and one line in the table.

mod chat;
mod completions;
mod event;

use records::Prompt;
use serde_json::Value;

use crate::like::Like;

pub(crate) use event::{Event, Seen, Usage, WireError};

/// How one API is spoken.
pub trait Api: Sync {
    /// Its name, by vLLM's `--backend`.
    fn name(&self) -> &'static str;
    /// Path of its endpoint.
    fn endpoint(&self) -> &'static str;
    /// The field of the body that limits the output.
    fn length_field(&self) -> &'static str;
    /// The field of the body that holds the input, and its value; or what is wrong with the row, and the remedy.
    fn input(&self, prompt: Prompt, like: Option<Like>) -> Result<(&'static str, Value), String>;
    /// The fields that vLLM's client adds right before the length, and right after it.
    fn vllm_fields(&self) -> [Option<(&'static str, Value)>; 2] {
        [None, None]
    }
    /// How events are cut out of its streams.
    fn framing(&self) -> Framing {
        Framing::Sse
    }
    /// Reads the data of one event that is not the end marker.
    fn read<'a>(&self, data: &'a [u8], seen: &Seen) -> Result<Event<'a>, serde_json::Error>;
    /// Whether what an event says depends on that event alone.
    fn is_stateless(&self) -> bool {
        true
    }
}

/// How a stream is made of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// Server-sent events.
    #[default]
    Sse,
    /// One JSON document a line.
    Lines,
}

/// All backends, the default first.
const ALL: [&dyn Api; 2] = [&completions::Completions, &chat::Chat];

/// The names that `--backend` takes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|api| api.name())
}

/// The backend of this name; the default if there is none, which `--backend` rules out.
pub(crate) fn named(name: &str) -> &'static dyn Api {
    ALL.into_iter().find(|api| api.name() == name).unwrap_or(ALL[0])
}
