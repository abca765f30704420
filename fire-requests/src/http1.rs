//! HTTP/1.1 answers, taken apart as their bytes come. Pure: no socket, no clock.
//!
//! A library's client hands each chunk of a body through a channel of its own; here a chunk is a slice of the buffer
//! that the socket was read into. The head is httparse's work; the body is cut by [RFC 9112], sections 6 and 7.
//!
//! [RFC 9112]: https://www.rfc-editor.org/rfc/rfc9112

use std::str;

/// Most bytes of a head.
const LARGEST_HEAD: usize = 256 << 10;
/// Most header fields of a head.
const MOST_FIELDS: usize = 256;

/// What the head of an answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// Status code; never one of the interim ones below 200.
    pub(crate) status: u16,
    /// Reason phrase.
    pub(crate) reason: String,
    /// Media type, without its parameters, in lower case.
    pub(crate) content_type: String,
    /// `Content-Encoding`, in lower case, when it is not `identity`.
    pub(crate) encoding: Option<String>,
    /// Where a redirect leads to.
    pub(crate) location: Option<String>,
    /// Whether the connection stays open after the body.
    pub(crate) keep_alive: bool,
    framing: Framing,
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Chunked,
    Length(u64),
    UntilClose,
}

impl Head {
    /// The head at the beginning of `bytes`, and how long it is; `None` while it is not whole. Interim answers
    /// (100, 103) before it are passed over.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, String> {
        let mut at = 0;
        loop {
            let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
            let mut response = httparse::Response::new(&mut fields);
            match response.parse(&bytes[at..]).map_err(|error| format!("not an HTTP answer: {error}"))? {
                httparse::Status::Partial if bytes.len() > LARGEST_HEAD => {
                    return Err(format!("a head of more than {LARGEST_HEAD} bytes"));
                }
                httparse::Status::Partial => return Ok(None),
                httparse::Status::Complete(length) => {
                    at += length;
                    if response.code.is_some_and(|code| code >= 200 || code == 101) {
                        return Self::of(&response).map(|head| Some((head, at)));
                    }
                }
            }
        }
    }

    /// What follows the head.
    pub(crate) fn body(&self) -> Body {
        Body { state: self.framing.start() }
    }

    fn of(response: &httparse::Response<'_, '_>) -> Result<Self, String> {
        let text = |value: &[u8]| String::from_utf8_lossy(value).trim().to_owned();
        let field = |name: &str| {
            let mut named = response.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
            named.next_back().map(|field| text(field.value))
        };
        let lower = |name: &str| field(name).map(|value| value.to_ascii_lowercase());
        let status = response.code.unwrap_or_default();
        let framing = framing(status, lower("transfer-encoding"), field("content-length"))?;
        let connection = lower("connection").unwrap_or_default();
        let keeps = if response.version == Some(0) {
            connection.contains("keep-alive")
        } else {
            !connection.contains("close")
        };
        let media = lower("content-type").unwrap_or_default();
        Ok(Self {
            status,
            reason: response.reason.unwrap_or_default().to_owned(),
            content_type: media.split(';').next().unwrap_or_default().trim().to_owned(),
            encoding: lower("content-encoding")
                .filter(|encoding| !encoding.is_empty() && encoding != "identity"),
            location: field("location"),
            keep_alive: keeps && framing != Framing::UntilClose,
            framing,
        })
    }
}

fn framing(status: u16, transfer: Option<String>, length: Option<String>) -> Result<Framing, String> {
    if status == 204 || status == 304 {
        return Ok(Framing::Length(0));
    }
    match (transfer, length) {
        (Some(transfer), _) if transfer.ends_with("chunked") => Ok(Framing::Chunked),
        (Some(_), _) | (None, None) => Ok(Framing::UntilClose),
        (None, Some(length)) => length
            .parse()
            .map(Framing::Length)
            .map_err(|_| format!("a Content-Length that is no number: {length}")),
    }
}

impl Framing {
    fn start(self) -> State {
        match self {
            Self::Chunked => State::SIZE,
            Self::Length(0) => State::End,
            Self::Length(left) => State::Counted(left),
            Self::UntilClose => State::UntilClose,
        }
    }
}

/// A body in progress.
#[derive(Debug)]
pub(crate) struct Body {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the size of a chunk, of so many digits so far.
    Size {
        size: u64,
        digits: u8,
    },
    /// In what may follow the size on its line.
    Extension {
        size: u64,
    },
    /// In a chunk.
    Chunk(u64),
    /// Behind a chunk, before the end of its line.
    AfterChunk,
    /// In the lines behind the last chunk; whether the one in progress is empty so far.
    Trailer {
        empty: bool,
    },
    /// In a body of known length.
    Counted(u64),
    UntilClose,
    End,
}

