//! The integration tests of this crate, in one program to save linking. `cargo test -p
//! runseal-store --test main archive_cases::` runs one file of them.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

mod archive_cases;
mod conformance;
mod conformance_packs;
#[path = "../../../benches/job/data.rs"]
mod data;
mod job_bundle_cases;
mod job_store_cases;
mod job_tamper;
mod job_vectors;
mod job_workers;
mod log_million;
mod pack_recipe;
mod packing;
mod receipt_cases;
mod recipe;
