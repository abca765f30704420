//! NumPy's two generators.

mod generator;
mod legacy;
mod seed;

pub use generator::Generator;
pub use legacy::Legacy;
