//! The effects of runseal: file sources, atomic writes, stores, sealing and replay.
//!
//! This crate decides how bytes come in and go out; `runseal-core` decides what they mean. Files
//! are opened without following links and judged on the open handle, and whatever is written
//! appears atomically.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod archive;
pub mod assess;
pub mod atomic;
pub mod catalog;
pub mod clock;
pub mod compare;
mod content;
pub mod directory;
mod handles;
pub mod harness;
pub mod input;
pub mod job;
pub mod keys;
pub mod log;
pub mod models;
pub mod private;
pub mod programs;
pub mod queue;
pub mod record;
pub mod redact;
pub mod ro_crate;
pub mod run;
pub mod signing;
mod staged_files;
pub mod staging;
pub mod store;
pub mod stream;
pub mod survey;
mod tables;
pub mod threads;
pub mod unfinished;
mod world;
