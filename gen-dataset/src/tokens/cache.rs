//! Pieces of text whose tokens are known.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Longer pieces are hardly met twice.
const LONGEST: usize = 256;
/// Bytes of pieces kept before all are forgotten: bounds memory to a few MB a thread.
const MOST: usize = 2 << 20;

/// Remembers the tokens of pieces.
#[derive(Default)]
pub(super) struct Cache {
    hasher: DefaultHashBuilder,
    entries: HashTable<Entry>,
    bytes: Vec<u8>,
    ids: Vec<u32>,
}

/// Places in `bytes` and `ids`.
struct Entry {
    piece: u32,
    piece_len: u16,
    ids_len: u16,
    ids: u32,
}

impl Entry {
    fn piece<'c>(&self, bytes: &'c [u8]) -> &'c [u8] {
        &bytes[self.piece as usize..][..usize::from(self.piece_len)]
    }

    fn ids<'c>(&self, ids: &'c [u32]) -> &'c [u32] {
        &ids[self.ids as usize..][..usize::from(self.ids_len)]
    }
}

impl Cache {
    /// Appends the tokens of `piece` to `out`; those not known are made by `encode`, which appends them too.
    pub(super) fn encode(&mut self, piece: &[u8], out: &mut Vec<u32>, encode: impl FnOnce(&mut Vec<u32>)) {
        if piece.len() > LONGEST {
            return encode(out);
        }
        let hash = self.hasher.hash_one(piece);
        if let Some(entry) = self.entries.find(hash, |entry| entry.piece(&self.bytes) == piece) {
            out.extend_from_slice(entry.ids(&self.ids));
        } else {
            let start = out.len();
            encode(out);
            self.keep(hash, piece, &out[start..]);
        }
    }

    fn keep(&mut self, hash: u64, piece: &[u8], ids: &[u32]) {
        if self.bytes.len() + piece.len() > MOST {
            self.entries.clear();
            self.bytes.clear();
            self.ids.clear();
        }
        let entry = Entry {
            piece: self.bytes.len() as u32,
            piece_len: piece.len() as u16,
            ids_len: ids.len() as u16,
            ids: self.ids.len() as u32,
        };
        self.bytes.extend_from_slice(piece);
        self.ids.extend_from_slice(ids);
        let (hasher, bytes) = (&self.hasher, &self.bytes);
        self.entries.insert_unique(hash, entry, |entry| hasher.hash_one(entry.piece(bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_made_again() {
        let mut cache = Cache::default();
        let mut out = Vec::new();
        cache.encode(b"ab", &mut out, |out| out.extend([1, 2]));
        cache.encode(b"c", &mut out, |out| out.push(3));
        cache.encode(b"ab", &mut out, |_| unreachable!("known"));
        assert_eq!(out, [1, 2, 3, 1, 2]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut cache = Cache::default();
        for number in 0..(MOST as u64 / 4) {
            let mut out = Vec::new();
            cache.encode(&number.to_le_bytes(), &mut out, |out| out.push(number as u32));
            assert_eq!(out, [number as u32]);
        }
        assert!(cache.bytes.len() <= MOST && cache.bytes.capacity() <= 2 * MOST);
    }
}
