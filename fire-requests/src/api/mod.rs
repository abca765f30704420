//! The APIs that can be spoken: one small file each, and one line in the table.

mod anthropic;
mod chat;
mod choices;
mod completions;
mod event;
mod llamacpp;
mod ollama;
mod repair;
mod responses;
mod row;
mod sglang;
mod text;
mod tgi;

use records::{EventKind, Prompt};
use serde_json::Value;

use crate::like::Like;

pub(crate) use event::{Event, Usage, WireError};

/// All backends, the default first.
const ALL: [&dyn Api; 8] = [
    &completions::Completions,
    &chat::Chat,
    &responses::Responses,
    &anthropic::Anthropic,
    &sglang::Sglang,
    &tgi::Tgi,
    &llamacpp::LlamaCpp,
    &ollama::Ollama,
];

/// Fields of a body with their values, in their order.
pub(crate) type Fields = Vec<(&'static str, Value)>;

/// How an answer is cut into events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// A JSON document a line.
    Lines,
}

/// What a stream has said so far, for those whose events build on each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Bytes of content, thinking left out.
    pub(crate) text_bytes: usize,
    /// The server's last count of output tokens.
    pub(crate) output_tokens: Option<u64>,
}

/// How one API is spoken.
///
/// A new one needs its endpoint, its fields, and [`Api::parse`]; what is left has a default, which is `OpenAI`'s way.
pub trait Api: Sync {
    /// Its name, by vLLM's `--backend` where that knows it.
    fn name(&self) -> &'static str;
    /// Path of its endpoint for a streamed answer or a whole one.
    fn endpoint(&self, stream: bool) -> &'static str;
    /// Path of the list of its models.
    fn models_path(&self) -> &'static str {
        "/v1/models"
    }
    /// Headers that it wants, the key's among them; `get` looks up an environment variable.
    fn headers(&self, get: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
        get("OPENAI_API_KEY").map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    /// Whether a request names the model; else the server has but one.
    fn names_model(&self) -> bool {
        true
    }
    /// The fields that hold the input; or what is wrong with the row, and the remedy.
    fn input(&self, prompt: Prompt, like: Option<Like>) -> Result<Fields, String>;
    /// The object in the body that holds length and sampling; none: the body itself.
    fn section(&self) -> Option<&'static str> {
        None
    }
    /// The field that limits the output.
    fn length_field(&self) -> &'static str;
    /// All fields that may limit the output, for `--length-field`.
    fn length_fields(&self) -> &'static [&'static str] {
        &[]
    }
    /// Its name of a sampling field, given that of vLLM; none: it has no such field.
    fn sampling_field(&self, name: &'static str) -> Option<&'static str>;
    /// The fields that ask for a streamed answer or a whole one.
    fn mode(&self, stream: bool) -> Fields {
        vec![("stream", stream.into())]
    }
    /// The fields that vLLM's client adds right before the length, and right after it; none: `--like` is not for this
    /// API.
    fn vllm_fields(&self) -> Option<[Option<(&'static str, Value)>; 2]> {
        None
    }

    /// How a stream is cut.
    fn framing(&self) -> Framing {
        Framing::Sse
    }
    /// Whether what an event says depends on the event alone.
    fn is_stateless(&self) -> bool {
        true
    }
    /// Reads one event of a stream, which must be strict JSON; [`Api::read`] is for those that are not.
    fn parse<'a>(&self, data: &'a [u8], seen: &Seen) -> Result<Event<'a>, serde_json::Error>;
    /// Reads a whole answer, strict JSON again.
    fn parse_whole<'a>(&self, data: &'a [u8]) -> Result<Event<'a>, serde_json::Error> {
        self.parse(data, &Seen::default()).map(Event::into_whole)
    }

    /// Reads one event that is not `OpenAI`'s end marker. Its text borrows from `data` where that holds it without
    /// escapes. Fails only on what is no JSON even when repaired, or is not the API's.
    fn read<'a>(&self, data: &'a [u8], seen: &Seen) -> Result<Event<'a>, serde_json::Error> {
        tolerant(data, |data| self.parse(data, seen))
    }
    /// Reads the whole answer to a request that asked for no stream; fails as [`Api::read`].
    fn read_whole<'a>(&self, data: &'a [u8]) -> Result<Event<'a>, serde_json::Error> {
        tolerant(data, |data| self.parse_whole(data))
    }
}

/// Parses; if that fails, parses a repaired copy. A finish reason that means failure becomes an error.
fn tolerant<'a>(
    data: &'a [u8],
    parse: impl for<'b> Fn(&'b [u8]) -> Result<Event<'b>, serde_json::Error>,
) -> Result<Event<'a>, serde_json::Error> {
    if data.trim_ascii() == b"null" {
        return Ok(Event::of(EventKind::Other));
    }
    let event = parse(data).or_else(|error| match repair::repaired(data) {
        Some(copy) => parse(&copy).map(Event::into_owned),
        None => Err(error),
    });
    event.map(Event::or_failed)
}

/// The names that `--backend` takes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|api| api.name())
}

/// The backend of this name; the default if there is none, which `--backend` rules out.
pub(crate) fn named(name: &str) -> &'static dyn Api {
    ALL.into_iter().find(|api| api.name() == name).unwrap_or(ALL[0])
}
