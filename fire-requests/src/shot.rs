//! One row's request from its turn to its timing row.

use std::time::{Duration, Instant};

use records::{Micros, Outcome, Phase, Timing};

use crate::{
    connection::Request,
    exchange::{Client, Rest, Trace},
    failure::Failure,
    feed::Row,
    stop::Stop,
};

/// What ends a request, and what is kept of it.
pub(crate) struct Terms<'a> {
    /// `--request-timeout`.
    pub(crate) timeout: Option<Duration>,
    /// Whether the text of the answer is needed.
    pub(crate) keep_text: bool,
    /// The end of the run.
    pub(crate) stop: &'a Stop,
}

/// A request that has ended.
pub(crate) struct Shot {
    trace: Trace,
    result: Result<(), Failure>,
    /// Whether its text goes into its row.
    save_text: bool,
    /// The server that it was sent to, where there are several.
    base_url: Option<String>,
    /// When its end was known.
    pub(crate) ended: Instant,
    /// What is still to be read from its connection.
    pub(crate) rest: Option<Rest>,
}

impl Shot {
    /// Sends the row's request and waits for its end, the time limit, or the end of the run.
    pub(crate) async fn fire(client: &Client, row: &Row, request: &Request, terms: &Terms<'_>) -> Self {
        let mut trace = Trace::default();
        trace.answer.expect(row.max_tokens);
        let save_text = client.shape.save_text;
        trace.answer.keep_text(terms.keep_text || save_text);
        let limit = terms.timeout.unwrap_or(Duration::MAX);
        let exchange = tokio::time::timeout(limit, client.exchange(request, row.site, &mut trace));
        let result = match terms.stop.unless_over(exchange).await {
            Some(Ok(result)) => result,
            Some(Err(_)) => {
                let message =
                    format!("no end of the answer within {} s (--request-timeout)", limit.as_secs_f64());
                Err(Failure::new(Outcome::Timeout, message))
            }
            None => Err(Failure::new(Outcome::Cancelled, "given up when the run was stopped")),
        };
        let ended = Instant::now();
        let sites = &client.shape.sites;
        let base_url = (sites.len() > 1).then(|| sites[row.site].base_url.clone());
        match result {
            Ok(rest) => Self { trace, result: Ok(()), save_text, base_url, ended, rest },
            Err(failure) => Self { trace, result: Err(failure), save_text, base_url, ended, rest: None },
        }
    }

    /// Whether the answer was whole.
    pub(crate) fn is_ok(&self) -> bool {
        self.result.is_ok()
    }

    /// When its first byte was written.
    pub(crate) fn sent(&self) -> Option<Instant> {
        self.trace.sent
    }

    /// What the server has answered, if it was kept and the answer is whole.
    pub(crate) fn reply(&self) -> Option<String> {
        let text = self.trace.answer.text.as_ref().filter(|_| self.result.is_ok())?;
        Some(text.content.clone())
    }

    /// How long after `ready` it was written, the opening of its connection left out.
    pub(crate) fn lag(&self, ready: Instant) -> Option<Duration> {
        let sent = self.trace.sent.filter(|_| !self.trace.resent)?;
        let opening = self.trace.connect.filter(|_| self.trace.waited).unwrap_or_default();
        Some(sent.saturating_duration_since(ready).saturating_sub(opening))
    }

    /// Its timing row, times counted from `start`.
    pub(crate) fn timing(
        self,
        run: &str,
        row: Row,
        phase: Phase,
        start: Instant,
        scheduled: Instant,
    ) -> Timing {
        let (trace, answer) = (&self.trace, &self.trace.answer);
        let sent = trace.sent;
        let since_sent =
            |at: Instant| sent.map(|sent| Micros::from_duration(at.saturating_duration_since(sent)));
        let (output_tokens, tokens_from) = answer.output_tokens().unzip();
        let text = answer.text.as_ref().filter(|_| self.save_text);
        let failure = self.result.err();
        let (session, turn) = row.turn.map(|turn| (turn.session, turn.number)).unzip();
        Timing {
            run: run.to_owned(),
            id: row.id,
            workload: row.workload,
            base_url: self.base_url,
            session,
            turn,
            phase,
            scheduled_us: Some(instant(scheduled, start)),
            sent_us: sent.map(|sent| instant(sent, start)),
            connect_us: trace.connect.map(Micros::from_duration),
            ttft_us: answer.events().first_output(),
            e2e_us: if failure.is_none() { answer.events().last_output() } else { since_sent(self.ended) },
            outcome: failure.as_ref().map_or(Outcome::Ok, |failure| failure.outcome),
            status: trace.status,
            prompt_tokens: answer.usage.prompt.or(row.prompt_tokens),
            row_prompt_tokens: row.prompt_tokens,
            output_tokens,
            tokens_from,
            max_tokens: row.max_tokens,
            cached_tokens: answer.usage.cached,
            resent: trace.resent,
            text: text.map(|text| text.content.clone()),
            reasoning_text: text.map(|text| text.thinking.clone()).filter(|text| !text.is_empty()),
            error: failure.map(|failure| failure.message),
            finish_reason: self.trace.answer.finish_reason,
            events_us: self.trace.answer.times,
            events: self.trace.answer.letters,
        }
    }
}

/// An instant of the run's clock; negative before its start.
pub(crate) fn instant(at: Instant, start: Instant) -> Micros {
    let before = Micros::from_duration(start.saturating_duration_since(at));
    Micros::from_duration(at.saturating_duration_since(start)) - before
}
