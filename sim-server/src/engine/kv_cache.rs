//! The KV cache: which blocks are held, and which can be used again.

use std::collections::{BTreeMap, HashMap};

/// Tokens in a block, vLLM's default.
pub const BLOCK_TOKENS: u32 = 16;

/// Counts blocks; there is no content. A block is private to one sequence, or published under the hash of the
/// prompt up to its end. A published block that nobody uses stays until its room is needed, oldest first.
#[derive(Debug)]
pub(super) struct KvCache {
    capacity: u32,
    private: u32,
    published: HashMap<u64, Block>,
    /// Published blocks without a user, by the time they lost the last one.
    idle: BTreeMap<u64, u64>,
    time: u64,
    prefix_caching: bool,
}

#[derive(Debug)]
struct Block {
    users: u32,
    idle_since: u64,
}

/// The blocks that one sequence holds: published ones from the prompt's start on, then private ones.
#[derive(Debug, Default)]
pub(super) struct Holding {
    published: Vec<u64>,
    private: u32,
}

impl Holding {
    /// Tokens in published blocks.
    pub(super) fn published_tokens(&self) -> u32 {
        self.published.len() as u32 * BLOCK_TOKENS
    }
}

impl KvCache {
    pub(super) fn new(tokens: u32, prefix_caching: bool) -> Self {
        Self {
            capacity: tokens / BLOCK_TOKENS,
            private: 0,
            published: HashMap::new(),
            idle: BTreeMap::new(),
            time: 0,
            prefix_caching,
        }
    }

    /// Share of the blocks that sequences hold.
    pub(super) fn usage(&self) -> f64 {
        f64::from(self.held()) / f64::from(self.capacity)
    }

    fn held(&self) -> u32 {
        self.private + (self.published.len() - self.idle.len()) as u32
    }

    /// Holds the longest run of `blocks`, from the first on, that is published.
    pub(super) fn attach(&mut self, blocks: &[u64]) -> Holding {
        let found = blocks.iter().take_while(|&hash| self.published.contains_key(hash)).count();
        let published = blocks[..found].to_vec();
        for &hash in &published {
            self.hold(hash);
        }
        Holding { published, private: 0 }
    }

    /// Adds private blocks until `holding` has room for `tokens`; false, and nothing changed, if they do not fit.
    pub(super) fn grow(&mut self, holding: &mut Holding, tokens: u32) -> bool {
        let has = holding.published.len() as u32 + holding.private;
        let more = tokens.div_ceil(BLOCK_TOKENS).saturating_sub(has);
        if more > self.capacity - self.held() {
            return false;
        }
        while self.private + self.published.len() as u32 + more > self.capacity {
            let Some((_, hash)) = self.idle.pop_first() else { break };
            self.published.remove(&hash);
        }
        self.private += more;
        holding.private += more;
        true
    }

    /// Publishes the first `computed` tokens' full blocks of a prompt.
    pub(super) fn publish(&mut self, holding: &mut Holding, blocks: &[u64], computed: u32) {
        if !self.prefix_caching {
            return;
        }
        let full = blocks.len().min((computed / BLOCK_TOKENS) as usize);
        for &hash in blocks[..full].iter().skip(holding.published.len()) {
            self.hold(hash);
            holding.published.push(hash);
            holding.private -= 1;
            self.private -= 1;
        }
    }

    /// Lets go of all blocks. The end of a prompt is less often shared than its start, so it becomes idle, and is
    /// dropped, first.
    pub(super) fn release(&mut self, holding: Holding) {
        self.private -= holding.private;
        for hash in holding.published.into_iter().rev() {
            self.time += 1;
            let Some(block) = self.published.get_mut(&hash) else { continue };
            block.users -= 1;
            if block.users == 0 {
                block.idle_since = self.time;
                self.idle.insert(self.time, hash);
            }
        }
    }

    fn hold(&mut self, hash: u64) {
        let block = self.published.entry(hash).or_insert(Block { users: 0, idle_since: 0 });
        if block.users == 0 {
            self.idle.remove(&block.idle_since);
        }
        block.users += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_bounds_what_is_held() {
        let mut cache = KvCache::new(64, false);
        let (mut a, mut b) = (Holding::default(), Holding::default());
        assert!(cache.grow(&mut a, 33));
        assert!((cache.usage() - 0.75).abs() < 1e-9);
        assert!(!cache.grow(&mut b, 17));
        assert!(cache.grow(&mut b, 16));
        cache.release(a);
        assert!(cache.grow(&mut b, 64));
    }

    #[test]
    fn published_blocks_are_found_until_their_room_is_needed() {
        let mut cache = KvCache::new(64, true);
        let mut a = Holding::default();
        assert!(cache.grow(&mut a, 40));
        cache.publish(&mut a, &[1, 2], 40);
        cache.release(a);
        assert!(cache.usage() < 1e-9);

        let hit = cache.attach(&[1, 2, 3]);
        assert_eq!(hit.published_tokens(), 32);
        cache.release(hit);

        let mut b = Holding::default();
        assert!(cache.grow(&mut b, 48));
        cache.release(b);
        // Room for three blocks beside one: the end of the prompt went, its start is still there.
        let hit = cache.attach(&[1, 2]);
        assert_eq!(hit.published_tokens(), 16);
    }

    #[test]
    fn two_sequences_share_one_block() {
        let mut cache = KvCache::new(64, true);
        let (mut a, mut b) = (Holding::default(), Holding::default());
        assert!(cache.grow(&mut a, 16) && cache.grow(&mut b, 16));
        cache.publish(&mut a, &[7], 16);
        cache.publish(&mut b, &[7], 16);
        assert!((cache.usage() - 0.25).abs() < 1e-9);
        cache.release(a);
        assert!((cache.usage() - 0.25).abs() < 1e-9);
        cache.release(b);
        assert!(cache.usage() < 1e-9);
    }
}
