//! The integration tests of this crate, in one program to save link time.
//! `cargo test -p runseal-kernel --test main bad_input::` runs one file of them.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

mod assess;
mod bad_input;
mod conformance_intent;
mod cost;
mod declared;
mod fresh;
mod goldens;
mod laws;
mod normalize;
mod outside;
mod proposal;
mod rules;
mod support;
