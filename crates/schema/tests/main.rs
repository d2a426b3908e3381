//! The integration tests of this crate, in one program, because linking takes most of their time.
//! `cargo test -p runseal-schema --test main cases::` runs one file of them.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

mod cases;
mod differential;
mod random;
mod suite;
mod support;
