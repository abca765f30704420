//! The tools joined by pipes, as a person joins them.

mod manners;
mod pipeline;
mod readme;
mod scale;
mod wire;
