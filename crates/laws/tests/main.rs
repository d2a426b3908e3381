//! The integration tests of this crate, in one program, because linking takes most of their time.
//! `cargo test -p runseal-laws --test main archives::` runs one file of them.

#![allow(clippy::unwrap_used, reason = "test code")]

mod archives;
mod changed_seeds;
#[allow(dead_code, reason = "shared with the tests of the archive crate")]
#[path = "../../archive/tests/hostile/mod.rs"]
mod hostile;
mod messages;
mod properties;
mod seeds;
