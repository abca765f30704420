//! When requests are due: a schedule fixed by the seed, whatever becomes of the requests.

use std::{time::Duration, vec};

use rand::SeedableRng;
use rand_distr::{Distribution, Gamma};
use rand_pcg::Pcg64;
use records::{Error, Result};
use rng::numpy::Legacy;

use crate::{Args, Like, feed::Extent, load::Load, schedule::Schedule};

/// The arrival process of an open loop.
///
/// Gaps are gamma-distributed with mean 1/rate and shape `burstiness`, as in vLLM's client: 1 is a Poisson process,
/// `inf` evenly spaced; the first request is due after the first gap. Times are absolute, so that lateness of one
/// request moves none after it.
///
/// With `--like` they are those of vLLM's client (`get_request` of its serve.py), drawn from NumPy's generator; at a
/// constant rate it stretches them so that the last request is due at count/rate.
pub(crate) struct Arrivals {
    load: Load,
    shape: f64,
    source: Source,
}

enum Source {
    Own(Gamma<f64>, Box<Pcg64>),
    Numpy(Box<Legacy>),
}

/// Says of each request when it is due.
pub(crate) enum Pacer {
    /// No schedule: each when its turn comes.
    Unpaced,
    /// Drawn as they are needed.
    Streaming {
        /// What they are drawn from.
        arrivals: Arrivals,
        /// Requests a second.
        rate: f64,
        /// Seconds from the run's start to the last; of a process of rate 1, where a schedule places them.
        due: f64,
        /// The rate over time, if it changes.
        schedule: Option<Schedule>,
    },
    /// Drawn beforehand, in seconds since the run's start.
    Planned(vec::IntoIter<f64>),
}

impl Arrivals {
    /// The process that the flags ask for.
    pub(crate) fn new(args: &Args) -> Result<Self> {
        let (load, shape) = (Load::new(args)?, args.burstiness.get());
        for rate in load.range().into_iter().flatten().filter(|_| shape.is_finite()) {
            let scale = 1.0 / (rate * shape);
            if !(scale > 0.0 && scale.is_finite()) {
                let problem =
                    format!("{rate} requests a second with --burstiness {shape} have no usable gaps");
                return Err(Error::usage(problem));
            }
        }
        let source =
            args.like.map_or_else(|| Source::own(shape, args.seed), |like| Source::of(like, args))?;
        Ok(Self { load, shape, source })
    }

    /// The rate of arrivals.
    pub(crate) fn load(&self) -> &Load {
        &self.load
    }

    /// Whether the number of requests must be known before the first is sent.
    pub(crate) fn need_count(&self) -> bool {
        match self.load {
            Load::Unlimited | Load::Schedule(_) => false,
            Load::Constant(_) => matches!(self.source, Source::Numpy(_)),
            Load::Ramp(_) => true,
        }
    }

    /// The times of any number of requests.
    pub(crate) fn stream(self) -> Pacer {
        match self.load.clone() {
            Load::Constant(rate) => Pacer::Streaming { arrivals: self, rate, due: 0.0, schedule: None },
            Load::Schedule(schedule) => {
                Pacer::Streaming { arrivals: self, rate: 1.0, due: 0.0, schedule: Some(schedule) }
            }
            _ => Pacer::Unpaced,
        }
    }

    /// The times of all `rows`.
    pub(crate) fn plan(mut self, rows: Extent) -> Pacer {
        let Extent { count, numpy_words } = rows;
        if let Source::Numpy(legacy) = &mut self.source {
            legacy.skip_words(numpy_words);
        }
        let mut due = 0.0;
        let mut times: Vec<f64> = (0..count)
            .map(|index| {
                due += self.gap(self.load.rate(index, count));
                due
            })
            .collect();
        if let (&Load::Constant(rate), Source::Numpy(_)) = (&self.load, &self.source) {
            stretch(&mut times, count as f64 / rate);
        }
        Pacer::Planned(times.into_iter())
    }

