//! Bodies that a proxy has compressed unasked.

use std::io::{self, Write};

use flate2::write::{GzDecoder, ZlibDecoder};

/// Decodes a body as its bytes come.
pub(crate) enum Inflate {
    /// `gzip`
    Gzip(GzDecoder<Vec<u8>>),
    /// `deflate`
    Deflate(ZlibDecoder<Vec<u8>>),
}

impl Inflate {
    /// For a `Content-Encoding`; `None` if it is another.
    pub(crate) fn new(encoding: &str) -> Option<Self> {
        match encoding {
            "gzip" | "x-gzip" => Some(Self::Gzip(GzDecoder::new(Vec::new()))),
            "deflate" => Some(Self::Deflate(ZlibDecoder::new(Vec::new()))),
            _ => None,
        }
    }

    /// All that can be decoded so far and was not handed out before.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Deflate(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    #[test]
    fn every_flushed_part_comes_out_at_once() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut decoder = Inflate::new("gzip").unwrap();
        for part in ["data: a\n\n", "data: b\n\n"] {
            encoder.write_all(part.as_bytes()).unwrap();
            encoder.flush().unwrap();
            let bytes = std::mem::take(encoder.get_mut());
            assert_eq!(decoder.push(&bytes).unwrap(), part.as_bytes());
        }
        assert!(decoder.push(&encoder.finish().unwrap()).unwrap().is_empty());
        assert!(Inflate::new("br").is_none());
    }

    #[test]
    fn what_is_not_compressed_is_an_error() {
        assert!(Inflate::new("gzip").unwrap().push(b"data: plain text, whatever the head says\n\n").is_err());
    }
}
