//! The thread that holds an engine to the clock.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use records::{Error, Result};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::{
    engine::{Engine, Sequence, Token},
    stats::Stats,
    system,
};

/// Where a sequence's tokens go.
pub type Tokens = UnboundedSender<Token>;

/// The tokens of one step, each with its destination.
pub type Delivery = Vec<(Tokens, Token)>;

/// Speaks to the driver. When the last clone is gone, the thread ends.
#[derive(Clone)]
pub struct Driver {
    commands: Sender<Command>,
    epoch: Instant,
}

enum Command {
    Submit { at: Duration, sequence: Sequence, tokens: Tokens },
    Cancel(u64),
}

impl Driver {
    /// Starts the thread. The tokens of each step come out of the channel in one piece: one wake-up of the HTTP thread
    /// a step, not one a token.
    pub fn start(engine: Box<dyn Engine>, stats: Arc<Stats>) -> Result<(Self, UnboundedReceiver<Delivery>)> {
        let epoch = Instant::now();
        let (commands, inbox) = mpsc::channel();
        let (deliveries, outbox) = unbounded_channel();
        let mut worker = Worker { engine, inbox, deliveries, tokens: HashMap::new(), stats, epoch };
        thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || worker.run())
            .map_err(|source| Error::read("engine thread", source))?;
        Ok((Self { commands, epoch }, outbox))
    }

    /// Time on the engine's clock.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// Hands a sequence in that arrived at `at`. If the thread is gone, `tokens` closes without a token.
    pub fn submit(&self, at: Duration, sequence: Sequence, tokens: Tokens) {
        self.commands.send(Command::Submit { at, sequence, tokens }).ok();
    }

    /// Takes a sequence back.
    pub fn cancel(&self, id: u64) {
        self.commands.send(Command::Cancel(id)).ok();
    }
}

struct Worker {
    engine: Box<dyn Engine>,
    inbox: Receiver<Command>,
    deliveries: UnboundedSender<Delivery>,
    tokens: HashMap<u64, Tokens>,
    stats: Arc<Stats>,
    epoch: Instant,
}

impl Worker {
    fn run(&mut self) {
        system::wake_precisely();
        while let Some(event) = self.wait() {
            match event {
                Event::Command(Command::Submit { at, sequence, tokens }) => {
                    self.tokens.insert(sequence.id, tokens);
                    self.engine.submit(at, sequence);
                }
                Event::Command(Command::Cancel(id)) => {
                    self.tokens.remove(&id);
                    self.engine.cancel(id);
                }
                Event::Due(due) => self.deliver(due),
            }
            self.stats.set_load(self.engine.load());
        }
    }

    /// Waits for a command or for the next tokens to be due; `None` once nobody can send a command.
    fn wait(&mut self) -> Option<Event> {
        let Some(due) = self.engine.due() else { return self.inbox.recv().ok().map(Event::Command) };
        let remaining = due.saturating_sub(self.epoch.elapsed());
        match self.inbox.recv_timeout(remaining) {
            Ok(command) => Some(Event::Command(command)),
            Err(RecvTimeoutError::Timeout) => Some(Event::Due(due)),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    fn deliver(&mut self, due: Duration) {
        let now = self.epoch.elapsed().max(due);
        self.stats.step_late.add(now.saturating_sub(due));
        let delivery: Delivery =
            self.engine.emit(now).into_iter().filter_map(|token| self.address(token)).collect();
        if !delivery.is_empty() {
            self.deliveries.send(delivery).ok();
        }
    }

    fn address(&mut self, token: Token) -> Option<(Tokens, Token)> {
        let tokens =
            if token.last { self.tokens.remove(&token.id) } else { self.tokens.get(&token.id).cloned() };
        Some((tokens?, token))
    }
}

enum Event {
    Command(Command),
    Due(Duration),
}
