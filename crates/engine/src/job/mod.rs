//! Jobs: indexing sources, reading steps, building, verifying and replaying bundles.

pub mod collect;
mod content;
pub mod verify;