    fn gap(&mut self, rate: f64) -> f64 {
        if self.shape.is_infinite() {
            return 1.0 / rate;
        }
        let scale = 1.0 / (rate * self.shape);
        match &mut self.source {
            Source::Own(gamma, words) => gamma.sample(words) * scale,
            Source::Numpy(legacy) => legacy.gamma(self.shape, scale),
        }
    }
}

impl Source {
    fn own(shape: f64, seed: u64) -> Result<Self> {
        let gamma = Gamma::new(shape, 1.0)
            .map_err(|error| Error::usage(format!("--burstiness {shape} has no usable gaps: {error}")))?;
        Ok(Self::Own(gamma, Box::new(Pcg64::seed_from_u64(seed))))
    }

    fn of(like: Like, args: &Args) -> Result<Self> {
        let name = like.name();
        if like == Like::Vllm011 && args.burstiness.get().is_infinite() {
            let problem = format!(
                "--like {name} has no evenly spaced arrivals; give a finite --burstiness, or --like vllm-0.33"
            );
            return Err(Error::usage(problem));
        }
        let seed = u32::try_from(args.seed).map_err(|_| {
            Error::usage(format!(
                "--seed {}: with --like {name} it must be below 4294967296, as NumPy's",
                args.seed
            ))
        })?;
        Ok(Self::Numpy(Box::new(Legacy::new(seed))))
    }
}

/// Scales `times` so that the last is `end`.
fn stretch(times: &mut [f64], end: f64) {
    if let Some(&last) = times.last().filter(|&&last| last != 0.0) {
        let factor = end / last;
        for time in times {
            *time *= factor;
        }
    }
}

/// When a request is due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Due {
    /// When its turn comes.
    InTurn,
    /// At this time of the run.
    At(Duration),
    /// Never: the schedule is over.
    Never,
}

