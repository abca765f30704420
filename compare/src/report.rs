//! The comparison as a table, before it takes a form.

use records::{Comparison, Error, Result};

use crate::{
    change::Change,
    metric::{Metric, Selection},
    pair::{Group, Labelled, Pairing},
    rule::Rule,
    unlike,
};

/// All tables, with what qualifies them.
#[derive(Debug)]
pub(crate) struct Report {
    /// One for each workload.
    pub(crate) tables: Vec<Table>,
    /// Workloads that no table shows.
    pub(crate) unmatched: Vec<String>,
}

/// One workload.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name, with `--by workload`.
    pub(crate) workload: Option<String>,
    /// The baseline's label.
    pub(crate) baseline: String,
    /// The candidates' labels.
    pub(crate) candidates: Vec<String>,
    /// One for each metric.
    pub(crate) rows: Vec<Row>,
    /// What a reader must know about these figures.
    pub(crate) warnings: Vec<String>,
}

/// One metric.
#[derive(Debug)]
pub(crate) struct Row {
    /// Which.
    pub(crate) metric: Metric,
    /// One for each candidate, in the table's order.
    pub(crate) cells: Vec<Comparison>,
}

impl Report {
    /// Compares everything paired. A rule that cannot be checked is an error: it must not pass in silence.
    pub(crate) fn new(pairing: &Pairing<'_>, selection: &Selection, rules: &[Rule]) -> Result<Self> {
        if let (Some(rule), Some(unmatched)) = (rules.first(), pairing.unmatched.first()) {
            return Err(Error::usage(format!(
                "--fail-if {}: it cannot be checked everywhere, since {unmatched}",
                rule.text
            )));
        }
        let tables =
            pairing.groups.iter().map(|group| table(group, selection, rules)).collect::<Result<_>>()?;
        Ok(Self { tables, unmatched: pairing.unmatched.clone() })
    }

    /// Every warning, each with its workload.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        let of_tables = self.tables.iter().flat_map(|table| {
            let place = table.workload.as_ref().map(|name| format!("workload {name}: ")).unwrap_or_default();
            table.warnings.iter().map(move |warning| format!("{place}{warning}"))
        });
        self.unmatched.iter().cloned().chain(of_tables)
    }
}

fn table(group: &Group<'_>, selection: &Selection, rules: &[Rule]) -> Result<Table> {
    let sides: Vec<_> =
        [group.baseline].iter().chain(&group.candidates).map(|labelled| labelled.summary).collect();
    let mut metrics = selection.metrics(&sides);
    for rule in rules {
        if !metrics.contains(&rule.metric) {
            metrics.push(rule.metric.clone());
        }
    }
    let row = |metric: Metric| {
        let cells = group.candidates.iter().map(|candidate| cell(&metric, group, *candidate, rules));
        Ok(Row { cells: cells.collect::<Result<_>>()?, metric })
    };
    Ok(Table {
        workload: group.workload.map(str::to_owned),
        baseline: group.baseline.label.to_owned(),
        candidates: group.candidates.iter().map(|candidate| candidate.label.to_owned()).collect(),
        rows: metrics.into_iter().map(row).collect::<Result<_>>()?,
        warnings: warnings(group),
    })
}

fn warnings(group: &Group<'_>) -> Vec<String> {
    let between = group.candidates.iter().flat_map(|candidate| unlike::warnings(group.baseline, *candidate));
    let within = [group.baseline]
        .into_iter()
        .chain(group.candidates.iter().copied())
        .flat_map(|side| side.summary.warnings.iter().map(move |text| format!("{}: {text}", side.label)));
    between.chain(within).collect()
}

fn cell(metric: &Metric, group: &Group<'_>, candidate: Labelled<'_>, rules: &[Rule]) -> Result<Comparison> {
    let old = metric.value(group.baseline.summary);
    let new = metric.value(candidate.summary);
    let better = metric.better(group.baseline.summary, candidate.summary);
    let change = old.zip(new).map(|(old, new)| Change::new(old, new));
    let mut failed_rules = Vec::new();
    for rule in rules.iter().filter(|rule| rule.metric == *metric) {
        let (Some(old), Some(new)) = (old, new) else {
            let lacking = if old.is_none() { group.baseline.label } else { candidate.label };
            return Err(unchecked(rule, lacking, group.workload));
        };
        if rule.is_broken_by(old, new) {
            failed_rules.push(rule.text.clone());
        }
    }
    Ok(Comparison {
        workload: group.workload.map(str::to_owned),
        metric: metric.key.clone(),
        unit: metric.unit.to_owned(),
        better,
        baseline_label: group.baseline.label.to_owned(),
        label: candidate.label.to_owned(),
        baseline: old,
        value: new,
        change: change.map(|change| change.absolute),
        change_pct: change.and_then(|change| change.percent),
        direction: change.and_then(|change| change.direction(better)),
        failed_rules,
    })
}

fn unchecked(rule: &Rule, lacking: &str, workload: Option<&str>) -> Error {
    let place = workload.map(|name| format!(" for workload {name}")).unwrap_or_default();
    Error::usage(format!(
        "--fail-if {}: {lacking} has no {}{place}, so it cannot be checked; choose a metric that both sides hold",
        rule.text, rule.metric.key
    ))
}
