//! The integration tests of this crate, in one program to save linking. `cargo test -p
//! runseal-trust --test main agent_evidence_vectors::` runs one file of them.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "test code"
)]

mod agent_evidence_vectors;
mod attacks;
mod budgets;
mod policies;
mod sigstore_conformance;