impl Pacer {
    /// When the next request is due.
    pub(crate) fn next_due(&mut self) -> Due {
        if let Self::Unpaced = self {
            return Due::InTurn;
        }
        let at = |seconds| Due::At(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        self.next_secs().map_or(Due::Never, at)
    }

    fn next_secs(&mut self) -> Option<f64> {
        match self {
            Self::Unpaced => None,
            Self::Streaming { arrivals, rate, due, schedule } => {
                *due += arrivals.gap(*rate);
                schedule.as_ref().map_or(Some(*due), |schedule| schedule.time_of(*due))
            }
            Self::Planned(times) => times.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::Value;

    use super::*;

    fn arrivals(flags: &str) -> Result<Arrivals> {
        Arrivals::new(&Args::try_parse_from(["x"].into_iter().chain(flags.split_whitespace())).unwrap())
    }

    fn times(flags: &str, count: usize) -> Vec<f64> {
        let arrivals = arrivals(flags).unwrap();
        let mut pacer = if arrivals.need_count() {
            arrivals.plan(Extent { count, numpy_words: 0 })
        } else {
            arrivals.stream()
        };
        seconds(&mut pacer).take(count).collect()
    }

    /// The times of a pacer, before they are rounded to nanoseconds.
    fn seconds(pacer: &mut Pacer) -> impl Iterator<Item = f64> {
        std::iter::from_fn(|| pacer.next_secs())
    }

    /// Made by arrivals.py with NumPy.
    #[test]
    fn times_are_those_of_vllm() {
        let cases: Value = serde_json::from_str(include_str!("../tests/arrivals.json")).unwrap();
        let cases = cases["cases"].as_array().unwrap();
        assert!(cases.len() > 50);
        for case in cases {
            let expected: Vec<f64> =
                case["times"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
            let flags = case["flags"].as_str().unwrap();
            assert_eq!(times(&format!("--like vllm-0.33 {flags}"), expected.len()), expected, "{flags}");
            if !flags.contains("inf") {
                assert_eq!(times(&format!("--like vllm-0.11 {flags}"), expected.len()), expected, "{flags}");
            }
        }
    }

    #[test]
    fn the_last_request_of_vllm_is_due_at_count_over_rate() {
        let times = times("--like vllm-0.33 --request-rate 10", 5);
        let printed = [
            0.092_258_660_006_179_42,
            0.237_847_553_812_060_38,
            0.344_868_609_826_480_2,
            0.436_121_844_756_361_1,
            0.5,
        ];
        assert_eq!(times, printed);
    }

    /// `np.random.seed(3); np.random.randint(0, 100, 4)` draws six words, two in vain.
    #[test]
    fn what_the_dataset_has_drawn_is_drawn_first() {
        let mut pacer = arrivals("--like vllm-0.33 --request-rate 2 --seed 3")
            .unwrap()
            .plan(Extent { count: 3, numpy_words: 6 });
        let times: Vec<f64> = seconds(&mut pacer).collect();
        assert_eq!(times, [0.205_642_419_980_619_2, 0.848_254_809_680_702_9, 1.5]);
    }

    #[test]
    fn what_vllm_cannot_do_is_refused() {
        for (flags, problem) in [
            ("--like vllm-0.11 --request-rate 4 --burstiness inf", "--like vllm-0.11 has no evenly spaced"),
            ("--like vllm-0.33 --seed 4294967296", "--seed 4294967296: with --like vllm-0.33"),
            (
                "--ramp-up-strategy linear --ramp-up-start-rps 4 --ramp-up-end-rps 3",
                "--ramp-up-start-rps 4 is above --ramp-up-end-rps 3",
            ),
            ("--ramp-up-strategy linear --ramp-up-start-rps 4 --ramp-up-end-rps inf", "must be finite"),
            ("--request-rate 1e300 --burstiness 1e300", "no usable gaps"),
        ] {
            let error = arrivals(flags).err().unwrap().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_ramp_rises_from_its_start_to_its_end() {
        let flags = "--burstiness inf --ramp-up-start-rps 1 --ramp-up-end-rps 4 --ramp-up-strategy";
        for (strategy, gaps) in
            [("linear", [1.0, 0.5, 1.0 / 3.0, 0.25]), ("exponential", [1.0, 0.63, 0.397, 0.25])]
        {
            let mut last = 0.0;
            for (time, gap) in times(&format!("{flags} {strategy}"), 4).into_iter().zip(gaps) {
                assert!((time - last - gap).abs() < 1e-3, "{strategy}: {time} after {last}");
                last = time;
            }
        }
        assert_eq!(times(&format!("{flags} linear"), 1), [1.0]);
    }

    #[test]
    fn infinite_burstiness_is_evenly_spaced() {
        let times = times("--request-rate 200 --burstiness inf", 1000);
        assert!((times[999] - times[0] - 999.0 / 200.0).abs() < 1e-6);
        assert!((times[0] - 0.005).abs() < 1e-9);
    }

    #[test]
    fn a_schedule_places_the_same_arrivals_in_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        std::fs::write(path, "# as --request-rate 50\n1000 50 # for long\n").unwrap();
        let constant = times("--request-rate 50 --seed 5", 1000);
        for (one, other) in times(&format!("--schedule {path} --seed 5"), 1000).iter().zip(&constant) {
            assert!((one - other).abs() < 1e-9, "{one} for {other}");
        }
        std::fs::write(path, "100 10\n100 0\n100 30\n").unwrap();
        let times = times(&format!("--schedule {path} --seed 3"), 10_000);
        let within = |from: f64, to: f64| times.iter().filter(|&&time| (from..to).contains(&time)).count();
        assert_eq!(within(100.0, 200.0), 0);
        assert!(within(0.0, 100.0).abs_diff(1000) < 120 && within(200.0, 300.0).abs_diff(3000) < 220);
        assert_eq!(within(0.0, 300.0), times.len());
    }

    #[test]
    fn an_infinite_rate_has_no_schedule() {
        assert!(times("--seed 0", 10).is_empty());
        assert!(times("--like vllm-0.33", 10).is_empty());
    }

    #[test]
    fn the_seed_decides() {
        let seeded = |seed: u64| times(&format!("--request-rate 10 --seed {seed}"), 50);
        assert_eq!(seeded(7), seeded(7));
        assert_ne!(seeded(7), seeded(8));
    }

    #[test]
    fn gaps_have_the_mean_and_spread_asked_for() {
        for shape in [0.25_f64, 1.0, 4.0] {
            let times = times(&format!("--request-rate 50 --burstiness {shape} --seed 3"), 20_000);
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
