//! The random streams that benchmark clients written in Python draw from, bit for bit, so that
//! a seed means here what it means there.
//!
//! [`python::Random`] is CPython's `random.Random`, [`numpy::Generator`] what
//! `numpy.random.default_rng` returns, and [`numpy::Legacy`] the generator behind
//! `numpy.random.seed`. Each has the methods that the clients use, under their names. None does
//! any I/O. All can be cloned, to try ahead.
//!
//! The streams are fixed: CPython documents `random()` as reproducible, NumPy has frozen its
//! legacy generator (NEP 19), and the tests hold the rest to values that both have printed.

pub mod numpy;
pub mod python;
mod twister;
