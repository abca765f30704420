//! When recorded requests are due.

/// From the trace's clock to that of the run.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Start of the window, µs after the trace's first row.
    pub(super) start: i64,
    /// Its end, which lies outside; `None`: the trace's end.
    pub(super) end: Option<i64>,
    first: Option<i64>,
    last: i64,
    zero: Option<i64>,
}

/// Where a time lies.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the window.
    Before,
    /// In it.
    Within,
    /// After it, as all later ones.
    After,
    /// Before the row that came before.
    Back,
}

impl Schedule {
    /// Of these ends of the window.
    pub(super) fn new(start: i64, end: Option<i64>) -> Self {
        Self { start, end, ..Self::default() }
    }

    /// Where the next row's time lies.
    pub(super) fn place(&mut self, us: i64) -> Place {
        let first = *self.first.get_or_insert(us);
        if us - first < self.last {
            return Place::Back;
        }
        self.last = us - first;
        if self.last < self.start {
            Place::Before
        } else if self.end.is_some_and(|end| self.last >= end) {
            Place::After
        } else {
            Place::Within
        }
    }

    /// How long after the first row that is taken this one is due; µs.
    pub(super) fn due(&mut self, us: i64) -> i64 {
        us - *self.zero.get_or_insert(us)
    }

    /// How long the trace was, as far as it was read; µs.
    pub(super) fn span(&self) -> i64 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Place::{After, Back, Before, Within},
        *,
    };

    #[test]
    fn the_window_holds_its_start_and_not_its_end() {
        let mut schedule = Schedule::new(10, Some(20));
        let places = [1000, 1009, 1010, 1010, 1019, 1018, 1020].map(|us| schedule.place(us));
        assert_eq!(places, [Before, Before, Within, Within, Within, Back, After]);
        assert_eq!(schedule.span(), 20);
    }

    #[test]
    fn times_start_at_the_first_row_taken() {
        let mut schedule = Schedule::default();
        assert_eq!([-5, -5, 0, 95].map(|us| schedule.place(us)), [Within, Within, Within, Within]);
        assert_eq!([-5, -5, 0, 95].map(|us| schedule.due(us)), [0, 0, 5, 100]);
    }
}
