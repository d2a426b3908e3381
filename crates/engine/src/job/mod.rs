//! Jobs: indexing sources, reading steps, building, verifying and replaying bundles.

pub mod archived;
pub mod build;
pub(crate) mod collect;
pub(crate) mod content;
pub mod index;
pub mod lookup;
pub mod post;
pub(crate) mod reading;
pub mod replay;
pub mod source;
pub mod verify;
pub mod worker;
