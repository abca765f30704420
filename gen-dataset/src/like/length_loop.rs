//! How vLLM 0.33 brings a prompt to its length (`gen_prompt_decode_to_target_len`).

use records::Result;

use crate::Tokens;

/// Corrections before a wrong length is let pass.
const CORRECTIONS: u32 = 10;

/// Decodes tokens and encodes the text, over and over, until there are as many as asked for: too many are cut off, too
/// few filled up with tokens drawn at random.
///
/// What is left is the text of the last decoding and the tokens of the last encoding: where the corrections ran out,
/// these are not of the length asked for.
pub(super) struct LengthLoop<'a> {
    tokens: &'a Tokens,
    target: usize,
    corrections: u32,
    missing: usize,
    text: String,
    ids: Vec<u32>,
}

impl<'a> LengthLoop<'a> {
    /// Goes on for as long as nothing has to be drawn.
    pub(super) fn start(tokens: &'a Tokens, ids: Vec<u32>, target: usize) -> Result<Self> {
        let mut state =
            Self { tokens, target, corrections: CORRECTIONS, missing: 0, text: String::new(), ids };
        state.advance()?;
        Ok(state)
    }

    /// Goes on to the end, taking tokens from `draw`. Gives the text and its tokens.
    pub(super) fn finish(mut self, mut draw: impl FnMut() -> u32) -> Result<(String, Vec<u32>)> {
        while self.missing > 0 {
            self.ids.extend((0..self.missing).map(|_| draw()));
            self.advance()?;
        }
        Ok((self.text, self.ids))
    }

    /// Up to the next draw, or to the end: then nothing is missing.
    fn advance(&mut self) -> Result<()> {
        loop {
            self.text = self.tokens.decode(&self.ids)?;
            self.ids = self.tokens.encode(&self.text)?;
            let missing = self.target.saturating_sub(self.ids.len());
            if self.corrections == 0 || self.ids.len() == self.target {
                self.missing = 0;
                return Ok(());
            }
            self.corrections -= 1;
            self.ids.truncate(self.target);
            if missing > 0 {
                self.missing = missing;
                return Ok(());
            }
        }
    }
}
