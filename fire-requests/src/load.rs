//! How many requests a second are to arrive, at each point of the run.

use clap::ValueEnum;
use records::{Error, Rate, Result};

use crate::{Args, schedule::Schedule};

/// The rate of an open loop.
#[derive(Debug, Clone)]
pub(crate) enum Load {
    /// No schedule.
    Unlimited,
    /// The same throughout.
    Constant(f64),
    /// Rising from the first request to the last.
    Ramp(Ramp),
    /// Changing with time.
    Schedule(Schedule),
}

/// A rate that rises with each request, not with time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ramp {
    strategy: Strategy,
    start: f64,
    end: f64,
}

/// How a rate rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// By the same amount with each request
    Linear,
    /// By the same factor with each request
    Exponential,
}

impl Strategy {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Exponential => "exponential",
        }
    }
}

impl Load {
    /// The one that the flags ask for.
    pub(crate) fn new(args: &Args) -> Result<Self> {
        if let Some(path) = &args.schedule {
            return Schedule::read(path).map(Self::Schedule);
        }
        match (args.ramp_up_strategy, args.ramp_up_start_rps, args.ramp_up_end_rps) {
            (Some(strategy), Some(start), Some(end)) => Ramp::new(strategy, start, end).map(Self::Ramp),
            _ if args.request_rate.get().is_infinite() => Ok(Self::Unlimited),
            _ => Ok(Self::Constant(args.request_rate.get())),
        }
    }

    /// The rate at which request `index` of `count` arrives.
    pub(crate) fn rate(&self, index: usize, count: usize) -> f64 {
        match self {
            Self::Unlimited => f64::INFINITY,
            // Its gaps are those of a process of rate 1, until they are placed in time.
            Self::Schedule(_) => 1.0,
            Self::Constant(rate) => *rate,
            Self::Ramp(ramp) => ramp.rate(index, count),
        }
    }

    /// The rate over time on one line, if it changes with it.
    pub(crate) fn line(&self) -> Option<String> {
        if let Self::Schedule(schedule) = self { Some(schedule.line()) } else { None }
    }

    /// The highest rate; none without a schedule.
    pub(crate) fn peak(&self) -> Option<f64> {
        match self {
            Self::Unlimited => None,
            Self::Schedule(schedule) => Some(schedule.peak()),
            Self::Constant(rate) => Some(*rate),
            Self::Ramp(ramp) => Some(ramp.end),
        }
    }

    /// The least and the greatest rate; none without a schedule.
    pub(crate) fn range(&self) -> Option<[f64; 2]> {
        match self {
            Self::Unlimited => None,
            Self::Schedule(_) => Some([1.0; 2]),
            Self::Constant(rate) => Some([*rate; 2]),
            Self::Ramp(ramp) => Some([ramp.start, ramp.end]),
        }
    }
}

impl Ramp {
    fn new(strategy: Strategy, start: Rate, end: Rate) -> Result<Self> {
        let (start, end) = (start.get(), end.get());
        if start.is_infinite() || end.is_infinite() {
            return Err(Error::usage("--ramp-up-start-rps and --ramp-up-end-rps must be finite"));
        }
        if start > end {
            return Err(Error::usage(format!(
                "--ramp-up-start-rps {start} is above --ramp-up-end-rps {end}; a ramp only rises"
            )));
        }
        Ok(Self { strategy, start, end })
    }

    /// From the start for the first request to the end for the last.
    fn rate(&self, index: usize, count: usize) -> f64 {
        let progress = index as f64 / count.saturating_sub(1).max(1) as f64;
        match self.strategy {
            Strategy::Linear => self.start + (self.end - self.start) * progress,
            Strategy::Exponential => self.start * (self.end / self.start).powf(progress),
        }
    }
}
