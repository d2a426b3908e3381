//! Jobs, queued tasks, catalogues and logs, and the SQLite files and folders that keep them.
//!
//! Start with [`store`], the contract of every store; `runseal-postgres` implements it on a server.
//! [`job`] makes, builds and replays job bundles with it, [`queue`] shares verification among
//! machines, [`catalog`] answers questions about many runs, and [`log`] keeps a transparency log.
//! This crate opens no socket and runs no command.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod catalog;
pub mod job;
pub mod log;
pub mod queue;
pub mod store;
#[cfg(feature = "sqlite")]
mod tables;
