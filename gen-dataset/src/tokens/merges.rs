//! Byte-pair encoding of one piece of text.

use std::{cmp::Reverse, collections::BinaryHeap};

use hashbrown::HashMap;

/// Up to so many symbols, looking at all pairs for the next merge is faster than keeping a queue.
const FEW: usize = 48;
/// No merge.
const NEVER: Merge = Merge { rank: u32::MAX, id: u32::MAX };

/// What two neighbours become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Merge {
    /// Its place in the list of merges: lower ones come first.
    pub(super) rank: u32,
    /// The token that they become.
    pub(super) id: u32,
}

/// The merges of a tokenizer, and the tokens of single bytes.
pub(super) struct Merges {
    bytes: Box<[u32; 256]>,
    pairs: HashMap<u64, Merge>,
}

impl Merges {
    /// `bytes`: the token of each byte; `pairs`: left token, right token, and the token that they become.
    pub(super) fn new(bytes: Box<[u32; 256]>, pairs: impl ExactSizeIterator<Item = (u32, u32, u32)>) -> Self {
        let mut merges = Self { bytes, pairs: HashMap::with_capacity(pairs.len()) };
        for (rank, (left, right, id)) in (0..).zip(pairs) {
            merges.pairs.insert(key(left, right), Merge { rank, id });
        }
        merges
    }

    /// Appends the tokens of `piece` to `out`: always the pair of lowest rank merges next, of equals the leftmost.
    pub(super) fn encode(&self, piece: &[u8], out: &mut Vec<u32>) {
        let start = out.len();
        out.extend(piece.iter().map(|byte| self.bytes[usize::from(*byte)]));
        if piece.len() <= FEW { self.merge_few(out, start) } else { self.merge_many(out, start) }
    }

    fn of(&self, left: u32, right: u32) -> Merge {
        self.pairs.get(&key(left, right)).copied().unwrap_or(NEVER)
    }

    /// Merges `symbols[start..]` in place.
    fn merge_few(&self, symbols: &mut Vec<u32>, start: usize) {
        let mut pairs = [NEVER; FEW];
        let mut count = (symbols.len() - start).saturating_sub(1);
        for (at, pair) in pairs[..count].iter_mut().enumerate() {
            *pair = self.of(symbols[start + at], symbols[start + at + 1]);
        }
        while let Some((at, merge)) =
            pairs[..count].iter().copied().enumerate().min_by_key(|(_, pair)| pair.rank)
            && merge != NEVER
        {
            symbols[start + at] = merge.id;
            symbols.remove(start + at + 1);
            pairs.copy_within(at + 1..count, at);
            count -= 1;
            if at < count {
                pairs[at] = self.of(merge.id, symbols[start + at + 1]);
            }
            if at > 0 {
                pairs[at - 1] = self.of(symbols[start + at - 1], merge.id);
            }
        }
    }

    /// The same for any number of symbols, in time that grows with `n log n`.
    fn merge_many(&self, symbols: &mut Vec<u32>, start: usize) {
        let mut links = Links::new(symbols.split_off(start));
        let mut queue = BinaryHeap::new();
        let push = |queue: &mut BinaryHeap<_>, links: &Links, at: usize| {
            if let Some(right) = links.right_of(at) {
                let merge = self.of(links.symbols[at], links.symbols[right]);
                if merge != NEVER {
                    queue.push(Reverse((merge.rank, at, merge.id)));
                }
            }
        };
        for at in 0..links.symbols.len() {
            push(&mut queue, &links, at);
        }
        while let Some(Reverse((rank, at, id))) = queue.pop() {
            let Some(right) = links.right_of(at) else { continue };
            // Either side may have merged elsewhere since this was queued.
            if self.of(links.symbols[at], links.symbols[right]).rank == rank {
                links.merge(at, right, id);
                push(&mut queue, &links, at);
                if let Some(left) = links.left_of(at) {
                    push(&mut queue, &links, left);
                }
            }
        }
        symbols.extend(links.left_over());
    }
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Symbols that know their neighbours.
struct Links {
    symbols: Vec<u32>,
    left: Vec<usize>,
    right: Vec<usize>,
}

/// In place of a neighbour at either end, and in place of both for what was merged away.
const NONE: usize = usize::MAX;

impl Links {
    fn new(symbols: Vec<u32>) -> Self {
        let count = symbols.len();
        let left = (0..count).map(|at| at.checked_sub(1).unwrap_or(NONE)).collect();
        let right = (1..=count).map(|at| if at < count { at } else { NONE }).collect();
        Self { symbols, left, right }
    }

    fn left_of(&self, at: usize) -> Option<usize> {
        Some(self.left[at]).filter(|at| *at != NONE)
    }

    fn right_of(&self, at: usize) -> Option<usize> {
        Some(self.right[at]).filter(|at| *at != NONE)
    }

    fn merge(&mut self, at: usize, right: usize, id: u32) {
        self.symbols[at] = id;
        self.right[at] = self.right[right];
        if let Some(next) = self.right_of(at) {
            self.left[next] = at;
        }
        (self.left[right], self.right[right]) = (NONE, NONE);
    }

    /// The first symbol never merges away.
    fn left_over(&self) -> impl Iterator<Item = u32> + '_ {
        let first = (!self.symbols.is_empty()).then_some(0);
        std::iter::successors(first, |at| self.right_of(*at)).map(|at| self.symbols[at])
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    /// Bytes are tokens 0 to 255; merges of neighbours in an alphabet of three letters, and of what they become.
    fn merges() -> Merges {
        let mut rng = crate::generator::of_row(1, 0, 0);
        let (mut known, mut pairs) = (vec![97, 98, 99], Vec::new());
        for id in 256..400 {
            let mut draw = || known[rng.random_range(0..known.len())];
            pairs.push((draw(), draw(), id));
            known.push(id);
        }
        Merges::new(Box::new(std::array::from_fn(|byte| byte as u32)), pairs.into_iter())
    }

    #[test]
    fn the_lowest_rank_goes_first_and_of_equals_the_leftmost() {
        let pairs = [(97, 97, 256), (256, 97, 257), (98, 97, 258)];
        let merges = Merges::new(Box::new(std::array::from_fn(|byte| byte as u32)), pairs.into_iter());
        for (piece, tokens) in [
            ("aaa", vec![257]),
            ("aaaa", vec![256, 256]),
            ("baa", vec![98, 256]),
            ("ba", vec![258]),
            ("", vec![]),
        ] {
            let mut out = vec![7];
            merges.encode(piece.as_bytes(), &mut out);
            assert_eq!(out[1..], tokens, "{piece}");
        }
    }

    #[test]
    fn both_ways_merge_alike() {
        let merges = merges();
        let mut rng = crate::generator::of_row(2, 0, 0);
        for _ in 0..2_000 {
            let length = rng.random_range(1..=FEW);
            let word: Vec<u32> = (0..length).map(|_| rng.random_range(97..100)).collect();
            let (mut few, mut many) = (word.clone(), word);
            merges.merge_few(&mut few, 0);
            merges.merge_many(&mut many, 0);
            assert_eq!(few, many);
        }
    }
}
