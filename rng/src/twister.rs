//! What CPython and NumPy both make of MT19937, the generator of Matsumoto & Nishimura (1998).

use rand_mt::Mt;

/// A number of [0, 1) with 53 random bits, from two words: `genrand_res53` of the authors'
/// mt19937ar.c.
pub(crate) fn double(mt: &mut Mt) -> f64 {
    let high = f64::from(mt.next_u32() >> 5);
    let low = f64::from(mt.next_u32() >> 6);
    (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
}
