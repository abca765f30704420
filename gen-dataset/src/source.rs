//! What a dataset is to the rest of the program.

use records::{Prompt, Result};

/// A dataset that is read or made bit by bit.
///
/// Rows come with their token counts, and without an id unless the data has one.
pub(crate) trait Source {
    /// The next rows in their order, at most `want` of them; `None` at the end. A batch may be empty.
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>>;

    /// What to say on stderr about the rows so far, a line each.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}
