//! Server-sent events, read the slow and obvious way: what the splitter is held against, in tests and in fuzzing.

/// The data of the events that are complete in `stream`; and, if it has `ended`, of the one that was in progress.
pub(crate) fn events(stream: &[u8], ended: bool) -> Vec<Vec<u8>> {
    let mut lines = lines(stream);
    let rest = lines.pop().unwrap_or_default();
    if ended {
        lines.extend([rest, Vec::new()]);
    }
    if let Some(first) = lines.first_mut()
        && first.starts_with(b"\xEF\xBB\xBF")
    {
        first.drain(..3);
    }
    let (mut events, mut data) = (Vec::new(), Vec::new());
    for line in lines {
        if line.is_empty() && !data.is_empty() {
            events.push(std::mem::take(&mut data).join(&b'\n'));
        } else if let Some(value) = line.strip_prefix(b"data:") {
            data.push(value.strip_prefix(b" ").unwrap_or(value).to_vec());
        }
    }
    events
}

/// What LF, CR LF and CR end; and last, maybe empty, what nothing has ended yet.
fn lines(stream: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = vec![Vec::new()];
    let mut before = 0;
    for &byte in stream {
        match byte {
            b'\n' if before == b'\r' => {}
            b'\n' | b'\r' => lines.push(Vec::new()),
            _ => lines.last_mut().expect("there is always one").push(byte),
        }
        before = byte;
    }
    lines
}
