//! The cutting of a stream into events, in the way of the API that is spoken.

use crate::{api::Framing, lines::LineSplitter, sse::Splitter};

/// Cuts a stream into events.
#[derive(Debug)]
pub(crate) enum Cutter {
    /// Server-sent events.
    Sse(Splitter),
    /// JSON lines.
    Lines(LineSplitter),
}

impl Cutter {
    /// At the beginning of a stream.
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Sse => Self::Sse(Splitter::default()),
            Framing::Lines => Self::Lines(LineSplitter::default()),
        }
    }

    /// Takes the next bytes and hands on the data of each event that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8], on_event: &mut impl FnMut(&[u8])) {
        match self {
            Self::Sse(splitter) => splitter.push(bytes, on_event),
            Self::Lines(splitter) => splitter.push(bytes, on_event),
        }
    }

    /// Ends the stream: an event whose end never came is handed on too.
    pub(crate) fn finish(&mut self, on_event: &mut impl FnMut(&[u8])) {
        match self {
            Self::Sse(splitter) => splitter.finish(on_event),
            Self::Lines(splitter) => splitter.finish(on_event),
        }
    }

    /// How many bytes are held back until the rest of their event comes.
    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Sse(splitter) => splitter.held(),
            Self::Lines(splitter) => splitter.held(),
        }
    }
}
