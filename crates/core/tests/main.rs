//! The integration tests of this crate, in one program to save linking time. `cargo test -p
//! runseal-core --test main bounds::` runs those of one file.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

mod bounds;
mod conformance_bundle;
mod conformance_canon;
mod conformance_companions;
mod conformance_patch;
mod conformance_slices;
mod rule_tables;
mod vectors_canon;
