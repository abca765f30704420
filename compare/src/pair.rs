//! Which figures of the baseline meet which of the candidates.

use records::{Error, Result, Summary};

use crate::side::Side;

/// One side of one workload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Labelled<'a> {
    /// The input's label.
    pub(crate) label: &'a str,
    /// Its figures.
    pub(crate) summary: &'a Summary,
}

/// A workload that the baseline and at least one candidate have.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    /// Its name, with `--by workload`.
    pub(crate) workload: Option<&'a str>,
    /// What is compared with.
    pub(crate) baseline: Labelled<'a>,
    /// Those that have it, in the order given.
    pub(crate) candidates: Vec<Labelled<'a>>,
}

/// Everything that can be compared, and what cannot.
#[derive(Debug)]
pub(crate) struct Pairing<'a> {
    /// In the baseline's order.
    pub(crate) groups: Vec<Group<'a>>,
    /// Workloads found on one side only, in words.
    pub(crate) unmatched: Vec<String>,
}

/// Pairs the first side with each further one.
pub(crate) fn pair(sides: &[Side], by_workload: bool) -> Result<Pairing<'_>> {
    let [baseline, candidates @ ..] = sides else {
        return Err(Error::usage("nothing to compare: name a baseline and a candidate"));
    };
    if by_workload { by_name(baseline, candidates) } else { whole(baseline, candidates) }
}

fn whole<'a>(baseline: &'a Side, candidates: &'a [Side]) -> Result<Pairing<'a>> {
    let candidates = candidates.iter().map(only).collect::<Result<_>>()?;
    let group = Group { workload: None, baseline: only(baseline)?, candidates };
    Ok(Pairing { groups: vec![group], unmatched: Vec::new() })
}

/// The summary of the whole run.
fn only(side: &Side) -> Result<Labelled<'_>> {
    match side.summaries.as_slice() {
        [summary] => Ok(Labelled { label: &side.label, summary }),
        several => {
            let (names, count) = (names(side), several.len());
            let label = &side.label;
            Err(Error::usage(format!(
                "{label} holds {count} summaries ({names}); give --by workload, or one summary a file"
            )))
        }
    }
}

fn by_name<'a>(baseline: &'a Side, candidates: &'a [Side]) -> Result<Pairing<'a>> {
    for side in candidates.iter().chain([baseline]) {
        refuse_twins(side)?;
    }
    let mut pairing = Pairing { groups: Vec::new(), unmatched: Vec::new() };
    for summary in &baseline.summaries {
        let workload = summary.workload.as_deref();
        let mut found = Vec::new();
        for side in candidates {
            match find(side, workload) {
                Some(summary) => found.push(Labelled { label: &side.label, summary }),
                None => pairing.unmatched.push(missing(workload, &baseline.label, &side.label)),
            }
        }
        if !found.is_empty() {
            let baseline = Labelled { label: &baseline.label, summary };
            pairing.groups.push(Group { workload, baseline, candidates: found });
        }
    }
    for side in candidates {
        let names = side.summaries.iter().map(|summary| summary.workload.as_deref());
        let extra = names.filter(|workload| find(baseline, *workload).is_none());
        pairing.unmatched.extend(extra.map(|workload| missing(workload, &side.label, &baseline.label)));
    }
    if pairing.groups.is_empty() {
        let sides: Vec<_> = candidates
            .iter()
            .chain([baseline])
            .map(|side| format!("{} has {}", side.label, names(side)))
            .collect();
        return Err(Error::usage(format!("no workload in common: {}", sides.join("; "))));
    }
    Ok(pairing)
}

fn find<'a>(side: &'a Side, workload: Option<&str>) -> Option<&'a Summary> {
    side.summaries.iter().find(|summary| summary.workload.as_deref() == workload)
}

fn refuse_twins(side: &Side) -> Result<()> {
    for (index, summary) in side.summaries.iter().enumerate() {
        if side.summaries[..index].iter().any(|other| other.workload == summary.workload) {
            let (label, name) = (&side.label, name(summary.workload.as_deref()));
            return Err(Error::usage(format!("{label} holds two summaries of {name}; give one run a file")));
        }
    }
    Ok(())
}

fn missing(workload: Option<&str>, there: &str, absent: &str) -> String {
    format!("{} is in {there} but not in {absent}: it is not compared", name(workload))
}

fn name(workload: Option<&str>) -> String {
    workload.map_or_else(|| "no workload".to_owned(), |workload| format!("workload '{workload}'"))
}

fn names(side: &Side) -> String {
    let names: Vec<_> = side.summaries.iter().map(|summary| name(summary.workload.as_deref())).collect();
    names.join(", ")
}
