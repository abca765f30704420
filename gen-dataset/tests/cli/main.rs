//! The tool from outside: what it writes, what it says, how it ends.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails there and then")]

mod custom;
mod hub;
mod like;
mod pipe;
mod random;
mod sharegpt;
mod tokenizers;
mod tool;
mod trace;
