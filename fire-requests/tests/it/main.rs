//! The binary against a server of a few scripted bytes, on loopback.

#![allow(clippy::unwrap_used, reason = "all of it is test code, functions outside #[test] too")]

mod backends;
mod baseline;
mod captures;
mod connections;
mod conversations;
mod failures;
mod faults;
mod framing;
mod http;
mod interrupts;
mod like;
mod limits;
mod manners;
mod schedule;
mod server;
mod shards;
mod sites;
mod tokens;
mod tool;
mod trust;
