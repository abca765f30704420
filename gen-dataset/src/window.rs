//! The lengths that `--range-ratio` allows.

use rand::RngExt;
use rand_pcg::Pcg64;

/// Token counts drawn uniformly, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// Fewest tokens.
    pub(crate) low: u64,
    /// Most tokens.
    pub(crate) high: u64,
}

impl Window {
    /// `[floor(length * (1 - ratio)), ceil(length * (1 + ratio))]`, neither end below `least`: vLLM's window
    /// (`vllm bench serve --random-range-ratio`), rounded as its floating point rounds.
    pub(crate) fn around(length: u64, ratio: f64, least: u64) -> Self {
        let length = length as f64;
        let low = (length * (1.0 - ratio)).floor() as u64;
        let high = (length * (1.0 + ratio)).ceil() as u64;
        Self { low: low.max(least), high: high.max(least) }
    }

    /// A length; takes nothing from `rng` if there is only one.
    pub(crate) fn draw(self, rng: &mut Pcg64) -> u64 {
        if self.low == self.high { self.low } else { rng.random_range(self.low..=self.high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_vllms() {
        for (length, ratio, least, low, high) in [
            (100, 0.0, 0, 100, 100),
            (100, 0.3, 0, 70, 130),
            (10, 0.3, 1, 7, 13),
            (100, 0.95, 0, 5, 195),
            (10, 0.95, 1, 1, 20),
            (1, 0.5, 0, 0, 2),
            (1, 0.5, 1, 1, 2),
        ] {
            assert_eq!(Window::around(length, ratio, least), Window { low, high }, "{length} {ratio}");
        }
    }

    #[test]
    fn draws_both_ends() {
        let mut rng = crate::generator::of_row(0, 0, 0);
        let window = Window { low: 7, high: 13 };
        let drawn: Vec<u64> = (0..500).map(|_| window.draw(&mut rng)).collect();
        assert_eq!(drawn.iter().min(), Some(&7));
        assert_eq!(drawn.iter().max(), Some(&13));
    }
}
