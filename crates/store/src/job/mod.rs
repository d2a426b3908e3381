//! Jobs: indexes sources, reads steps, and builds, verifies and replays bundles.

pub mod build;
pub mod index;
pub mod lookup;
pub mod post;
pub mod replay;
pub mod source;
pub mod verify;
pub mod worker;