/// The next piece of a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Some of its bytes.
    Data(&'a [u8]),
    /// All bytes given are used up.
    More,
    /// The body has ended; what is left of the bytes given belongs to no answer.
    End,
}

impl Body {
    /// Takes the next piece off `bytes`.
    pub(crate) fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Piece<'a>, String> {
        loop {
            if self.state == State::SIZE
                && let Some((size, rest)) = whole_size(bytes)
            {
                (*bytes, self.state) = (rest, State::Chunk(size));
            }
            match self.state {
                State::End => return Ok(Piece::End),
                _ if bytes.is_empty() => return Ok(Piece::More),
                State::UntilClose => return Ok(Piece::Data(std::mem::take(bytes))),
                State::Counted(left) => {
                    let data = split(bytes, left);
                    let left = left - data.len() as u64;
                    self.state = if left == 0 { State::End } else { State::Counted(left) };
                    return Ok(Piece::Data(data));
                }
                State::Chunk(left) => {
                    let data = split(bytes, left);
                    let left = left - data.len() as u64;
                    self.state = if left == 0 { State::AfterChunk } else { State::Chunk(left) };
                    if let Some(rest) = bytes.strip_prefix(b"\r\n").filter(|_| left == 0) {
                        (*bytes, self.state) = (rest, State::SIZE);
                    }
                    return Ok(Piece::Data(data));
                }
                _ => {
                    self.state = self.state.framed(bytes[0])?;
                    *bytes = &bytes[1..];
                }
            }
        }
    }

    /// Whether the body has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::End
    }

    /// Whether the connection's end is the body's end.
    pub(crate) fn ends_with_connection(&self) -> bool {
        self.state == State::UntilClose
    }
}

impl State {
    /// Before the size of a chunk.
    const SIZE: Self = Self::Size { size: 0, digits: 0 };

    /// The state after a byte that is none of the body's own.
    fn framed(self, byte: u8) -> Result<Self, String> {
        /// Of a `u64` in hexadecimal.
        const MOST_DIGITS: u8 = 16;
        let bad = |what: &str| Err(format!("bad chunk framing: {what} {:?}", char::from(byte)));
        Ok(match (self, byte) {
            (Self::Size { size, digits }, _) => match char::from(byte).to_digit(16) {
                Some(digit) if digits < MOST_DIGITS => {
                    Self::Size { size: size << 4 | u64::from(digit), digits: digits + 1 }
                }
                None if digits > 0 => return Self::Extension { size }.framed(byte),
                _ => return bad("no size but"),
            },
            (Self::Extension { size: 0 }, b'\n') => Self::Trailer { empty: true },
            (Self::Extension { size }, b'\n') => Self::Chunk(size),
            (Self::AfterChunk, b'\n') => Self::SIZE,
            (Self::AfterChunk | Self::Extension { .. } | Self::Trailer { empty: true }, b'\r') => self,
            (Self::AfterChunk, _) => return bad("a chunk longer than its size, with"),
            (Self::Trailer { empty: true }, b'\n') => Self::End,
            (Self::Trailer { .. }, _) => Self::Trailer { empty: byte == b'\n' },
            (other, _) => other,
        })
    }
}

/// The size of a chunk and what follows its line, if that is whole and the plainest there is: what the bytewise way
/// comes to as well, but sooner. The last chunk is left to that.
fn whole_size(bytes: &[u8]) -> Option<(u64, &[u8])> {
    /// Of 256 MiB less one.
    const MOST_DIGITS: usize = 7;
    let mut size = 0;
    for (at, &byte) in bytes.iter().take(MOST_DIGITS + 1).enumerate() {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'\r' if size > 0 && bytes.get(at + 1) == Some(&b'\n') => return Some((size, &bytes[at + 2..])),
            _ => return None,
        };
        size = size << 4 | u64::from(digit);
    }
    None
}

fn split<'a>(bytes: &mut &'a [u8], most: u64) -> &'a [u8] {
    let (data, rest) = bytes.split_at(usize::try_from(most).unwrap_or(usize::MAX).min(bytes.len()));
    *bytes = rest;
    data
}

