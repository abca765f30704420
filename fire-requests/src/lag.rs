//! How late something was done, over and over.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hdrhistogram::Histogram;

/// A day; lateness beyond it is recorded as this much.
const LONGEST_US: u64 = 86_400_000_000;

/// Lateness in µs, to three digits.
pub(crate) struct Lag(Mutex<Histogram<u64>>);

impl Default for Lag {
    fn default() -> Self {
        Self(Mutex::new(histogram()))
    }
}

impl Lag {
    /// Once more.
    pub(crate) fn record(&self, lag: Duration) {
        self.lock().saturating_record(lag.as_micros() as u64);
    }

    /// Forgets everything.
    pub(crate) fn reset(&self) {
        self.lock().reset();
    }

    /// Everything seen, of all `lags`.
    pub(crate) fn merged<'a>(lags: impl IntoIterator<Item = &'a Self>) -> Distribution {
        let mut all = histogram();
        for lag in lags {
            // They are of the same range and precision, so that this cannot fail.
            let _ = all.add(&*lag.lock());
        }
        Distribution(all)
    }

    fn lock(&self) -> MutexGuard<'_, Histogram<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often what was seen.
pub(crate) struct Distribution(Histogram<u64>);

impl Distribution {
    /// The µs that this part of all was at most; none if there was nothing.
    pub(crate) fn at(&self, quantile: f64) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(quantile))
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST_US, 3).expect("3 significant digits are in the allowed range of 0 to 5")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_counts_however_large() {
        let lags = [Lag::default(), Lag::default()];
        lags[0].record(Duration::from_millis(66));
        lags[1].record(Duration::from_secs(30));
        lags[1].record(Duration::from_secs(1 << 40));
        let all = Lag::merged(&lags);
        let near = |quantile: f64, us: f64| (all.at(quantile).unwrap() as f64 / us - 1.0).abs() < 0.001;
        assert!(near(0.3, 66e3) && near(0.6, 30e6) && near(1.0, 86_400e6));
        lags[0].reset();
        assert!(Lag::merged(&lags).at(0.0).unwrap() > 29_000_000);
        assert_eq!(Lag::merged([]).at(0.5), None);
    }
}
