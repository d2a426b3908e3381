//! The job store, transparency logs and the catalogue on a PostgreSQL server, for many machines.
//!
//! Implements the contract of `runseal_store::store`. Claims and commits are single statements, so
//! a worker that is stopped or cut off holds no locks and blocks no one. No statement is prepared
//! under a name and no state is kept in a session, so it works behind pgbouncer in transaction mode.
//! All times are those of the server's clock.
//!
//! This crate contains only what talks to a server. The verifier does not link it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod address;
mod catalog;
mod claim;
mod connection;
mod copy;
mod error;
mod guard;
mod jobs;
mod log;
mod queue;
mod schema;
mod sections;
mod status;
mod store;
mod symbols;
mod tls;
mod work;

pub use catalog::PostgresCatalog;
pub use log::{PostgresAppender, PostgresLog};
pub use store::PostgresStore;
