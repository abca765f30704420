//! Why a request failed: data, not an error of the tool.

use records::Outcome;

/// Longest message kept, in characters: an HTML page must not fill the results.
const LONGEST: usize = 300;

/// What goes into a failed request's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Its class.
    pub(crate) outcome: Outcome,
    /// What happened, the server's own words where there are any.
    pub(crate) message: String,
}

impl Failure {
    /// A failure with a message of ours.
    pub(crate) fn new(outcome: Outcome, message: impl Into<String>) -> Self {
        Self { outcome, message: shortened(&message.into()) }
    }
}

/// On one line, fit for a terminal, and cut where it is too long.
pub(crate) fn shortened(text: &str) -> String {
    let words = text.split_whitespace().map(|word| word.chars().flat_map(shown).collect::<String>());
    let line = words.take(LONGEST).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A control character could do anything to a terminal.
fn shown(character: char) -> impl Iterator<Item = char> {
    let escaped = character.is_control().then(|| character.escape_unicode());
    let plain = if escaped.is_none() { Some(character) } else { None };
    escaped.into_iter().flatten().chain(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_fit_on_a_line() {
        assert_eq!(shortened("<html>\n  no\thealthy </html>"), "<html> no healthy </html>");
        assert_eq!(shortened("\u{1b}[2J x\u{7}"), "\\u{1b}[2J x\\u{7}");
        assert_eq!(shortened(&"é".repeat(400)), "é".repeat(300) + "…");
    }
}
