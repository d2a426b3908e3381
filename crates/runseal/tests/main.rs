//! The integration tests of this crate, in one program to save linking.
//! `cargo test -p runseal --test main described_runs::` runs one file of them.

#![allow(clippy::unwrap_used, reason = "test code")]

mod described_runs;
mod examples;