/// The bytes of a request, but for its body.
pub(crate) fn request_head(path: &str, fields: &[(&str, &[u8])], length: usize) -> Vec<u8> {
    let mut head = format!("POST {path} HTTP/1.1\r\n").into_bytes();
    for (name, value) in fields {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(format!("content-length: {length}\r\n\r\n").as_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> (Head, usize) {
        Head::parse(text.as_bytes()).unwrap().unwrap()
    }

    fn body(head_text: &str, parts: &[&[u8]]) -> (Vec<u8>, bool) {
        let (mut body, mut data) = (head(head_text).0.body(), Vec::new());
        for mut part in parts.iter().copied() {
            while let Piece::Data(piece) = body.next(&mut part).unwrap() {
                data.extend_from_slice(piece);
            }
        }
        (data, body.is_over())
    }

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

    #[test]
    fn a_head_says_what_matters() {
        let text = "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\
            content-encoding: GZIP\r\ncontent-length: 7\r\n\r\nrest";
        let (head, length) = head(text);
        assert_eq!(
            (head.status, head.content_type.as_str(), head.keep_alive),
            (200, "text/event-stream", true)
        );
        assert_eq!((head.encoding.as_deref(), head.framing), (Some("gzip"), Framing::Length(7)));
        assert_eq!(length, text.len() - "rest".len());
    }

    #[test]
    fn interim_answers_are_passed_over() {
        let text =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 404 No\r\n\r\n";
        let (head, length) = head(text);
        assert_eq!((head.status, head.reason.as_str(), length), (404, "No", text.len()));
        assert_eq!(Head::parse(b"HTTP/1.1 100 Continue\r\n\r\n"), Ok(None));
    }

    #[test]
    fn connections_are_kept_where_the_end_is_known() {
        for (text, keeps) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\nConnection: Close\r\n\r\n", false),
            ("HTTP/1.1 200 OK\r\n\r\n", false),
            ("HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n", false),
            ("HTTP/1.0 200 OK\r\ncontent-length: 1\r\nconnection: keep-alive\r\n\r\n", true),
            ("HTTP/1.1 204 None\r\n\r\n", true),
            (CHUNKED, true),
        ] {
            assert_eq!(head(text).0.keep_alive, keeps, "{text}");
        }
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for text in [
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 abc\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "\u{16}\u{3}\u{1}",
        ] {
            assert!(Head::parse(text.as_bytes()).is_err(), "{text}");
        }
        let long = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(LARGEST_HEAD));
        assert!(Head::parse(long.as_bytes()).unwrap_err().contains("head of more than"));
    }

    #[test]
    fn chunks_may_be_cut_anywhere() {
        let bytes = b"4\r\nabcd\r\n1;name=value\r\ne\r\n0A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
        let whole = (b"abcde0123456789".to_vec(), true);
        assert_eq!(body(CHUNKED, &[bytes]), whole);
        for cut in 0..bytes.len() {
            assert_eq!(body(CHUNKED, &[&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
            assert!(!body(CHUNKED, &[&bytes[..cut]]).1, "ended at {cut}");
        }
        assert_eq!(body(CHUNKED, &bytes.chunks(1).collect::<Vec<_>>()), whole);
        assert_eq!(body(CHUNKED, &[b"1\na\n0\n\n"]), (b"a".to_vec(), true));
    }

    #[test]
    fn what_follows_a_body_is_left() {
        let mut rest: &[u8] = b"2\r\nab\r\n0\r\n\r\nHTTP";
        let mut body = head(CHUNKED).0.body();
        assert_eq!(body.next(&mut rest), Ok(Piece::Data(b"ab")));
        assert_eq!((body.next(&mut rest), rest), (Ok(Piece::End), b"HTTP".as_slice()));
    }

    #[test]
    fn broken_chunks_are_errors() {
        for bytes in ["x\r\n", "\r\n", "1\r\nabc", "11111111111111111\r\n"] {
            let (mut body, mut rest) = (head(CHUNKED).0.body(), bytes.as_bytes());
            let result = loop {
                match body.next(&mut rest) {
                    Ok(Piece::Data(_)) => {}
                    other => break other,
                }
            };
            assert!(result.is_err(), "{bytes}: {result:?}");
        }
    }

    #[test]
    fn a_counted_body_ends_and_an_open_one_does_not() {
        assert_eq!(
            body("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n", &[b"a", b"bcd"]),
            (b"abc".to_vec(), true)
        );
        assert_eq!(body("HTTP/1.1 200 OK\r\n\r\n", &[b"a", b"bcd"]), (b"abcd".to_vec(), false));
        assert_eq!(body("HTTP/1.1 204 OK\r\n\r\n", &[b""]), (Vec::new(), true));
    }
}
