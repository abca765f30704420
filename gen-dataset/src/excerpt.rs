//! Beginnings of a text that have exactly so many tokens.

use records::Result;

use crate::Tokens;

/// How far from where the tokens end, in bytes, a text is cut in search of an exact length.
const REACH: usize = 64;

/// A beginning of `text` that encodes to exactly `count` tokens, with these; `None` if there is none, or the text has
/// not so many.
///
/// The tokens of a text's beginning are not always the beginning of the text's tokens: a word that is cut may fall into
/// others. So places around the last token's end are tried, the nearest first.
pub(crate) fn beginning(tokens: &Tokens, text: &str, count: usize) -> Result<Option<(String, Vec<u32>)>> {
    let ids = tokens.encode(text)?;
    if ids.len() < count {
        return Ok(None);
    }
    let end = tokens.decode(&ids[..count])?.len().min(text.len());
    match near(tokens, text, count, end)? {
        // Tokens of a normal form, or of less than the whole text, say nothing of where in it they end.
        None => near(tokens, text, count, bisected(tokens, text, count)?),
        found => Ok(found),
    }
}

/// The same, no further than [`REACH`] from byte `end`.
fn near(tokens: &Tokens, text: &str, count: usize, end: usize) -> Result<Option<(String, Vec<u32>)>> {
    for distance in 0..REACH {
        for at in [end.saturating_sub(distance), end + distance] {
            if !text.is_char_boundary(at) {
                continue;
            }
            let ids = tokens.encode(&text[..at])?;
            if ids.len() == count {
                return Ok(Some((text[..at].to_owned(), ids)));
            }
        }
    }
    Ok(None)
}

/// A byte before which there are about `count` tokens.
fn bisected(tokens: &Tokens, text: &str, count: usize) -> Result<usize> {
    let (mut low, mut high) = (0, text.len());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let Some(begin) = (low..=middle).rev().find_map(|at| text.get(..at)) else { break };
        if tokens.encode(begin)?.len() < count {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_hit_exactly_or_not_at_all() {
        let tokens = Tokens::load("qwen3").unwrap();
        // A character of several tokens cannot be cut.
        for (text, unreachable) in [
            (
                "Feed'st thy light's flame with self-substantial fuel,\nunlook'd on diest, unless thou get a son.",
                0,
            ),
            ("naïve 日本語 𒀀 x", 1),
        ] {
            let all = tokens.encode(text).unwrap().len();
            let mut missed = 0;
            for count in 0..=all {
                let Some((begin, ids)) = beginning(&tokens, text, count).unwrap() else {
                    missed += 1;
                    continue;
                };
                assert!(text.starts_with(&begin));
                assert_eq!((ids.len(), &ids), (count, &tokens.encode(&begin).unwrap()));
            }
            assert_eq!(missed, unreachable, "{text}");
            assert_eq!(beginning(&tokens, text, all + 1).unwrap(), None);
        }
    }
}
