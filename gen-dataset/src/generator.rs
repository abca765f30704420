//! Pseudo-random generators: one for each row, so that no row depends on how many there are or on which thread made it.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// What a dataset draws apart from its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// The order of rows or tokens.
    Order,
    /// A prefix that prompts share, by its number.
    Prefix(u64),
    /// The order in which a round of rows uses the prefixes.
    Round(u64),
    /// The seed of the blocks of text that the prompts of a trace share.
    Blocks,
}

impl Purpose {
    /// Beyond what rows and their attempts take.
    fn stream(self) -> u64 {
        match self {
            Self::Order => u64::MAX,
            Self::Prefix(number) => u64::MAX - 1 - number,
            Self::Round(number) => (0xFFFD << 48) | number,
            Self::Blocks => 0xFFFA << 48,
        }
    }
}

/// The generator of row `index`, another one for each attempt at it.
pub(crate) fn of_row(seed: u64, index: u64, attempt: u64) -> Pcg64 {
    keyed(seed, index ^ attempt.rotate_right(16))
}

/// The generator for something that is drawn once.
pub(crate) fn of(seed: u64, purpose: Purpose) -> Pcg64 {
    keyed(seed, purpose.stream())
}

/// The seed is hashed first: rows 0, 1, 2 of seed 7 must not be rows 1, 2, 3 of seed 6.
fn keyed(seed: u64, stream: u64) -> Pcg64 {
    let key = Pcg64::seed_from_u64(seed).next_u64();
    Pcg64::seed_from_u64(key ^ stream)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_seeds_or_rows_share_a_stream() {
        let mut firsts = HashSet::new();
        for seed in 0..100 {
            for index in 0..100 {
                assert!(firsts.insert(of_row(seed, index, 0).next_u64()));
                assert!(firsts.insert(of_row(seed, index, 1).next_u64()));
                assert!(firsts.insert(of(seed, Purpose::Round(index)).next_u64()));
            }
            assert!(firsts.insert(of(seed, Purpose::Order).next_u64()));
            assert!(firsts.insert(of(seed, Purpose::Prefix(0)).next_u64()));
            assert!(firsts.insert(of(seed, Purpose::Blocks).next_u64()));
        }
    }
}
