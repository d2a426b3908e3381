//! Run bundles (document 004): the folder of one engine run, RB1-RB12.
//!
//! - [`layout`]: which files there are, their roles, content types and ids.
//! - [`forbidden`]: the context keys that never get into a bundle.
//! - [`sums`], [`index`]: the two lists of files, read leniently enough to report every fault.
//! - [`outputs`]: what the two hashes of an output are over.
//! - [`facts`]: what was found on disk, and the documents, as the rules see them.
//! - [`rules`]: the table.
//!
//! Paths in findings are paths of files in the bundle; JSON Pointers stand in the messages.

pub mod facts;
pub mod forbidden;
pub mod index;
pub mod layout;
pub mod outputs;
pub mod pointer;
pub mod rules;
mod rules_documents;
mod rules_files;
mod rules_meta;
pub mod sums;
pub mod time;

pub use facts::{Doc, EntryFact, FileFact, RunBundleFacts, RunBundleView, SchemaVerdict};
pub use rules::{RULES, RunBundle, verify_run_bundle};
