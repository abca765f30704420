//! CPython's `random` module: Modules/_randommodule.c for the words, Lib/random.py for what is
//! made of them.

use rand_mt::Mt;

use crate::twister;

/// `random.Random(seed)` for an integer seed.
#[derive(Debug, Clone)]
pub struct Random(Mt);

impl Random {
    /// The generator of this seed: its 32-bit words, the lowest first, are the key of
    /// `init_by_array`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let words = [seed as u32, (seed >> 32) as u32];
        let used = if words[1] == 0 { 1 } else { 2 };
        Self(Mt::new_with_key(words.into_iter().take(used)))
    }

    /// `random()`: a number of [0, 1).
    pub fn random(&mut self) -> f64 {
        twister::double(&mut self.0)
    }

    /// `getrandbits(bits)`: the low word is drawn first, and the last keeps its high bits.
    ///
    /// # Panics
    ///
    /// If more than 64 bits are asked for.
    pub fn getrandbits(&mut self, bits: u32) -> u64 {
        assert!(bits <= 64, "at most 64 bits at a time, not {bits}");
        let mut word = |bits: u32| u64::from(self.0.next_u32() >> (32 - bits));
        match bits {
            0 => 0,
            1..=32 => word(bits),
            _ => word(32) | word(bits - 32) << 32,
        }
    }

    /// `_randbelow(n)`: an integer of [0, n), by drawing as many bits as `n` has until they fit.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "nothing is below 0");
        let bits = n.ilog2() + 1;
        loop {
            let drawn = self.getrandbits(bits);
            if drawn < n {
                return drawn;
            }
        }
    }

    /// `shuffle(items)`: Fisher & Yates from the end.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    /// `choice(items)`.
    ///
    /// # Panics
    ///
    /// If there are no items.
    pub fn choice<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// `choices(items, k=k)`: `k` of them, with replacement. Not `k` times [`Self::choice`]:
    /// each takes a number of `random()`.
    ///
    /// # Panics
    ///
    /// If there are no items, and `k` is not 0.
    pub fn choices<'a, T>(&mut self, items: &'a [T], k: usize) -> Vec<&'a T> {
        (0..k).map(|_| &items[(self.random() * items.len() as f64) as usize]).collect()
    }

    fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}
