//! The patterns that byte-level tokenizers cut text by, before any merging.

use super::classes::{Class, Classes};

/// A known pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// GPT-2's, which the `ByteLevel` pre-tokenizer has built in.
    Gpt2,
    /// That of `cl100k_base` and its descendants (Llama 3, Qwen 2 and 3): up to so many digits make a piece.
    Cl100k { digits: u8 },
}

/// Each as `tokenizer.json` spells it.
const PATTERNS: [(&str, Pattern); 3] = [
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Pattern::Cl100k { digits: 1 },
    ),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Pattern::Cl100k { digits: 3 },
    ),
    (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", Pattern::Gpt2),
];

impl Pattern {
    /// The pattern that this regular expression spells, if it is a known one.
    pub(super) fn known(regex: &str) -> Option<Self> {
        PATTERNS.iter().find(|(spelling, _)| *spelling == regex).map(|(_, pattern)| *pattern)
    }

    /// Cuts `text` into pieces; none is empty, none is left out.
    pub(super) fn pieces(self, text: &str) -> impl Iterator<Item = &str> {
        let scan = Scan { text, classes: Classes::get() };
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            at = scan.end(self, scan.class(at)?, at);
            Some(&text[start..at])
        })
    }
}

/// A character's class, and where the next one starts.
type Step = (Class, usize);

#[derive(Clone, Copy)]
struct Scan<'t> {
    text: &'t str,
    classes: Classes,
}

impl Scan<'_> {
    /// Where the piece that starts at `at`, with that first character, ends.
    fn end(self, pattern: Pattern, (class, next): Step, at: usize) -> usize {
        if let Some(end) = self.contraction(at, pattern != Pattern::Gpt2) {
            return end;
        }
        match pattern {
            Pattern::Gpt2 => self.end_gpt2(class, at, next),
            Pattern::Cl100k { digits } => self.end_cl100k(class, at, next, digits),
        }
    }

    fn end_gpt2(self, class: Class, at: usize, next: usize) -> usize {
        let (start, class) = match self.class(next) {
            Some((second, _)) if self.is_blank(at) && !is_space(second) => (next, second),
            _ => (at, class),
        };
        if is_space(class) { self.end_of_space(at) } else { self.run(start, |other| other == class) }
    }

    fn end_cl100k(self, class: Class, at: usize, next: usize, digits: u8) -> usize {
        let second = self.class(next).map(|(class, _)| class);
        match (class, second) {
            (Class::Letter, _) | (Class::Space | Class::Other, Some(Class::Letter)) => {
                self.run(next, |class| class == Class::Letter)
            }
            (Class::Number, _) => self.numbers(next, digits - 1),
            (Class::Other, _) => self.signs(next),
            (Class::Space, Some(Class::Other)) if self.is_blank(at) => self.signs(next),
            _ => self.last_newline(at).unwrap_or_else(|| self.end_of_space(at)),
        }
    }

    fn class(self, at: usize) -> Option<Step> {
        let c = self.text[at..].chars().next()?;
        Some((self.classes.of(c), at + c.len_utf8()))
    }

    fn is_blank(self, at: usize) -> bool {
        self.text.as_bytes()[at] == b' '
    }

    /// The end of the characters from `at` on that `pass`.
    fn run(self, mut at: usize, pass: impl Fn(Class) -> bool) -> usize {
        while let Some((class, next)) = self.class(at)
            && pass(class)
        {
            at = next;
        }
        at
    }

    /// The end of at most `most` numbers.
    fn numbers(self, mut at: usize, most: u8) -> usize {
        for _ in 0..most {
            match self.class(at) {
                Some((Class::Number, next)) => at = next,
                _ => break,
            }
        }
        at
    }

    /// `[^\s\p{L}\p{N}]*[\r\n]*`
    fn signs(self, at: usize) -> usize {
        let at = self.run(at, |class| class == Class::Other);
        self.run(at, |class| class == Class::Newline)
    }

    /// `\s*[\r\n]+`: to the last line end of the white space at `at`.
    fn last_newline(self, at: usize) -> Option<usize> {
        let space = &self.text[at..self.run(at, is_space)];
        space.rfind(['\r', '\n']).map(|last| at + last + 1)
    }

    /// `\s+(?!\S)|\s+`: all white space but the last character, which the next piece takes.
    fn end_of_space(self, at: usize) -> usize {
        let end = self.run(at, is_space);
        let last = self.text[at..end].char_indices().next_back().map_or(0, |(last, _)| last);
        if end == self.text.len() || last == 0 { end } else { at + last }
    }

    /// `'s|'t|'re|'ve|'m|'ll|'d`. Folding case, the long s counts as an s.
    fn contraction(self, at: usize, fold: bool) -> Option<usize> {
        let tail = self.text.as_bytes()[at..].strip_prefix(b"'")?;
        let length = |tail: &[u8]| match tail {
            [b's' | b't' | b'm' | b'd', ..] => Some(1),
            [b'r' | b'v', b'e', ..] | [b'l', b'l', ..] => Some(2),
            _ => None,
        };
        let found = if !fold {
            length(tail)
        } else if tail.starts_with("\u{17F}".as_bytes()) {
            Some(2)
        } else {
            let mut lower = [0; 2];
            let lower = &mut lower[..tail.len().min(2)];
            lower.copy_from_slice(&tail[..lower.len()]);
            lower.make_ascii_lowercase();
            length(lower)
        };
        found.map(|length| at + 1 + length)
    }
}

fn is_space(class: Class) -> bool {
    matches!(class, Class::Space | Class::Newline)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pattern: Pattern, text: &str) -> String {
        pattern.pieces(text).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn text_is_cut_as_the_patterns_say() {
        let qwen = Pattern::Cl100k { digits: 1 };
        let llama = Pattern::Cl100k { digits: 3 };
        for (pattern, text, pieces) in [
            (qwen, "Hello  world's 42x", "Hello| | world|'s| |4|2|x"),
            (llama, "1234 5", "123|4| |5"),
            (Pattern::Gpt2, "1234 5 a", "1234| 5| a"),
            (qwen, "I'LL 'ſo", "I|'LL| '|ſo"),
            (qwen, "'ſo", "'ſ|o"),
            (Pattern::Gpt2, "I'LL I'll", "I|'|LL| I|'ll"),
            (qwen, "a \n \r\n  b", "a| \n \r\n| | b"),
            (Pattern::Gpt2, "a \n \r\n  b", "a| \n \r\n | b"),
            (qwen, "x !?\r\n\ny", "x| !?\r\n\n|y"),
            (qwen, "\tword\u{3000}词", "\tword|\u{3000}词"),
            (Pattern::Gpt2, "\tword", "\t|word"),
            (qwen, "end  ", "end|  "),
            (qwen, "  7", " | |7"),
            (Pattern::Gpt2, "  7", " | 7"),
            (qwen, ".com(x)", ".com|(x|)"),
            (qwen, "", ""),
        ] {
            assert_eq!(cut(pattern, text), pieces, "{pattern:?} {text:?}");
        }
    }
}
