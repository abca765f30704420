//! `numpy.random.RandomState`, frozen by NEP 19: legacy-distributions.c, and for `randint` the
//! masked half of distributions.c.

use rand_mt::Mt;

use crate::twister;

/// The generator behind `numpy.random.seed(seed)` and the functions of `numpy.random`.
#[derive(Debug, Clone)]
pub struct Legacy {
    words: Mt,
    /// How many of them have been drawn.
    drawn: u64,
    /// The second of a pair of normal deviates.
    gauss: Option<f64>,
}

impl Legacy {
    /// The generator of this seed, as `init_genrand` makes it. NumPy refuses seeds that are no
    /// `u32` ("Seed must be between 0 and 2**32 - 1").
    #[must_use]
    pub fn new(seed: u32) -> Self {
        Self { words: Mt::new(seed), drawn: 0, gauss: None }
    }

    /// How many 32-bit words have been drawn so far.
    #[must_use]
    pub fn words_drawn(&self) -> u64 {
        self.drawn
    }

    /// Draws so many words, for nothing: where somebody else has left off.
    pub fn skip_words(&mut self, count: u64) {
        for _ in 0..count {
            self.next_u32();
        }
    }

    /// `random_sample()`: a number of [0, 1) with 53 random bits.
    pub fn double(&mut self) -> f64 {
        self.drawn += 2;
        twister::double(&mut self.words)
    }

    /// `randint(low, high)`, of `int64`: an integer of [low, high), by drawing as many bits as
    /// the largest has until they fit. A range of one draws nothing, one up to 2^32 a word at a
    /// time, a larger one two, the high one first.
    ///
    /// # Panics
    ///
    /// If the range is empty.
    pub fn randint(&mut self, low: i64, high: i64) -> i64 {
        assert!(low < high, "no integer from {low} to below {high}");
        let largest = high.abs_diff(low) - 1;
        let mask = u64::MAX.checked_shr(largest.leading_zeros()).unwrap_or(0);
        loop {
            let offset = mask
                & match largest {
                    0 => 0,
                    1..=0xffff_ffff => u64::from(self.next_u32()),
                    _ => u64::from(self.next_u32()) << 32 | u64::from(self.next_u32()),
                };
            if offset <= largest {
                return low.wrapping_add_unsigned(offset);
            }
        }
    }

    fn next_u32(&mut self) -> u32 {
        self.drawn += 1;
        self.words.next_u32()
    }

    /// `standard_normal()`: the polar method of Marsaglia & Bray (1964), whose second value is
    /// kept for the next call.
    pub fn gauss(&mut self) -> f64 {
        if let Some(kept) = self.gauss.take() {
            return kept;
        }
        loop {
            let x1 = 2.0 * self.double() - 1.0;
            let x2 = 2.0 * self.double() - 1.0;
            let r2 = x1 * x1 + x2 * x2;
            if r2 < 1.0 && r2 != 0.0 {
                let factor = (-2.0 * r2.ln() / r2).sqrt();
                self.gauss = Some(factor * x1);
                return factor * x2;
            }
        }
    }

    /// `standard_exponential()`, by inversion.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.double()).ln()
    }

    /// `gamma(shape, scale)`, for a shape of at least 0.
    pub fn gamma(&mut self, shape: f64, scale: f64) -> f64 {
        scale
            * match shape {
                1.0 => self.exponential(),
                0.0 => 0.0,
                ..1.0 => self.gamma_below_one(shape),
                _ => self.gamma_above_one(shape),
            }
    }

    /// Rejection of Ahrens & Dieter (1974), method GS.
    fn gamma_below_one(&mut self, shape: f64) -> f64 {
        loop {
            let u = self.double();
            let v = self.exponential();
            let (x, bound) = if u <= 1.0 - shape {
                (u.powf(1.0 / shape), v)
            } else {
                let y = -((1.0 - u) / shape).ln();
                ((1.0 - shape + shape * y).powf(1.0 / shape), v + y)
            };
            if x <= bound {
                return x;
            }
        }
    }

    /// Marsaglia & Tsang, "A Simple Method for Generating Gamma Variables" (2000).
    fn gamma_above_one(&mut self, shape: f64) -> f64 {
        let mode = shape - 1.0 / 3.0;
        let spread = 1.0 / (9.0 * mode).sqrt();
        loop {
            let x = self.gauss();
            let root = 1.0 + spread * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let u = self.double();
            if u < 1.0 - 0.0331 * (x * x) * (x * x) || u.ln() < 0.5 * x * x + mode * (1.0 - v + v.ln()) {
                return mode * v;
            }
        }
    }
}
