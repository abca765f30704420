//! A rate that changes with time, read from a small file.

use std::{f64::consts::TAU, fs, path::Path, str::FromStr};

use records::{Error, Result};

/// Requests per second over the time of a run: pieces, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Schedule {
    pieces: Vec<Piece>,
}

/// A piece of a schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    seconds: f64,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    /// From one rate to another, evenly; a constant rate goes from itself to itself.
    Line { from: f64, to: f64 },
    /// `mean + amplitude * sin(2πt / period)`, t counted from the piece's start.
    Sine { mean: f64, amplitude: f64, period: f64 },
}

impl Schedule {
    /// Reads a file of lines `SECONDS RATE`, `SECONDS FROM TO` or `SECONDS sine MEAN AMPLITUDE PERIOD`; `#` begins a
    /// comment.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|source| Error::read(&name, source))?;
        let mut pieces = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let piece = line.split('#').next().unwrap_or_default().trim();
            if !piece.is_empty() {
                let bad = |problem| Error::Line { file: name.clone(), line: at as u64 + 1, problem };
                pieces.push(piece.parse().map_err(bad)?);
            }
        }
        let schedule = Self { pieces };
        if schedule.total() > 0.0 {
            Ok(schedule)
        } else {
            Err(Error::usage(format!(
                "{name}: no time in it at which requests arrive; give it lines like `60 5`"
            )))
        }
    }

    /// Requests that arrive in all of it, on average.
    fn total(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.count(piece.seconds)).sum()
    }

    /// The highest rate.
    pub(crate) fn peak(&self) -> f64 {
        let highest = |piece: &Piece| match piece.shape {
            Shape::Line { from, to } => from.max(to),
            Shape::Sine { mean, amplitude, .. } => mean + amplitude,
        };
        self.pieces.iter().map(highest).fold(0.0, f64::max)
    }

    /// The time in seconds by which `count` requests arrive on average: the inverse of the rate's integral. It takes the
    /// arrivals of a process of rate 1 to those of this one (time-rescaling theorem). None once the schedule is over.
    pub(crate) fn time_of(&self, mut count: f64) -> Option<f64> {
        let mut begin = 0.0;
        for piece in &self.pieces {
            let whole = piece.count(piece.seconds);
            if count <= whole && whole > 0.0 {
                return Some(begin + piece.time_of(count));
            }
            count -= whole;
            begin += piece.seconds;
        }
        None
    }

    /// On one line, as the run's first record keeps it.
    pub(crate) fn line(&self) -> String {
        let text = |piece: &Piece| match piece.shape {
            Shape::Line { from, to } if from.to_bits() == to.to_bits() => format!("{} {from}", piece.seconds),
            Shape::Line { from, to } => format!("{} {from} {to}", piece.seconds),
            Shape::Sine { mean, amplitude, period } => {
                format!("{} sine {mean} {amplitude} {period}", piece.seconds)
            }
        };
        self.pieces.iter().map(text).collect::<Vec<_>>().join("; ")
    }
}

impl Piece {
    /// Requests that arrive within its first `time` seconds, on average.
    fn count(&self, time: f64) -> f64 {
        match self.shape {
            Shape::Line { from, to } => (from + (to - from) * time / self.seconds / 2.0) * time,
            Shape::Sine { mean, amplitude, period } => {
                mean * time + amplitude * period / TAU * (1.0 - (TAU * time / period).cos())
            }
        }
    }

    fn time_of(&self, count: f64) -> f64 {
        match self.shape {
            Shape::Line { from, to } => {
                // The root of slope/2·t² + from·t = count, in the form that does not cancel.
                let slope = (to - from) / self.seconds;
                let root = (from * from + 2.0 * slope * count).max(0.0).sqrt();
                if from + root > 0.0 { (2.0 * count / (from + root)).min(self.seconds) } else { 0.0 }
            }
            Shape::Sine { .. } => {
                // The count only grows with time, so halving finds it; 60 halvings are below a nanosecond.
                let (mut low, mut high) = (0.0, self.seconds);
                for _ in 0..60 {
                    let middle = f64::midpoint(low, high);
                    if self.count(middle) < count { low = middle } else { high = middle }
                }
                high
            }
        }
    }
}

