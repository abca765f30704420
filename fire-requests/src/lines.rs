//! JSON lines, split out of bytes as they come.

/// Cuts a stream into lines; empty ones are passed over. Each byte is looked at once.
#[derive(Debug, Default)]
pub(crate) struct LineSplitter {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
}

impl LineSplitter {
    /// Takes the next bytes and hands on each line that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], on_event: &mut impl FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            if self.line.is_empty() {
                hand_on(&bytes[..end], on_event);
            } else {
                self.line.extend_from_slice(&bytes[..end]);
                hand_on(&self.line, on_event);
                self.line.clear();
            }
            bytes = &bytes[end + 1..];
        }
        self.line.extend_from_slice(bytes);
    }

    /// Ends the stream: a line whose end never came is handed on too.
    pub(crate) fn finish(&mut self, on_event: &mut impl FnMut(&[u8])) {
        hand_on(&std::mem::take(&mut self.line), on_event);
    }

    /// How many bytes are held back until the rest of their line comes.
    pub(crate) fn held(&self) -> usize {
        self.line.len()
    }
}

fn hand_on(line: &[u8], on_event: &mut impl FnMut(&[u8])) {
    let line = line.trim_ascii();
    if !line.is_empty() {
        on_event(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_gives_the_same_lines() {
        let bytes = "{\"a\":\"é\"}\n\r\n{\"b\":1}\r\n{\"c\":2}".as_bytes();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let (mut splitter, mut lines) = (LineSplitter::default(), Vec::new());
                let mut keep = |line: &[u8]| lines.push(String::from_utf8(line.to_vec()).unwrap());
                for part in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                    splitter.push(part, &mut keep);
                }
                splitter.finish(&mut keep);
                assert_eq!(lines, ["{\"a\":\"é\"}", "{\"b\":1}", "{\"c\":2}"], "cut at {first} and {second}");
            }
        }
    }
}
