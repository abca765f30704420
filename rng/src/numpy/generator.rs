//! `numpy.random.Generator` over `PCG64`.

use rand_pcg::{Pcg64, rand_core::Rng as _};

use super::seed;

/// `numpy.random.default_rng(seed)`: PCG-XSL-RR 128/64 (O'Neill 2014), seeded by `SeedSequence`.
#[derive(Debug, Clone)]
pub struct Generator {
    words: Pcg64,
    /// The high half of a word whose low half has been drawn.
    half: Option<u32>,
}

impl Generator {
    /// The generator of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let [state_high, state_low, stream_high, stream_low] = seed::state(seed).map(u128::from);
        let words = Pcg64::new(state_high << 64 | state_low, stream_high << 64 | stream_low);
        Self { words, half: None }
    }

    /// `random()`: a number of [0, 1) with 53 random bits.
    pub fn random(&mut self) -> f64 {
        (self.words.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// `integers(low, high)`, of `int64`: an integer of [low, high). A range of one draws nothing.
    ///
    /// Ranges up to 2^32 take half a word, larger ones a word (`random_bounded_uint64` of
    /// distributions.c).
    ///
    /// # Panics
    ///
    /// If the range is empty.
    pub fn integers(&mut self, low: i64, high: i64) -> i64 {
        assert!(low < high, "no integer from {low} to below {high}");
        let offset = match high.abs_diff(low) {
            1 => 0,
            range @ ..0x1_0000_0000 => self.lemire32(range as u32).into(),
            0x1_0000_0000 => self.next_u32().into(),
            range => self.lemire64(range),
        };
        low.wrapping_add_unsigned(offset)
    }

    /// Lemire, "Fast Random Integer Generation in an Interval" (2019), with 32-bit words.
    fn lemire32(&mut self, range: u32) -> u32 {
        let threshold = range.wrapping_neg() % range;
        loop {
            let product = u64::from(self.next_u32()) * u64::from(range);
            if product as u32 >= threshold {
                return (product >> 32) as u32;
            }
        }
    }

    /// The same with 64-bit words.
    fn lemire64(&mut self, range: u64) -> u64 {
        let threshold = range.wrapping_neg() % range;
        loop {
            let product = u128::from(self.words.next_u64()) * u128::from(range);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// The low half of a word, and the high half at the next call, whatever was drawn between.
    fn next_u32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let word = self.words.next_u64();
        self.half = Some((word >> 32) as u32);
        word as u32
    }
}
