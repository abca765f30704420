//! What is said about one row: a request and its answer, or a conversation of them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use records::{Outcome, StoppedBy, Timing};

use crate::{
    connection::Request,
    conversation::History,
    exchange::Client,
    feed::Row,
    fire::Run,
    gate::Leave,
    shot::{Shot, Terms, instant},
    sink::Rows,
};

impl Run {
    /// Sends a row's request, and then, if the row opens a conversation, each turn as the one before has been answered.
    /// The conversation keeps its place under `--max-concurrency` until its end.
    pub(crate) async fn talk(
        self: Arc<Self>,
        client: Arc<Client>,
        mut row: Row,
        mut request: Request,
        mut leave: Leave,
        rows: Rows,
    ) {
        let (mut later, mut history) = (std::mem::take(&mut row.later).into_iter(), History::default());
        loop {
            let goes_on = later.len() > 0;
            let terms = Terms { timeout: self.timeout, keep_text: goes_on, stop: &self.stop };
            let mut shot = Shot::fire(&client, &row, &request, &terms).await;
            self.counters.landed();
            if !shot.is_ok() && self.max_failures.is_some_and(|most| self.counters.failed() + 1 >= most) {
                // Before its place is free, which the next request would take.
                self.stop.drain(StoppedBy::MaxFailures);
            }
            if !goes_on {
                // The place is free before anything is written about the request.
                (leave.busy, leave.permit) = (None, None);
            }
            if let Some(rest) = shot.rest.take() {
                let (client, site) = (Arc::clone(&client), row.site);
                tokio::spawn(async move { client.finish(rest, site).await });
            }
            let (site, number, turn) = (row.site, row.number, row.turn.clone());
            let reply = goes_on.then(|| shot.reply()).flatten();
            self.write(shot, row, &leave, &rows);
            let Some(next) = later.next() else { return };
            let (Some(reply), Some(said)) = (reply, turn) else {
                return self.give_up(std::iter::once(next).chain(later), number, &leave, &rows);
            };
            history.add(&said, &reply);
            let unsent = 1 + later.len() as u64;
            match self.next_turn(Row { number, site, ..next }, &history, leave).await {
                Some(turn) => (row, request, leave) = turn,
                None => return self.counters.left_unsent(unsent),
            }
        }
    }

    /// Waits for `--think-time`; none if the run is stopped before that.
    async fn next_turn(&self, row: Row, history: &History, leave: Leave) -> Option<(Row, Request, Leave)> {
        let due = Instant::now() + self.think_time;
        let turn = row.turn.as_ref()?;
        // The row was made into a body once before, so that this one can be made.
        let body = self.template.body(history.prompt(turn)).ok()?.into();
        let row = Row { body, ..row };
        let request = self.shape.request(&row);
        self.stop.unless_draining(tokio::time::sleep_until(due.into())).await?;
        self.counters.began();
        Some((row, request, Leave { scheduled: due, ready: due, ..leave }))
    }

    /// Writes the row of a request that has ended.
    fn write(&self, shot: Shot, row: Row, leave: &Leave, rows: &Rows) {
        if let Some(lag) = shot.lag(leave.ready) {
            self.health.sent_late(lag);
        }
        if let Some(sent) = shot.sent().filter(|_| leave.by_schedule) {
            self.health.behind_schedule(sent.saturating_duration_since(leave.scheduled));
        }
        let (ok, at) = (shot.is_ok(), shot.ended - self.start);
        let phase = self.warmup.phase(row.number, leave.scheduled - self.start);
        let timing = shot.timing(&self.name, row, phase, self.start, leave.scheduled);
        if ok {
            self.health.took(&timing);
        }
        self.counters.ended(ok, timing.output_tokens.unwrap_or(0), at);
        if self.max_failures.is_some_and(|most| self.counters.failed() >= most) {
            self.stop.drain(StoppedBy::MaxFailures);
        }
        let _ = rows.send(timing);
    }

    /// Writes rows for turns that cannot be sent: there is no answer to go on from.
    fn give_up(&self, turns: impl Iterator<Item = Row>, number: u64, leave: &Leave, rows: &Rows) {
        let phase = self.warmup.phase(number, leave.scheduled - self.start);
        let now = instant(Instant::now(), self.start);
        for row in turns {
            let (session, turn) = row.turn.map(|turn| (turn.session, turn.number)).unzip();
            self.counters.ended(false, 0, Duration::ZERO);
            let _ = rows.send(Timing {
                run: self.name.clone(),
                id: row.id,
                workload: row.workload,
                phase,
                session,
                turn,
                scheduled_us: Some(now),
                max_tokens: row.max_tokens,
                row_prompt_tokens: row.prompt_tokens,
                outcome: Outcome::Cancelled,
                error: Some("not sent: an earlier turn of its session failed".to_owned()),
                ..Timing::default()
            });
        }
    }
}