impl FromStr for Piece {
    type Err = String;

    fn from_str(line: &str) -> std::result::Result<Self, String> {
        const FORMS: &str = "`SECONDS RATE`, `SECONDS FROM TO` or `SECONDS sine MEAN AMPLITUDE PERIOD`";
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word: &str| match word.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => Err(format!("'{word}' is no number of 0 or more; write {FORMS}")),
        };
        let (seconds, shape) = match words[..] {
            [seconds, rate] => (number(seconds)?, Shape::Line { from: number(rate)?, to: number(rate)? }),
            [seconds, from, to] => (number(seconds)?, Shape::Line { from: number(from)?, to: number(to)? }),
            [seconds, "sine", mean, amplitude, period] => {
                let (mean, amplitude, period) = (number(mean)?, number(amplitude)?, number(period)?);
                if amplitude > mean {
                    return Err(format!(
                        "the amplitude {amplitude} is above the mean {mean}; rates end at 0"
                    ));
                }
                if period == 0.0 {
                    return Err("a period of 0; give it in seconds".to_owned());
                }
                (number(seconds)?, Shape::Sine { mean, amplitude, period })
            }
            _ => return Err(format!("not one of {FORMS}")),
        };
        if seconds == 0.0 {
            return Err("a piece of 0 seconds; delete it, or give it some".to_owned());
        }
        Ok(Self { seconds, shape })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(lines: &str) -> Schedule {
        Schedule { pieces: lines.lines().map(|line| line.parse().unwrap()).collect() }
    }

    fn assert_near(value: Option<f64>, expected: f64) {
        assert!((value.unwrap() - expected).abs() < 1e-9, "{value:?} for {expected}");
    }

    #[test]
    fn times_are_where_the_integral_of_the_rate_has_come_to() {
        let steps = schedule("10 2\n5 0\n10 4");
        assert_near(steps.time_of(1.0), 0.5);
        assert_near(steps.time_of(20.0), 10.0);
        assert_near(steps.time_of(24.0), 16.0);
        assert_near(steps.time_of(60.0), 25.0);
        assert_eq!(steps.time_of(60.1), None);
        let rise = schedule("10 0 10");
        assert_near(rise.time_of(50.0), 10.0);
        assert_near(rise.time_of(12.5), 5.0);
        let fall = schedule("10 10 0");
        assert_near(fall.time_of(37.5), 5.0);
        assert_near(fall.time_of(50.0), 10.0);
    }

    #[test]
    fn a_sine_goes_round_its_mean() {
        let sine = schedule("60 sine 10 5 20");
        for whole in 1..=3 {
            assert_near(sine.time_of(f64::from(whole) * 200.0), f64::from(whole) * 20.0);
        }
        // Half a period above the mean: 100 + 5·20/π.
        assert_near(sine.time_of(100.0 + 100.0 / std::f64::consts::PI), 10.0);
        assert!((sine.peak() - 15.0).abs() < 1e-12);
    }

    #[test]
    fn what_was_read_is_recorded() {
        assert_eq!(schedule("60 5\n30 5 20\n120 sine 10 5 60").line(), "60 5; 30 5 20; 120 sine 10 5 60");
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("60", "not one of"),
            ("60 5 6 7", "not one of"),
            ("60 -5", "'-5' is no number"),
            ("x 5", "'x' is no number"),
            ("0 5", "0 seconds"),
            ("60 sine 5 6 10", "amplitude 6 is above the mean 5"),
            ("60 sine 5 5 0", "a period of 0"),
            ("60 cosine 5 5 1", "not one of"),
        ] {
            let problem = line.parse::<Piece>().unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
