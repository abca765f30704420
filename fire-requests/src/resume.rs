//! Going on with a run that was cut off.

use std::{
    collections::{BTreeSet, HashSet},
    path::Path,
};

use records::{AnyRecord, Error, Input, Outcome, Phase, Result, RunStart};

/// What a run before has left.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// Rows that it has an answer for.
    done: HashSet<String>,
    starts: Vec<RunStart>,
    failed: BTreeSet<String>,
}

impl Earlier {
    /// The ids in the file of `--resume` that need not be sent; notes in `start` how many.
    pub(crate) fn of(path: &Path, start: &mut RunStart) -> Result<HashSet<String>> {
        let earlier = Self::read(path)?;
        earlier.check(path, start)?;
        start.resumed = Some(earlier.done.len() as u64);
        eprintln!("fire-requests: {}", earlier.notice());
        Ok(earlier.done)
    }

    /// Reads the file of `--resume`; a torn last line is left out.
    fn read(path: &Path) -> Result<Self> {
        let mut lines = Input::open(Some(path), "")?;
        let (mut earlier, mut torn) = (Self::default(), Vec::new());
        while let Some((_, record)) = lines.next_record(&mut torn)? {
            match record {
                AnyRecord::RunStart(start) => earlier.starts.push(*start),
                AnyRecord::Timing(row) if row.phase == Phase::Warmup => {}
                AnyRecord::Timing(row) if row.outcome == Outcome::Ok => {
                    earlier.done.insert(row.id);
                }
                AnyRecord::Timing(row) => {
                    earlier.failed.insert(row.id);
                }
                _ => {}
            }
        }
        for warning in torn {
            eprintln!("fire-requests: warning: {warning}");
        }
        Ok(earlier)
    }

    /// Fails if what was asked for then is not what is asked for now.
    fn check(&self, path: &Path, now: &RunStart) -> Result<()> {
        for then in &self.starts {
            let differs = [
                ("--backend", then.backend != now.backend),
                ("the endpoint", then.endpoint != now.endpoint),
                ("--model", then.model != now.model),
                ("--like", then.like != now.like),
                ("what is laid over each request", then.body != now.body),
            ];
            if let Some((what, _)) = differs.iter().find(|(_, differs)| *differs) {
                return Err(Error::usage(format!(
                    "--resume {}: {what} is not as it was in run {}; ask for the same, or begin anew",
                    path.display(),
                    then.run
                )));
            }
        }
        Ok(())
    }

    /// What is told before the rest is sent.
    fn notice(&self) -> String {
        let again = self.failed.iter().filter(|id| !self.done.contains(*id)).count();
        let failed =
            if again > 0 { format!("; {again} that had failed are sent again") } else { String::new() };
        format!("resuming: {} rows have their answer already{failed}", self.done.len())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_answers_count() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let row = |id: &str, rest: &str| format!("{{\"kind\":\"timing\",\"id\":\"{id}\",{rest}}}\n");
        let text = [
            "{\"kind\":\"run_start\",\"run\":\"a\",\"started_at\":\"2026-12-01T00:00:00Z\",\"model\":\"m\"}\n".to_owned(),
            row("1", "\"outcome\":\"ok\""),
            row("2", "\"outcome\":\"http\""),
            row("3", "\"outcome\":\"ok\",\"phase\":\"warmup\""),
            row("4", "\"outcome\":\"http\"") + &row("4", "\"outcome\":\"ok\""),
            "{\"kind\":\"timing\",\"id\":\"5\",\"outc".to_owned(),
        ];
        fs::write(file.path(), text.concat()).unwrap();
        let earlier = Earlier::read(file.path()).unwrap();
        assert_eq!(earlier.done, HashSet::from(["1".to_owned(), "4".to_owned()]));
        assert_eq!(
            earlier.notice(),
            "resuming: 2 rows have their answer already; 1 that had failed are sent again"
        );
        let now = RunStart { model: "m".to_owned(), ..RunStart::default() };
        assert!(earlier.check(file.path(), &now).is_ok());
        let other = RunStart { model: "n".to_owned(), ..RunStart::default() };
        assert!(
            earlier
                .check(file.path(), &other)
                .unwrap_err()
                .to_string()
                .contains("--model is not as it was in run a")
        );
    }
}
