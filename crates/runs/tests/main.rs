//! The integration tests of this crate, in one program: linking is what they would wait for.
//! `cargo test -p runseal-runs --test main record_replaying::` runs one file of them.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

mod record_replaying;
mod run_bundle_documents;
mod run_bundle_files;
mod run_contracts;
mod run_replaying;
mod run_sealing;
mod run_support;
