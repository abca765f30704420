//! How many rows are written, and what happens when a dataset has fewer.

use std::collections::HashSet;

use records::Prompt;

/// Counts rows against the number asked for and, where repeats may be needed, remembers them.
pub(crate) struct Supply {
    wanted: Option<u64>,
    repeat: bool,
    passed: u64,
    kept: Vec<Prompt>,
}

impl Supply {
    /// `wanted` rows, or all there are; `repeat` them if there are too few.
    pub(crate) fn new(wanted: Option<u64>, repeat: bool) -> Self {
        Self { wanted, repeat: repeat && wanted.is_some(), passed: 0, kept: Vec::new() }
    }

    /// How many rows are still asked for.
    pub(crate) fn left(&self) -> u64 {
        self.wanted.map_or(u64::MAX, |wanted| wanted - self.passed)
    }

    /// Whether no row has passed at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.passed == 0
    }

    /// Counts a row that is written.
    pub(crate) fn pass(&mut self, row: &Prompt) {
        self.passed += 1;
        if self.repeat {
            self.kept.push(row.clone());
        }
    }

    /// What to say if the dataset had rows, but fewer than were asked for.
    pub(crate) fn remark(&self) -> Option<String> {
        let (wanted, passed) = (self.wanted?, self.passed);
        if passed == 0 || passed >= wanted {
            return None;
        }
        Some(if self.repeat {
            format!(
                "warning: {passed} usable rows for {wanted} asked: they repeat under new ids, and a server's prefix \
                 cache may answer the repeats (--no-oversample: write {passed})"
            )
        } else {
            format!("warning: {passed} rows written, {wanted} asked")
        })
    }

    /// The rows that were kept, in their order, over and over until there are as many as asked for.
    ///
    /// The first repeat of id `a` is `a#2`, or `a#3` if a row has that name; rows without an id stay without.
    pub(crate) fn repeats(&self) -> impl Iterator<Item = Prompt> + '_ {
        let missing = if self.repeat { self.left() } else { 0 };
        let ids = self.kept.iter().filter_map(|row| row.id.clone());
        let mut taken: HashSet<String> = if missing > 0 { ids.collect() } else { HashSet::new() };
        (0..missing).map(move |index| {
            let count = self.kept.len() as u64;
            let mut row = self.kept[(index % count) as usize].clone();
            row.id = row.id.map(|id| free(&mut taken, &id, index / count + 2));
            row
        })
    }
}

/// The first of `id#number`, `id#number+1`, … that is not taken; it is then.
fn free(taken: &mut HashSet<String>, id: &str, mut number: u64) -> String {
    loop {
        let name = format!("{id}#{number}");
        if taken.insert(name.clone()) {
            return name;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supply(wanted: Option<u64>, repeat: bool, ids: &[&str]) -> Supply {
        let mut supply = Supply::new(wanted, repeat);
        for id in ids {
            supply.pass(&Prompt { id: Some((*id).to_owned()), ..Prompt::default() });
        }
        supply
    }

    #[test]
    fn repeats_until_there_are_enough() {
        let supply = supply(Some(7), true, &["a", "b", "c"]);
        let ids: Vec<String> = supply.repeats().filter_map(|row| row.id).collect();
        assert_eq!(ids, ["a#2", "b#2", "c#2", "a#3"]);
        assert!(supply.remark().unwrap().contains("3 usable rows for 7 asked"));
    }

    #[test]
    fn no_two_rows_share_a_name() {
        let supply = supply(Some(7), true, &["a", "a#2", "a#2#2"]);
        let ids: Vec<String> = supply.repeats().filter_map(|row| row.id).collect();
        assert_eq!(ids, ["a#3", "a#2#3", "a#2#2#2", "a#4"]);
    }

    #[test]
    fn without_oversampling_there_are_fewer() {
        let supply = supply(Some(7), false, &["a", "b", "c"]);
        assert_eq!(supply.repeats().count(), 0);
        assert_eq!(supply.remark().unwrap(), "warning: 3 rows written, 7 asked");
    }

    #[test]
    fn enough_is_no_remark() {
        assert_eq!(supply(Some(1), true, &["a"]).remark(), None);
        assert_eq!(supply(None, true, &["a"]).remark(), None);
        assert_eq!(supply(None, true, &["a"]).repeats().count(), 0);
    }
}
