//! However an answer is cut, its head and the bytes of its body are the same, or it is refused all the same.
//!
//! The first byte of the input says how long the parts are; what follows is the answer.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "requests are written elsewhere")]
#[path = "../../src/http1.rs"]
mod http1;

use http1::{Head, Piece};

/// The bytes of a body that comes in parts; whether it ended; whether it was refused.
fn body<'a>(head: &Head, parts: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, bool, bool) {
    let (mut body, mut data) = (head.body(), Vec::new());
    for mut part in parts {
        loop {
            match body.next(&mut part) {
                Ok(Piece::Data(piece)) => data.extend_from_slice(piece),
                Ok(Piece::More) => break,
                Ok(Piece::End) => return (data, true, false),
                Err(_) => return (data, body.is_over(), true),
            }
        }
    }
    (data, body.is_over(), false)
}

fuzz_target!(|input: &[u8]| {
    let Some((&size, answer)) = input.split_first() else { return };
    let Ok(Some((head, length))) = Head::parse(answer) else { return };
    // A head is found as soon as it is whole, and not before.
    assert_eq!(Head::parse(&answer[..length]), Ok(Some((head.clone(), length))));
    assert_eq!(Head::parse(&answer[..length - 1]), Ok(None));
    let rest = &answer[length..];
    let whole = body(&head, std::iter::once(rest));
    assert_eq!(body(&head, rest.chunks(usize::from(size).max(1))), whole);
    assert_eq!(body(&head, rest.chunks(1)), whole);
});
