//! NumPy's `SeedSequence` (`bit_generator.pyx`), which spreads a seed over the state of a
//! generator: O'Neill's `seed_seq_fe128` ("Developing a `seed_seq` Alternative", 2015).

/// Words of entropy kept.
const POOL: usize = 4;

/// A multiplicative hash whose constant moves on with each use.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    fn of(&mut self, word: u32) -> u32 {
        let mixed = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        fold(mixed.wrapping_mul(self.constant))
    }
}

/// `SeedSequence(seed).generate_state(4, uint64)`.
pub(super) fn state(seed: u64) -> [u64; 4] {
    let pool = pool(seed);
    let mut hash = Hash { constant: 0x8b51_f9dd, multiplier: 0x58f3_8ded };
    std::array::from_fn(|word| {
        let mut half = |at: usize| u64::from(hash.of(pool[at % POOL]));
        half(2 * word) | half(2 * word + 1) << 32
    })
}

fn pool(seed: u64) -> [u32; POOL] {
    let mut hash = Hash { constant: 0x43b0_d7e5, multiplier: 0x931e_8875 };
    let mut pool = [seed as u32, (seed >> 32) as u32, 0, 0].map(|word| hash.of(word));
    for from in 0..POOL {
        for to in (0..POOL).filter(|&to| to != from) {
            pool[to] = mix(pool[to], hash.of(pool[from]));
        }
    }
    pool
}

fn mix(a: u32, b: u32) -> u32 {
    fold(a.wrapping_mul(0xca01_f9dd).wrapping_sub(b.wrapping_mul(0x4973_f715)))
}

fn fold(word: u32) -> u32 {
    word ^ word >> 16
}
