//! A recorded request.

/// What a line of a trace says, whatever its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// When it came, µs on the trace's own clock.
    pub(super) us: i64,
    /// Tokens of its prompt.
    pub(super) input: u64,
    /// Tokens of its answer.
    pub(super) output: u64,
    /// What its prompt's blocks hold, from the first on: equal ids, equal text. `None`: not recorded.
    pub(super) ids: Option<Vec<u64>>,
}

impl Request {
    /// Whether it has fewer ids than its prompt has blocks of `block` tokens. More are an error.
    pub(super) fn lacks_ids(&self, block: u64) -> Result<bool, String> {
        let Some(ids) = &self.ids else { return Ok(false) };
        let (ids, blocks) = (ids.len() as u64, self.input.div_ceil(block));
        if ids > blocks {
            return Err(format!(
                "`hash_ids` has {ids} ids, but {} tokens are {blocks} blocks of {block}; give the trace's own block \
                 size (--block-size)",
                self.input
            ));
        }
        Ok(ids < blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_a_block_each() {
        for (input, ids, lacks) in [
            (1, Some(1), Ok(false)),
            (512, Some(1), Ok(false)),
            (513, Some(2), Ok(false)),
            (513, Some(1), Ok(true)),
            (512, Some(2), Err(())),
            (512, None, Ok(false)),
            (512, Some(0), Ok(true)),
        ] {
            let request = Request { us: 0, input, output: 1, ids: ids.map(|count| vec![7; count]) };
            assert_eq!(request.lacks_ids(512).map_err(|_| ()), lacks, "{input} {ids:?}");
        }
    }
}
