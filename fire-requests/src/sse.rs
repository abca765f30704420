//! Server-sent events, split out of bytes as they come.
//!
//! The [standard](https://html.spec.whatwg.org/multipage/server-sent-events.html) as far as APIs use it: lines end in
//! LF, CRLF or CR; `:` opens a comment; one blank after `data:` is optional; several data lines of an event are
//! joined by LF; an event is complete at its blank line; a byte order mark may stand before everything. Bytes are decoded by whoever reads a whole event.

use memchr::memchr2;

/// Cuts a stream into events. Each byte is looked at once, however long a line is and however it is cut.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// The data lines of the event in progress, each followed by LF.
    data: Vec<u8>,
    /// The last byte was CR: an LF that follows belongs to it.
    after_cr: bool,
    /// A line has been taken: no byte order mark can follow.
    begun: bool,
}

impl Splitter {
    /// Takes the next bytes and hands on the data of each event that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], on_event: &mut impl FnMut(&[u8])) {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            if let Some((event, rest)) = self.between_events().then(|| whole_event(bytes)).flatten() {
                self.begun = true;
                on_event(event);
                bytes = rest;
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.line.extend_from_slice(bytes);
                return;
            };
            self.after_cr = bytes[end] == b'\r';
            self.end_line(&bytes[..end], on_event);
            bytes = &bytes[end + 1..];
        }
    }

    fn between_events(&self) -> bool {
        self.line.is_empty() && self.data.is_empty()
    }

    /// Ends the stream: an event whose blank line never came is handed on too.
    pub(crate) fn finish(&mut self, on_event: &mut impl FnMut(&[u8])) {
        self.end_line(&[], on_event);
        self.end_line(&[], on_event);
    }

    /// How many bytes are held back until the rest of their event comes.
    pub(crate) fn held(&self) -> usize {
        self.line.len() + self.data.len()
    }

    fn end_line(&mut self, tail: &[u8], on_event: &mut impl FnMut(&[u8])) {
        let begun = std::mem::replace(&mut self.begun, true);
        let unmarked = |line| if begun { line } else { without_mark(line) };
        if self.line.is_empty() {
            return Self::take_line(&mut self.data, unmarked(tail), on_event);
        }
        self.line.extend_from_slice(tail);
        Self::take_line(&mut self.data, unmarked(&self.line), on_event);
        self.line.clear();
    }

    fn take_line(data: &mut Vec<u8>, line: &[u8], on_event: &mut impl FnMut(&[u8])) {
        if line.is_empty() {
            if let Some(event) = data.strip_suffix(b"\n") {
                on_event(event);
                data.clear();
            }
        } else if let Some(value) = line.strip_prefix(b"data:") {
            data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            data.push(b'\n');
        }
    }
}

/// The data of the event that `bytes` begin with, and what follows it, if it lies there whole and is one data line:
/// the form that servers write, for which nothing needs to be copied.
fn whole_event(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let value = bytes.strip_prefix(b"data:")?;
    let end = memchr2(b'\n', b'\r', value)?;
    let (value, rest) = value.split_at(end);
    let rest = rest.strip_prefix(b"\n\n").or_else(|| rest.strip_prefix(b"\r\n\r\n"))?;
    Some((value.strip_prefix(b" ").unwrap_or(value), rest))
}

fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(parts: &[&[u8]]) -> Vec<String> {
        let (mut splitter, mut events) = (Splitter::default(), Vec::new());
        let mut keep = |event: &[u8]| events.push(String::from_utf8(event.to_vec()).unwrap());
        for part in parts {
            splitter.push(part, &mut keep);
        }
        splitter.finish(&mut keep);
        events
    }

    #[test]
    fn takes_every_legal_shape() {
        for (stream, expected) in [
            ("data: a\n\ndata: b\n\n", &["a", "b"] as &[&str]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            ("data:a\n\ndata:  b\n\n", &["a", " b"]),
            (":\n\n: ping\n\ndata: a\n: ping\n\n:\n\n", &["a"]),
            ("event: message\nid: 7\nretry: 9\ndata: a\n\n", &["a"]),
            ("data: {\ndata: }\n\n", &["{\n}"]),
            ("data\ndatum: x\n\n", &[]),
            ("data: a\n\n\n\n\ndata: b", &["a", "b"]),
            ("data: a\ndata: b\n", &["a\nb"]),
            ("\u{FEFF}data: a\n\n\u{FEFF}data: b\n\n", &["a"]),
            ("", &[]),
        ] {
            assert_eq!(events(&[stream.as_bytes()]), expected, "{stream:?}");
        }
    }

    #[test]
    fn every_cut_gives_the_same_events() {
        let stream = "\u{FEFF}data: 日本\r\n\r\n: x\r\n\r\nevent: e\ndata:{\"é\":1}\n\ndata: 😀\rdata: b\r\rdata: [DONE]\n\n";
        let bytes = stream.as_bytes();
        let whole = events(&[bytes]);
        assert_eq!(whole, ["日本", "{\"é\":1}", "😀\nb", "[DONE]"]);
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(events(&parts), whole, "cut at {first} and {second}");
            }
        }
        assert_eq!(events(&bytes.chunks(1).collect::<Vec<_>>()), whole);
    }

    #[test]
    fn an_event_is_handed_on_at_its_blank_line() {
        let (mut splitter, mut count) = (Splitter::default(), 0);
        splitter.push(b"data: a\r\n\r", &mut |_| count += 1);
        assert_eq!(count, 1);
    }

    #[test]
    fn long_lines_in_small_parts_are_not_scanned_again() {
        let line = [b"data: ".as_slice(), &vec![b'x'; 4 << 20], b"\n\n"].concat();
        let (mut splitter, mut length) = (Splitter::default(), 0);
        let began = std::time::Instant::now();
        line.chunks(1000).for_each(|part| splitter.push(part, &mut |event| length = event.len()));
        assert_eq!(length, 4 << 20);
        assert!(began.elapsed().as_secs() < 5, "4 MiB took {:?}", began.elapsed());
    }
}
