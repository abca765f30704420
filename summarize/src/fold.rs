//! From lines of input to reports: `add` each record, `merge` the parts, `finish`.

use std::{
    collections::{BTreeSet, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use indexmap::IndexMap;
use records::{AnyRecord, Lines, Timing};

use crate::{
    Options,
    report::{Part, Report},
    runs::Run,
    sample::Sample,
};

/// Everything read so far. Grows by a few words for each request and one for each gap between output events.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    runs: IndexMap<String, Run>,
    /// By workload, then by run.
    samples: IndexMap<Option<String>, IndexMap<String, Sample>>,
    /// Hashes of the rows' identities.
    seen: HashSet<u64>,
    doubled: u64,
    unknown_kinds: BTreeSet<String>,
    warnings: Vec<String>,
}

/// What a fold amounts to.
#[derive(Debug)]
pub(crate) struct Folded {
    /// One, or one for each workload.
    pub reports: Vec<Report>,
    /// What was odd about the input; each summary holds these too.
    pub warnings: Vec<String>,
    /// Whether a run lacks its end.
    pub cut_off: bool,
}

impl Fold {
    /// Folds one input to its end.
    pub(crate) fn read(mut lines: Lines) -> records::Result<Self> {
        let mut fold = Self::default();
        while let Some((number, record)) = lines.next_record(&mut fold.warnings)? {
            fold.add(record).map_err(|problem| lines.error(number, problem))?;
        }
        if fold.is_empty() {
            fold.warnings.push(format!("{} holds no timing rows", lines.file()));
        }
        Ok(fold)
    }

    /// Whether no row has been seen, not even a warm-up's.
    pub(crate) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Takes in one record; fails if it is of a kind that belongs elsewhere.
    pub(crate) fn add(&mut self, record: AnyRecord) -> Result<(), String> {
        match record {
            AnyRecord::Timing(timing) => self.add_row(&timing),
            AnyRecord::RunStart(start) => return self.run(&start.run).add_start(*start),
            AnyRecord::RunEnd(end) => self.run(&end.run).add_end(*end),
            AnyRecord::Prompt(_) => {
                return Err("this is a prompt, not a timing; pipe it through fire-requests first".to_owned());
            }
            AnyRecord::Summary(_) | AnyRecord::Comparison(_) => {
                return Err(format!(
                    "this is a {record}, a finished report; give the timing rows it was made from"
                ));
            }
            AnyRecord::Other(kind) => {
                self.unknown_kinds.insert(kind);
            }
        }
        Ok(())
    }

    fn add_row(&mut self, timing: &Timing) {
        if !timing.id.is_empty() && !self.seen.insert(identity(timing)) {
            self.doubled += 1;
        }
        self.run(&timing.run).add_row(timing);
        let samples = self.samples.entry(timing.workload.clone()).or_default();
        samples.entry(timing.run.clone()).or_default().add(timing);
    }

    fn run(&mut self, name: &str) -> &mut Run {
        // Looked up first: nearly every row is of a run already known.
        match self.runs.get_index_of(name) {
            Some(at) => &mut self.runs[at],
            None => self.runs.entry(name.to_owned()).or_default(),
        }
    }

    /// Takes in what another part of the input amounted to.
    pub(crate) fn merge(&mut self, other: Self) {
        for (name, run) in other.runs {
            self.runs.entry(name).or_default().merge(run);
        }
        for (workload, samples) in other.samples {
            let mine = self.samples.entry(workload).or_default();
            for (run, sample) in samples {
                mine.entry(run).or_default().merge(sample);
            }
        }
        self.doubled += other.doubled + self.seen.intersection(&other.seen).count() as u64;
        self.seen.extend(other.seen);
        self.unknown_kinds.extend(other.unknown_kinds);
        self.warnings.extend(other.warnings);
    }

    /// Works out the figures.
    pub(crate) fn finish(self, options: &Options) -> Folded {
        let warnings = self.warnings();
        let cut_off = self.runs.values().any(Run::is_cut_off);
        let groups = if options.by_workload { self.samples } else { pooled(self.samples) };
        let reports = groups.into_iter().map(|(workload, samples)| {
            let parts: Vec<_> = samples
                .into_iter()
                .map(|(name, sample)| Part { run: &self.runs[&name], name, sample })
                .collect();
            Report::new(workload.filter(|_| options.by_workload), parts, &warnings, options)
        });
        Folded { reports: reports.collect(), cut_off, warnings }
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        warnings.extend(self.runs.iter().flat_map(|(name, run)| run.warnings(name)));
        if self.doubled > 0 {
            warnings.push(format!(
                "rows with the run, id and phase of an earlier row: {}; is a file given twice?",
                self.doubled
            ));
        }
        if !self.unknown_kinds.is_empty() {
            let kinds: Vec<_> = self.unknown_kinds.iter().map(String::as_str).collect();
            warnings.push(format!("records of unknown kinds were passed over: {}", kinds.join(", ")));
        }
        if self.runs.len() > 1 && self.runs.values().any(|run| run.anchor().is_none()) {
            warnings
                .push("runs without a run_start line are taken to have run one after the other".to_owned());
        }
        let totals = || self.samples.values().flat_map(IndexMap::values).map(|sample| sample.totals);
        let (uncounted, unplaced) =
            totals().fold((0, 0), |(a, b), totals| (a + totals.uncounted, b + totals.unplaced));
        if uncounted > 0 {
            warnings.push(format!("successful requests without a token count, taken as 0: {uncounted}"));
        }
        if unplaced > 0 {
            warnings.push(format!(
                "successful requests without `sent_us`, left out of durations and peaks: {unplaced}"
            ));
        }
        warnings
    }
}

/// All workloads as one group, each run's rows in one part.
fn pooled(
    samples: IndexMap<Option<String>, IndexMap<String, Sample>>,
) -> IndexMap<Option<String>, IndexMap<String, Sample>> {
    let mut all = IndexMap::<String, Sample>::new();
    for (run, sample) in samples.into_values().flatten() {
        all.entry(run).or_default().merge(sample);
    }
    IndexMap::from([(None, all)])
}

fn identity(timing: &Timing) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&timing.run, &timing.id, timing.phase as u8).hash(&mut hasher);
    hasher.finish()
}
