//! However a stream is cut, its events are those that a slow reading finds, and none comes late.
//!
//! The first byte of the input says how long the parts are; what follows is the stream.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../src/sse.rs"]
mod sse;
#[path = "../../src/sse_reference.rs"]
mod sse_reference;

fuzz_target!(|input: &[u8]| {
    let Some((&size, stream)) = input.split_first() else { return };
    let (mut splitter, mut events, mut taken) = (sse::Splitter::default(), Vec::new(), 0);
    for part in stream.chunks(usize::from(size).max(1)) {
        taken += part.len();
        splitter.push(part, &mut |event| events.push(event.to_vec()));
        assert_eq!(events, sse_reference::events(&stream[..taken], false));
        assert!(splitter.held() <= taken + 1);
    }
    splitter.finish(&mut |event| events.push(event.to_vec()));
    assert_eq!(events, sse_reference::events(stream, true));
});
