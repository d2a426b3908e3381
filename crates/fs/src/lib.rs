//! Files of this machine: how bytes come in and go out.
//!
//! Start with [`directory`] and [`archive`], which open what is verified, and [`staging`], which publishes
//! what was made. Files are opened without following links and judged on the open handle; whatever is
//! written appears whole or not at all ([`atomic`]), and what nobody else may see is made in a
//! [`private`] folder. What the bytes mean is for `runseal-core` to say, and which files belong together
//! for `runseal-survey`. This crate opens no socket and starts no program but those that a user named
//! for signing.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod archive;
pub mod atomic;
pub mod clock;
mod content;
pub mod directory;
pub mod handles;
pub mod input;
pub mod keys;
pub mod models;
pub mod private;
pub mod signing;
pub mod staged_files;
pub mod staging;
pub mod stream;
pub mod survey;
pub mod threads;
pub mod unfinished;
