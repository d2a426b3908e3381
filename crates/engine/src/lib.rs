//! The effects of runseal: file sources, atomic writes, stores, sealing and replay.

pub mod job;
pub mod store;
