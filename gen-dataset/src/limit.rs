//! `--max-model-len`: the model's context.

use records::{Error, Prompt, Result};

/// Keeps prompt and output of each row within the model's context, and counts what that took.
pub(crate) struct Limit {
    most: Option<u64>,
    special: u64,
    shortened: u64,
    dropped: u64,
}

impl Limit {
    /// `most` tokens for the prompt, the `special` tokens that a server adds to it, and the output.
    pub(crate) fn new(most: Option<u64>, special: u64) -> Self {
        Self { most, special, shortened: 0, dropped: 0 }
    }

    /// The row with its output cut to what fits; `None` if not even one output token does.
    pub(crate) fn fit(&mut self, mut row: Prompt) -> Result<Option<Prompt>> {
        let (Some(most), Some(output)) = (self.most, row.max_tokens) else { return Ok(Some(row)) };
        let Some(prompt) = row.prompt_tokens else {
            return Err(Error::usage(format!(
                "row {}: --max-model-len needs `prompt_tokens`, which cannot be counted for messages with parts \
                 other than text; state it in the row",
                row.id.as_deref().unwrap_or("without id")
            )));
        };
        let room = most.saturating_sub(prompt.saturating_add(self.special));
        if room == 0 {
            self.dropped += 1;
            return Ok(None);
        }
        if output > room {
            self.shortened += 1;
            row.max_tokens = Some(room);
        }
        Ok(Some(row))
    }

    /// What was changed, if anything was.
    pub(crate) fn remark(&self) -> Option<String> {
        (self.shortened + self.dropped > 0).then(|| {
            format!(
                "--max-model-len {}: output shortened in {} rows, {} rows dropped (prompt too long)",
                self.most.unwrap_or_default(),
                self.shortened,
                self.dropped
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(limit: &mut Limit, prompt: u64, output: u64) -> Option<u64> {
        let row = Prompt { prompt_tokens: Some(prompt), max_tokens: Some(output), ..Prompt::default() };
        limit.fit(row).unwrap().and_then(|row| row.max_tokens)
    }

    #[test]
    fn the_rows_own_output_counts() {
        let mut limit = Limit::new(Some(256), 0);
        for (prompt, output, fits) in [
            (100, 100, Some(100)),
            (246, 10, Some(10)),
            (250, 10, Some(6)),
            (100, 200, Some(156)),
            (255, 1, Some(1)),
            (256, 1, None),
            (300, 10, None),
        ] {
            assert_eq!(fitted(&mut limit, prompt, output), fits, "{prompt}+{output}");
        }
        assert_eq!(
            limit.remark().unwrap(),
            "--max-model-len 256: output shortened in 2 rows, 2 rows dropped (prompt too long)"
        );
    }

    #[test]
    fn leaves_room_for_the_tokens_that_the_server_adds() {
        assert_eq!(fitted(&mut Limit::new(Some(256), 1), 246, 10), Some(9));
    }

    #[test]
    fn no_limit_changes_nothing() {
        let mut limit = Limit::new(None, 1);
        assert_eq!(fitted(&mut limit, 1 << 40, 10), Some(10));
        assert_eq!(limit.remark(), None);
    }

    #[test]
    fn an_unknown_prompt_length_cannot_be_judged() {
        let row = Prompt { max_tokens: Some(1), ..Prompt::default() };
        assert!(Limit::new(Some(256), 0).fit(row).unwrap_err().to_string().contains("`prompt_tokens`"));
    }
}
