//! How many connections are opened before anybody needs them.

use std::num::NonZeroU32;

use crate::load::Load;

/// Most that are opened before the run.
const MOST: usize = 1 << 14;
/// Most that are opened before a run with a schedule: they are idle until their turn comes, and servers close those.
const MOST_SCHEDULED: f64 = 1024.0;

/// Connections to have ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ahead {
    /// Before the first request, unless there are fewer rows.
    pub(crate) at_first: usize,
    /// On each thread, while requests come by a schedule: the next one finds a connection whatever has become of those
    /// before it.
    pub(crate) spare: usize,
}

impl Ahead {
    /// For this cap and load and so many threads: one for each request that will be in flight at once, as far as that is
    /// known, and those that a schedule wants within half a second.
    pub(crate) fn new(cap: Option<NonZeroU32>, load: &Load, threads: usize) -> Self {
        let cap = cap.map_or(MOST, |cap| cap.get() as usize).min(MOST);
        let Some(rate) = load.peak() else { return Self { at_first: cap, spare: 0 } };
        let within = |seconds: f64| (rate * seconds).ceil().min(MOST_SCHEDULED) as usize;
        Self { at_first: within(0.5).min(cap), spare: within(0.005).div_ceil(threads).min(cap) }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::Args;

    #[test]
    fn as_many_as_will_be_needed() {
        for (flags, at_first, spare) in [
            ("", MOST, 0),
            ("--max-concurrency 8", 8, 0),
            ("--request-rate 4", 2, 1),
            ("--request-rate 1000", 500, 3),
            ("--request-rate 1000 --max-concurrency 4", 4, 3),
            ("--request-rate 1e6", 1024, 512),
            ("--ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 100", 50, 1),
        ] {
            let args = Args::try_parse_from(["x"].into_iter().chain(flags.split_whitespace())).unwrap();
            assert_eq!(
                Ahead::new(args.max_concurrency, &Load::new(&args).unwrap(), 2),
                Ahead { at_first, spare },
                "{flags}"
            );
        }
    }
}
