//! Mean, standard deviation, median and percentiles, by `NumPy`'s arithmetic: vLLM's figures come from there, and ours
//! must round as they do.

use crate::Percentile;

/// The distribution of some values, in their unit. Of nothing, every figure is `None`.
#[derive(Debug)]
pub(crate) struct Distribution {
    mean: Option<f64>,
    std: Option<f64>,
    sorted: Vec<f64>,
}

impl Distribution {
    /// From values in any order; sums are taken in the order given.
    pub(crate) fn new(mut values: Vec<f64>) -> Self {
        let count = values.len() as f64;
        let mean = (!values.is_empty()).then(|| pairwise_sum(&values, &|value| value) / count);
        let std =
            mean.map(|mean| (pairwise_sum(&values, &|value| (value - mean) * (value - mean)) / count).sqrt());
        values.sort_unstable_by(f64::total_cmp);
        Self { mean, std, sorted: values }
    }

    /// `numpy.mean`.
    pub(crate) fn mean(&self) -> Option<f64> {
        self.mean
    }

    /// `numpy.std`: of the population.
    pub(crate) fn std(&self) -> Option<f64> {
        self.std
    }

    /// `numpy.median`: the mean of the two middle values where there is no single one.
    pub(crate) fn median(&self) -> Option<f64> {
        let middle = self.sorted.len() / 2;
        let upper = *self.sorted.get(middle)?;
        Some(if self.sorted.len() % 2 == 1 { upper } else { f64::midpoint(self.sorted[middle - 1], upper) })
    }

    /// `numpy.percentile`: linear interpolation between ranks.
    pub(crate) fn percentile(&self, percentile: Percentile) -> Option<f64> {
        let last = self.sorted.len().checked_sub(1)?;
        let position = last as f64 * (percentile.get() / 100.0);
        let below = (position.floor() as usize).min(last);
        let above = (below + 1).min(last);
        Some(lerp(self.sorted[below], self.sorted[above], position - below as f64))
    }
}

/// `NumPy`'s `_lerp`: from the nearer end, so that both ends are met exactly.
fn lerp(from: f64, to: f64, t: f64) -> f64 {
    let step = to - from;
    if t >= 0.5 { to - step * (1.0 - t) } else { from + step * t }
}

/// `NumPy`'s `pairwise_sum`: eight running sums in blocks of at most 128, the blocks added two and two.
fn pairwise_sum(values: &[f64], of: &impl Fn(f64) -> f64) -> f64 {
    const BLOCK: usize = 128;
    if values.len() < 8 {
        return values.iter().fold(0.0, |sum, &value| sum + of(value));
    }
    if values.len() > BLOCK {
        let half = values.len() / 2 / 8 * 8;
        return pairwise_sum(&values[..half], of) + pairwise_sum(&values[half..], of);
    }
    let (first, rest) = values.split_at(8);
    let mut sums: [f64; 8] = std::array::from_fn(|lane| of(first[lane]));
    let (rows, tail) = rest.as_chunks::<8>();
    for row in rows {
        for (sum, &value) in sums.iter_mut().zip(row) {
            *sum += of(value);
        }
    }
    let pair = |lane: usize| sums[lane] + sums[lane + 1];
    let sum = (pair(0) + pair(2)) + (pair(4) + pair(6));
    tail.iter().fold(sum, |sum, &value| sum + of(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(values: impl IntoIterator<Item = u32>) -> Distribution {
        Distribution::new(values.into_iter().map(f64::from).collect())
    }

    fn percentile(values: &Distribution, p: &str) -> Option<f64> {
        values.percentile(p.parse().unwrap())
    }

    #[test]
    fn nothing_has_no_distribution() {
        let nothing = Distribution::new(Vec::new());
        assert_eq!((nothing.mean(), nothing.std(), nothing.median()), (None, None, None));
        assert_eq!(nothing.percentile(Percentile::P99), None);
    }

    /// To the bit, as `NumPy` gives them.
    #[test]
    fn percentiles_interpolate_between_ranks() {
        let hundred = ms((1..=100).rev());
        assert_eq!(percentile(&hundred, "50"), Some(50.5));
        assert_eq!(percentile(&hundred, "90"), Some(90.100_000_000_000_01));
        assert_eq!(percentile(&hundred, "99"), Some(99.01));
        assert_eq!(percentile(&hundred, "0"), Some(1.0));
        assert_eq!(percentile(&hundred, "100"), Some(100.0));
        let four = ms([10, 20, 30, 40]);
        assert_eq!(percentile(&four, "50"), Some(25.0));
        assert_eq!(percentile(&four, "99"), Some(39.699_999_999_999_996));
        for p in ["0", "50", "99.9", "100"] {
            assert_eq!(percentile(&ms([7]), p), Some(7.0));
        }
    }

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(ms([3, 1, 2]).median(), Some(2.0));
        assert_eq!(ms([4, 1, 3, 2]).median(), Some(2.5));
    }

    #[test]
    fn the_standard_deviation_is_the_populations() {
        assert_eq!(ms([2, 4, 4, 4, 5, 5, 7, 9]).std(), Some(2.0));
    }

    /// Bits printed by `NumPy` 2.4: `a = (np.arange(1000) * 7919 % 1009) / 1000 + 0.1`.
    #[test]
    fn sums_round_as_numpys_do() {
        let values = |count: u32| {
            Distribution::new((0..count).map(|i| f64::from(i * 7919 % 1009) / 1000.0 + 0.1).collect())
        };
        for (count, mean, std) in SUMS {
            assert_eq!(values(count).mean().unwrap().to_bits(), f64::to_bits(mean), "mean of {count}");
            assert_eq!(values(count).std().unwrap().to_bits(), f64::to_bits(std), "std of {count}");
        }
    }

    const SUMS: [(u32, f64, f64); 5] = [
        (5, 0.6012, 0.293_614_304_828_630_6),
        (100, 0.608_59, 0.294_204_557_918_466),
        (129, 0.609_186_046_511_628, 0.292_394_651_205_117_26),
        (777, 0.604_631_917_631_917_6, 0.291_226_600_307_112_2),
        (1000, 0.604_678, 0.291_359_071_106_427_06),
    ];
}
