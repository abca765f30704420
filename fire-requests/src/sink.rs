//! The one writer of rows: a thread, since a full pipe blocks.

use std::{collections::BTreeMap, sync::Arc, thread, time::Duration};

use records::{Error, Outcome, Output, Phase, Result, Timing};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::stop::Stop;

/// What the rows amount to; warm-ups left out.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Rows with outcome `ok`.
    pub(crate) ok: u64,
    /// All others.
    pub(crate) failed: u64,
    /// How often each error occurred, warm-ups included.
    pub(crate) errors: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, row: &Timing) {
        if let Some(error) = &row.error {
            *self.errors.entry(error.clone()).or_default() += 1;
        }
        match row.outcome {
            _ if row.phase == Phase::Warmup => {}
            Outcome::Ok => self.ok += 1,
            _ => self.failed += 1,
        }
    }
}

/// Takes rows until every clone of it is dropped.
pub(crate) type Rows = mpsc::UnboundedSender<Timing>;

/// What is left when the last row has been written.
pub(crate) struct Written {
    /// To be written to further.
    pub(crate) output: Output,
    /// What was written.
    pub(crate) tally: Tally,
}

/// Starts the writer. If it cannot write, it stops the run.
pub(crate) fn start(output: Output, stop: Arc<Stop>) -> (Rows, oneshot::Receiver<Result<Written>>) {
    let (rows, receiver) = mpsc::unbounded_channel();
    let (done, end) = oneshot::channel();
    thread::spawn(move || {
        let result = write(output, receiver);
        if result.is_err() {
            stop.now();
        }
        let _ = done.send(result);
    });
    (rows, end)
}

fn write(mut output: Output, mut rows: mpsc::UnboundedReceiver<Timing>) -> Result<Written> {
    let mut tally = Tally::default();
    while let Some(first) = rows.blocking_recv() {
        let mut next = Some(first);
        while let Some(row) = next {
            tally.add(&row);
            output.record(&row)?;
            next = rows.try_recv().ok();
        }
        output.flush()?;
    }
    Ok(Written { output, tally })
}

/// Waits for the last row to be written; not for long once the run is over, since a reader that does not read blocks
/// the writer.
pub(crate) async fn wait(mut written: oneshot::Receiver<Result<Written>>, stop: &Stop) -> Result<Written> {
    const LONGEST: Duration = Duration::from_secs(5);
    let result = match stop.unless_over(&mut written).await {
        Some(result) => Some(result),
        None => timeout(LONGEST, written).await.ok(),
    };
    match result {
        Some(Ok(result)) => result,
        _ => Err(Error::usage("the last rows could not be written: nobody reads the output")),
    }
}
