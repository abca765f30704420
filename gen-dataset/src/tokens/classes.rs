//! What splitting patterns and the normal form ask of a character.

use std::sync::LazyLock;

use regex_syntax::hir::{Class as HirClass, HirKind};
use unicode_normalization_alignments::{IsNormalized, char::canonical_combining_class, is_nfc_quick};

/// The classes that the patterns tell apart; each character is in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// None of the others.
    Other,
    /// `\p{L}`
    Letter,
    /// `\p{N}`
    Number,
    /// `\s` without the two below.
    Space,
    /// `[\r\n]`
    Newline,
}

/// Set for characters that may change, or change their neighbours, in NFC.
const ACTIVE: u8 = 0x80;
/// Below this, no character is active (`U+0300` is the first combining mark).
const FIRST_ACTIVE: char = '\u{300}';
/// From here on all count as active: they are rare, and testing each would delay every start.
const FIRST_UNTESTED: u32 = 0x1_0000;

/// One byte a character: the class, and [`ACTIVE`].
static TABLE: LazyLock<Box<[u8]>> = LazyLock::new(table);

/// Looks characters up.
#[derive(Clone, Copy)]
pub(super) struct Classes(&'static [u8]);

impl Classes {
    /// By the Unicode version of the regex engine that the `tokenizers` crate uses.
    pub(super) fn get() -> Self {
        Self(&TABLE)
    }

    /// The class of `c`.
    pub(super) fn of(self, c: char) -> Class {
        match self.0[c as usize] & !ACTIVE {
            1 => Class::Letter,
            2 => Class::Number,
            3 => Class::Space,
            4 => Class::Newline,
            _ => Class::Other,
        }
    }

    /// Whether `text` is in normal form C for the plain reason that each of its characters stays as it is.
    pub(super) fn is_plain(self, text: &str) -> bool {
        text.is_ascii() || text.chars().all(|c| self.0[c as usize] & ACTIVE == 0)
    }
}

fn table() -> Box<[u8]> {
    let mut table = vec![0; char::MAX as usize + 1].into_boxed_slice();
    for (pattern, class) in [
        (r"\p{L}", Class::Letter),
        (r"\p{N}", Class::Number),
        (r"\s", Class::Space),
        (r"[\r\n]", Class::Newline),
    ] {
        for (first, last) in ranges(pattern) {
            table[first as usize..=last as usize].fill(class as u8);
        }
    }
    for c in FIRST_ACTIVE..='\u{FFFF}' {
        if canonical_combining_class(c) != 0 || is_nfc_quick([c].into_iter()) != IsNormalized::Yes {
            table[c as usize] |= ACTIVE;
        }
    }
    for byte in &mut table[FIRST_UNTESTED as usize..] {
        *byte |= ACTIVE;
    }
    table
}

fn ranges(pattern: &str) -> Vec<(char, char)> {
    match regex_syntax::parse(pattern).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(HirClass::Unicode(class))) => {
            class.iter().map(|range| (range.start(), range.end())).collect()
        }
        other => unreachable!("{pattern} is a class of characters, not {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use unicode_normalization_alignments::UnicodeNormalization;

    use super::*;

    #[test]
    fn classes_are_those_of_the_patterns() {
        for (c, class) in [
            ('a', Class::Letter),
            ('世', Class::Letter),
            ('7', Class::Number),
            ('½', Class::Number),
            (' ', Class::Space),
            ('\u{A0}', Class::Space),
            ('\u{85}', Class::Space),
            ('\u{2028}', Class::Space),
            ('\r', Class::Newline),
            ('\n', Class::Newline),
            ('.', Class::Other),
            ('\u{301}', Class::Other),
            ('🚀', Class::Other),
        ] {
            assert_eq!(Classes::get().of(c), class, "{c:?}");
        }
    }

    #[test]
    fn plain_text_is_in_normal_form() {
        let plain: String = ('\0'..char::MAX).filter(|c| Classes::get().is_plain(&c.to_string())).collect();
        assert!(plain.chars().count() > 50_000);
        assert_eq!(plain.chars().nfc().map(|(c, _)| c).collect::<String>(), plain);
        for text in ["e\u{301}", "\u{212B}", "각\u{11A8}"] {
            assert!(!Classes::get().is_plain(text), "{text}");
        }
    }
}
