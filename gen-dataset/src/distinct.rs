//! Prompts that differ from one another.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use records::{Prompt, Result};

/// Draws before it is given up to find a prompt of a length that is new.
const ATTEMPTS: u64 = 100;

/// Knows the prompts so far, by a hash of each: two that share one are taken for equal, which does no harm.
#[derive(Default)]
pub(crate) struct Distinct {
    seen: HashSet<u64>,
    /// Lengths of which there are no more.
    exhausted: HashSet<u64>,
    repeats: u64,
}

impl Distinct {
    /// The row, or the first one that `again` makes which is new. It is told the number of the attempt, from 1.
    ///
    /// Where a length has no more prompts, as with one token of a small vocabulary, they repeat.
    pub(crate) fn or_else(&mut self, row: Prompt, again: impl Fn(u64) -> Result<Prompt>) -> Result<Prompt> {
        let length = row.prompt_tokens.unwrap_or_default();
        let mut row = row;
        for attempt in 1..=ATTEMPTS {
            if self.is_new(&row) {
                return Ok(row);
            }
            if self.exhausted.contains(&length) {
                break;
            }
            row = again(attempt)?;
        }
        self.exhausted.insert(length);
        self.repeats += 1;
        Ok(row)
    }

    /// What to say if prompts repeat.
    pub(crate) fn remark(&self) -> Option<String> {
        (self.repeats > 0).then(|| {
            format!(
                "warning: {} prompts repeat earlier ones, for want of more of their length; a server's prefix cache \
                 may answer them",
                self.repeats
            )
        })
    }

    fn is_new(&mut self, row: &Prompt) -> bool {
        let mut hasher = DefaultHasher::new();
        row.prompt.hash(&mut hasher);
        self.seen.insert(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Prompt {
        Prompt { prompt: Some(text.to_owned()), prompt_tokens: Some(1), ..Prompt::default() }
    }

    #[test]
    fn a_prompt_that_was_there_is_made_again() {
        let mut distinct = Distinct::default();
        let mut add = |text: &str| distinct.or_else(row(text), |attempt| Ok(row(&attempt.to_string())));
        let texts: Vec<String> = ["a", "b", "a", "a"].map(|text| add(text).unwrap().prompt.unwrap()).into();
        assert_eq!(texts, ["a", "b", "1", "2"]);
        assert_eq!(distinct.remark(), None);
        assert_eq!(distinct.or_else(row("a"), |_| Ok(row("b"))).unwrap(), row("b"));
        assert_eq!(distinct.or_else(row("a"), |_| unreachable!("given up")).unwrap(), row("a"));
        assert_eq!(distinct.or_else(row("c"), |_| unreachable!("new")).unwrap(), row("c"));
        assert!(distinct.remark().unwrap().starts_with("warning: 2 prompts repeat"));
    }
}
