//! The printable characters by which byte-level tokenizers write bytes in their files (GPT-2 `bytes_to_unicode`).

/// Bytes that stand for themselves.
const fn is_printable(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// The character of each byte; the bytes that are not printable follow one another from `U+0100` on.
const CHARS: [char; 256] = {
    let mut chars = ['\0'; 256];
    let (mut byte, mut next) = (0, 0x100);
    while byte < 256 {
        chars[byte] = if is_printable(byte as u8) {
            byte as u8 as char
        } else {
            next += 1;
            match char::from_u32(next - 1) {
                Some(c) => c,
                None => panic!("below the surrogates"),
            }
        };
        byte += 1;
    }
    chars
};

/// The byte of each character, -1 where there is none.
const BYTES: [i16; 0x144] = {
    let mut bytes = [-1; 0x144];
    let mut byte = 0;
    while byte < 256 {
        bytes[CHARS[byte] as usize] = byte as i16;
        byte += 1;
    }
    bytes
};

/// The character that `byte` is written as.
pub(super) const fn char_of(byte: u8) -> char {
    CHARS[byte as usize]
}

/// The byte that `c` stands for.
pub(super) fn byte_of(c: char) -> Option<u8> {
    BYTES.get(c as usize).and_then(|byte| u8::try_from(*byte).ok())
}

/// Appends the bytes that `token` stands for; `false`, and nothing appended, if one of its characters stands for none.
pub(super) fn push_bytes(token: &str, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    for c in token.chars() {
        let Some(byte) = byte_of(c) else {
            out.truncate(start);
            return false;
        };
        out.push(byte);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_a_character_of_its_own() {
        for byte in 0..=255 {
            assert_eq!(byte_of(char_of(byte)), Some(byte));
        }
        assert_eq!((char_of(b' '), char_of(b'\n'), char_of(b'a')), ('Ġ', 'Ċ', 'a'));
        assert_eq!(byte_of(' '), None);
    }

    #[test]
    fn foreign_characters_leave_nothing_behind() {
        let mut out = vec![1];
        assert!(!push_bytes("a b", &mut out));
        assert!(push_bytes("Ġé", &mut out));
        assert_eq!(out, [1, b' ', 0xE9]);
    }
}
