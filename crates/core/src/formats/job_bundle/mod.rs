//! The job bundle (document 001): a folder with the slices that a job read, and nothing else.
//!
//! Pure: this module judges texts and facts it is given. Reading folders, databases and clocks
//! is the engine's work.

pub mod facts;
pub mod hashes;
pub mod manifest;
pub mod op;
pub mod plan;
mod rules;
mod rules_files;
mod rules_strict;
pub mod section;
pub mod slice;

pub use rules::{BundleView, JobBundle, ManifestState, RULES, lowest_check};

#[cfg(test)]
mod rules_tests;
