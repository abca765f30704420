//! When requests are due: a schedule fixed by the seed, whatever becomes of the requests.

use std::time::Duration;

use rand::SeedableRng;
use rand_distr::{Distribution, Gamma};
use rand_pcg::Pcg64;
use records::{Error, Rate, Result};

/// Draws the arrival times of an open loop.
///
/// Gaps are gamma-distributed with mean 1/rate and shape `burstiness`, as in vLLM's client: 1 is a Poisson process,
/// `inf` evenly spaced; the first request is due after the first gap. Times are absolute, so that lateness of one
/// request moves none after it.
pub(crate) struct Pacer {
    gaps: Gaps,
    /// Seconds since the run's start.
    due: f64,
}

enum Gaps {
    /// No schedule: each request when its turn comes.
    None,
    Even(f64),
    Drawn(Gamma<f64>, Box<Pcg64>),
}

impl Pacer {
    /// For `rate` requests a second.
    pub(crate) fn new(rate: Rate, burstiness: Rate, seed: u64) -> Result<Self> {
        let (rate, shape) = (rate.get(), burstiness.get());
        let gaps = if rate.is_infinite() {
            Gaps::None
        } else if shape.is_infinite() {
            Gaps::Even(1.0 / rate)
        } else {
            let gamma = Gamma::new(shape, 1.0 / (rate * shape)).map_err(|_| {
                Error::usage(format!("--request-rate {rate} with --burstiness {shape} has no usable gaps"))
            })?;
            Gaps::Drawn(gamma, Box::new(Pcg64::seed_from_u64(seed)))
        };
        Ok(Self { gaps, due: 0.0 })
    }

    /// When the next request is due, since the run's start; `None`: when its turn comes.
    pub(crate) fn next_due(&mut self) -> Option<Duration> {
        self.due += match &mut self.gaps {
            Gaps::None => return None,
            Gaps::Even(gap) => *gap,
            Gaps::Drawn(gamma, rng) => gamma.sample(rng),
        };
        Some(Duration::try_from_secs_f64(self.due).unwrap_or(Duration::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rate: f64, shape: f64, seed: u64, count: usize) -> Vec<f64> {
        let mut pacer = Pacer::new(Rate::new(rate).unwrap(), Rate::new(shape).unwrap(), seed).unwrap();
        std::iter::from_fn(|| pacer.next_due()).take(count).map(|due| due.as_secs_f64()).collect()
    }

    #[test]
    fn infinite_burstiness_is_evenly_spaced() {
        let times = times(200.0, f64::INFINITY, 0, 1000);
        assert!((times[999] - times[0] - 999.0 / 200.0).abs() < 1e-6);
        assert!((times[0] - 0.005).abs() < 1e-9);
    }

    #[test]
    fn an_infinite_rate_has_no_schedule() {
        assert!(times(f64::INFINITY, 1.0, 0, 10).is_empty());
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(times(10.0, 1.0, 7, 50), times(10.0, 1.0, 7, 50));
        assert_ne!(times(10.0, 1.0, 7, 50), times(10.0, 1.0, 8, 50));
    }

    #[test]
    fn gaps_have_the_mean_and_spread_asked_for() {
        for shape in [0.25, 1.0, 4.0] {
            let times = times(50.0, shape, 3, 20_000);
            let mut last = 0.0;
            let gaps: Vec<f64> =
                times.iter().map(|&time| time - std::mem::replace(&mut last, time)).collect();
            let mean = gaps.iter().sum::<f64>() / 20_000.0;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 20_000.0;
            assert!((mean * 50.0 - 1.0).abs() < 0.05, "mean gap {mean} at shape {shape}");
            let spread = variance.sqrt() / mean;
            assert!((spread * shape.sqrt() - 1.0).abs() < 0.05, "spread {spread} at shape {shape}");
        }
    }
}
