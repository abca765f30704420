//! Events never depend on how their bytes are cut, and no answer makes the client panic.
//!
//!     cargo +nightly fuzz run split        (in fire-requests/fuzz's parent folder; cargo install cargo-fuzz)

#![no_main]

use fire_requests::parts;
use libfuzzer_sys::fuzz_target;

fn split<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    parts::split(parts, &mut |event| events.push(event.to_vec()));
    events
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, stream) = (usize::from(input.0) + 1, input.1);
    let whole = split([stream]);
    assert_eq!(split(stream.chunks(size)), whole);
    assert_eq!(split(stream.chunks(1)), whole);
    for backend in ["openai", "openai-chat", "openai-responses", "anthropic", "sglang", "tgi", "llamacpp", "ollama"] {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".as_slice();
        assert_eq!(
            parts::receive(backend, std::iter::once(head).chain(stream.chunks(size))),
            parts::receive(backend, [head, stream])
        );
    }
    parts::receive("openai", stream.chunks(size));
});
