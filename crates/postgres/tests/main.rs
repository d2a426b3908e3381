//! The integration tests of this crate, in one program, because linking takes most of the time.
//! `cargo test -p runseal-postgres --test main behaviour::` runs one file of them.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

#[macro_use]
mod support;

mod behaviour;
mod catalogs;
mod logs;
mod password;
mod server;
