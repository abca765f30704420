//! How far and which way a value went.

use records::{Better, Direction};

/// The change from one value to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change {
    /// New minus old.
    pub(crate) absolute: f64,
    /// In percent of the old value; `None` where that is 0.
    pub(crate) percent: Option<f64>,
}

impl Change {
    /// From `baseline` to `value`.
    pub(crate) fn new(baseline: f64, value: f64) -> Self {
        let absolute = value - baseline;
        let percent = 100.0 * absolute / baseline;
        Self { absolute, percent: percent.is_finite().then_some(percent) }
    }

    /// The percentage that a rule compares: from 0, any change is infinitely large.
    pub(crate) fn ratio(self) -> f64 {
        match self.percent {
            Some(percent) => percent,
            None if self.absolute == 0.0 => 0.0,
            None => f64::INFINITY.copysign(self.absolute),
        }
    }

    /// Which way it went; `None` where neither way is better.
    pub(crate) fn direction(self, better: Better) -> Option<Direction> {
        let improved = match better {
            Better::Higher => self.absolute > 0.0,
            Better::Lower => self.absolute < 0.0,
            Better::Neither => return None,
        };
        Some(match (self.absolute == 0.0, improved) {
            (true, _) => Direction::Same,
            (false, true) => Direction::Better,
            (false, false) => Direction::Worse,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_baseline_has_a_direction_but_no_percentage() {
        for (baseline, value, absolute, direction) in [
            (0.0, 12.0, 12.0, Direction::Worse),
            (0.0, 5.5, 5.5, Direction::Worse),
            (0.0, 0.0, 0.0, Direction::Same),
        ] {
            let change = Change::new(baseline, value);
            assert_eq!((change.absolute, change.percent), (absolute, None));
            assert_eq!(change.direction(Better::Lower), Some(direction));
        }
        assert_eq!(Change::new(0.0, 2.0).direction(Better::Higher), Some(Direction::Better));
    }
}
