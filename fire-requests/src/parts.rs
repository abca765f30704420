//! What benches and the fuzz target look at by themselves. No interface: it changes as they need.

use records::Micros;

use crate::{
    answer::Answer,
    api,
    reception::{Reception, Step},
    sse::Splitter,
};

/// Splits a stream, given in these parts, into the data of its events.
pub fn split<'a>(parts: impl IntoIterator<Item = &'a [u8]>, on_event: &mut impl FnMut(&[u8])) {
    let mut splitter = Splitter::default();
    for part in parts {
        splitter.push(part, on_event);
    }
    splitter.finish(on_event);
}

/// Reads an HTTP answer of `backend`, given in these parts, to its end; returns a letter for each event.
pub fn receive<'a>(backend: &str, parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let (mut reception, mut answer) = (Reception::new(api::named(backend), true), Answer::default());
    for (at, part) in parts.into_iter().enumerate() {
        if !matches!(reception.take(part, Micros::new(at as f64), &mut answer), Ok(Step::More)) {
            break;
        }
    }
    answer.letters
}
