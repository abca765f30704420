//! A constant pace, whatever the load: a yardstick for clients.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    time::Duration,
};

use super::{Engine, Load, Sequence, Token};

/// Token `i` of a sequence is due `ttft + i * tpot` after it was submitted.
#[derive(Debug)]
pub struct Fixed {
    ttft: Duration,
    tpot: Duration,
    streams: HashMap<u64, Stream>,
    /// The next token of each sequence. An entry whose sequence was cancelled is skipped when its turn comes.
    queue: BinaryHeap<Reverse<(Duration, u64)>>,
    load: Load,
}

#[derive(Debug)]
struct Stream {
    sequence: Sequence,
    next: u32,
}

impl Fixed {
    /// A pace of `ttft` to the first token and `tpot` to each later one.
    #[must_use]
    pub fn new(ttft: Duration, tpot: Duration) -> Self {
        Self { ttft, tpot, streams: HashMap::new(), queue: BinaryHeap::new(), load: Load::default() }
    }

    /// The token that is due at `due`; `None` if its sequence was cancelled.
    fn token(&mut self, id: u64, due: Duration) -> Option<Token> {
        let stream = self.streams.get_mut(&id)?;
        let index = stream.next;
        stream.next += 1;
        let last = stream.next == stream.sequence.output_tokens;
        if index == 0 {
            self.load.prompt_tokens += u64::from(stream.sequence.prompt_tokens);
        }
        self.load.generated_tokens += 1;
        if last {
            self.streams.remove(&id);
        } else {
            self.queue.push(Reverse((due + self.tpot, id)));
        }
        Some(Token { id, due, index, cached_tokens: 0, last })
    }
}

impl Engine for Fixed {
    fn submit(&mut self, now: Duration, sequence: Sequence) {
        self.queue.push(Reverse((now + self.ttft, sequence.id)));
        self.streams.insert(sequence.id, Stream { sequence, next: 0 });
    }

    fn cancel(&mut self, id: u64) {
        self.streams.remove(&id);
    }

    fn due(&mut self) -> Option<Duration> {
        self.queue.peek().map(|&Reverse((due, _))| due)
    }

    fn emit(&mut self, now: Duration) -> Vec<Token> {
        let mut tokens = Vec::new();
        while let Some(&Reverse((due, id))) = self.queue.peek()
            && due <= now
        {
            self.queue.pop();
            tokens.extend(self.token(id, due));
        }
        tokens
    }

    fn load(&self) -> Load {
        Load { running: self.streams.len(), ..self.load }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn sequence(id: u64, output_tokens: u32) -> Sequence {
        Sequence { id, prompt_tokens: 10, blocks: Vec::new(), output_tokens }
    }

    fn drain(engine: &mut Fixed) -> Vec<(u64, u32, Duration)> {
        let mut all = Vec::new();
        while let Some(due) = engine.due() {
            all.extend(engine.emit(due).into_iter().map(|token| (token.id, token.index, token.due)));
        }
        all
    }

    #[test]
    fn tokens_are_due_as_set_whatever_else_runs() {
        let mut engine = Fixed::new(ms(100), ms(20));
        engine.submit(ms(0), sequence(1, 3));
        engine.submit(ms(30), sequence(2, 2));
        assert_eq!(engine.load().running, 2);
        let expected = [(1, 0, ms(100)), (1, 1, ms(120)), (2, 0, ms(130)), (1, 2, ms(140)), (2, 1, ms(150))];
        assert_eq!(drain(&mut engine), expected);
        assert_eq!(engine.load(), Load { prompt_tokens: 20, generated_tokens: 5, ..Load::default() });
    }

    #[test]
    fn a_tpot_of_zero_gives_all_tokens_at_once() {
        let mut engine = Fixed::new(ms(5), ms(0));
        engine.submit(ms(0), sequence(1, 4));
        assert_eq!(engine.emit(ms(5)).len(), 4);
    }

    #[test]
    fn a_late_emit_keeps_the_schedule() {
        let mut engine = Fixed::new(ms(10), ms(10));
        engine.submit(ms(0), sequence(1, 3));
        let due: Vec<Duration> = engine.emit(ms(25)).iter().map(|token| token.due).collect();
        assert_eq!(due, [ms(10), ms(20)]);
        assert_eq!(engine.due(), Some(ms(30)));
    }

    #[test]
    fn a_cancelled_sequence_is_silent() {
        let mut engine = Fixed::new(ms(10), ms(10));
        engine.submit(ms(0), sequence(1, 3));
        engine.cancel(1);
        assert!(engine.emit(ms(10)).is_empty());
        assert_eq!(engine.due(), None);
    }
}
