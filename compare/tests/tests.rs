//! `compare` as a command.

#![allow(clippy::unwrap_used, reason = "in a test it is an assertion")]

mod cli;
mod faults;
mod golden;
mod lab_page;
mod process;
