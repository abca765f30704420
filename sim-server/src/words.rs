//! The text of answers: words chosen by a hash.

/// Four letters and a space: by the rule of [`crate::prompt`], one token each when they come back in a prompt.
const WORDS: [&str; 64] = [
    "able", "also", "area", "away", "back", "bank", "base", "best", "blue", "body", "book", "call", "card",
    "care", "case", "city", "cold", "come", "cost", "data", "deep", "door", "east", "edge", "even", "face",
    "fact", "farm", "fast", "fine", "fire", "form", "gain", "game", "gold", "good", "hand", "head", "hill",
    "home", "hour", "idea", "keep", "kind", "lake", "land", "last", "line", "long", "main", "mind", "moon",
    "more", "name", "near", "note", "open", "page", "part", "plan", "rain", "read", "road", "time",
];

/// A well mixed function of `seed`: the output of `SplitMix64` (Steele, Lea and Flood 2014).
pub(crate) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The word at `index` of the answer whose hash is `key`.
pub(crate) fn word(key: u64, index: u32) -> &'static str {
    WORDS[(mix(key ^ u64::from(index)) % WORDS.len() as u64) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mix_is_splitmix64() {
        // First output of the reference implementation for the seed 0.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn words_depend_on_key_and_index_only() {
        let text = |key| (0..20).map(|index| word(key, index)).collect::<Vec<_>>();
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
        assert!(WORDS.iter().all(|word| word.len() == 4));
    }
}
