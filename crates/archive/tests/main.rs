//! The integration tests of this crate, in one program to save link time.
//! `cargo test -p runseal-archive --test main bounds::` runs one file of them.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

mod bounds;
mod differential;
mod hostile;
mod tools;
mod unpackers;
