//! JSON as some servers write it: characters cut in half, and numbers that are none.

/// A copy of `data` in which invalid UTF-8 and unpaired surrogate escapes are U+FFFD, and NaN and the infinities null.
/// `None` if it holds none of these.
pub(super) fn repaired(data: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(data);
    let mut copy = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(first) = rest.chars().next() {
        let read = if first == '"' { string(rest, &mut copy) } else { outside(rest, first, &mut copy) };
        rest = &rest[read..];
    }
    (copy.as_bytes() != data).then(|| copy.into_bytes())
}

/// Copies what is not a string; returns how much it read.
fn outside(rest: &str, first: char, copy: &mut String) -> usize {
    if let Some(word) = ["NaN", "Infinity", "-Infinity"].into_iter().find(|word| rest.starts_with(word)) {
        copy.push_str("null");
        return word.len();
    }
    copy.push(first);
    first.len_utf8()
}

/// Copies a string with its quotes; returns how much it read.
fn string(text: &str, copy: &mut String) -> usize {
    copy.push('"');
    let mut at = 1;
    while let Some(next) = text[at..].chars().next() {
        at += if next == '\\' {
            escape(&text[at..], copy)
        } else {
            copy.push(next);
            next.len_utf8()
        };
        if next == '"' {
            break;
        }
    }
    at
}

/// Copies an escape, a pair of surrogates as one; returns how much it read.
fn escape(text: &str, copy: &mut String) -> usize {
    let length = match (unit(text), text.get(6..).and_then(unit)) {
        (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
        (Some(0xD800..=0xDFFF), _) => {
            copy.push('\u{FFFD}');
            return 6;
        }
        (Some(_), _) => 6,
        (None, _) => 1 + text[1..].chars().next().map_or(0, char::len_utf8),
    };
    copy.push_str(&text[..length]);
    length
}

/// The UTF-16 unit of a `\uXXXX` at the beginning of `text`.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_is_replaced() {
        for (data, copy) in [
            (&br#"{"a":"\ud83d"}"#[..], "{\"a\":\"\u{FFFD}\"}"),
            (br#"{"a":"\ud83d\ude00\ude00x"}"#, "{\"a\":\"\\ud83d\\ude00\u{FFFD}x\"}"),
            (br#"{"a":"\ud83d\n"}"#, "{\"a\":\"\u{FFFD}\\n\"}"),
            (b"{\"a\":\"\xF0\x9F\"}", "{\"a\":\"\u{FFFD}\"}"),
            (
                br#"{"a":[NaN,-Infinity,Infinity],"NaN":"-Infinity\"NaN"}"#,
                r#"{"a":[null,null,null],"NaN":"-Infinity\"NaN"}"#,
            ),
        ] {
            assert_eq!(repaired(data).as_deref(), Some(copy.as_bytes()), "{copy}");
        }
    }

    #[test]
    fn what_is_sound_or_hopeless_is_left_alone() {
        for data in [r#"{"a":"\ud83d\ude00 é \\ \" \u00e9"}"#, "{", r#"{"a":"\"#, r#""\u12"#, ""] {
            assert_eq!(repaired(data.as_bytes()), None, "{data}");
        }
    }
}
