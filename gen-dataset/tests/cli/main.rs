//! The tool from outside: what it writes, what it says, how it ends.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails there and then")]

mod burstgpt;
mod custom;
mod export;
mod hub;
mod like;
mod pipe;
mod prefix_repetition;
mod random;
mod sharegpt;
mod sonnet;
mod tokenizers;
mod tool;
mod trace;
