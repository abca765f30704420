//! What the rows held, and what was left out of them.

use records::Prompt;

use super::Tool;

/// Counts of rows.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// All.
    pub(super) rows: u64,
    /// With `messages`.
    pub(super) chats: u64,
    /// With `at_us`.
    pub(super) timed: u64,
    /// That lost a field, by its name.
    lost: [(&'static str, u64); 4],
}

impl Tally {
    /// Counts a row as it came.
    pub(super) fn see(&mut self, row: &Prompt) {
        self.rows += 1;
        self.chats += u64::from(row.messages.is_some());
        self.timed += u64::from(row.at_us.is_some());
    }

    /// Counts what the other tool's row did not take.
    pub(super) fn lost(&mut self, row: &Prompt) {
        let there = [
            ("id", row.id.is_some()),
            ("workload", row.workload.is_some()),
            ("at_us", row.at_us.is_some()),
            ("extra_body", row.extra_body.is_some()),
        ];
        for (lost, (name, there)) in self.lost.iter_mut().zip(there) {
            *lost = (name, lost.1 + u64::from(there));
        }
    }

    /// What to say of it, a line a field.
    pub(super) fn remarks(&self, tool: Tool) -> Vec<String> {
        let lost = self.lost.iter().filter(|(_, count)| *count > 0);
        let mut remarks: Vec<String> = lost
            .map(|(name, count)| {
                format!("`{name}` of {count} rows left out: {tool}'s rows have no place for it")
            })
            .collect();
        let texts = self.rows - self.chats;
        if tool == Tool::Sglang && texts > 0 {
            remarks.push(format!("`prompt` of {texts} rows written as the one user message of a chat"));
        }
        remarks
    }
}
