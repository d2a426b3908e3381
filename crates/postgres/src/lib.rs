//! The job store, transparency logs and the catalogue on a PostgreSQL server, for many machines.
//!
//! It does what `runseal_engine::store` says a store does. Claims and commits are one statement
//! each, so that no worker holds locks while it is away: one that is stopped or cut off keeps
//! nobody waiting. Statements are not prepared under names and nothing is kept in a session, so
//! that it works behind pgbouncer in transaction mode. The clock is the server's.
//!
//! Only what talks to a server is here. The verifier does not link this crate.

mod address;
mod catalog;
mod claim;
mod connection;
mod copy;
mod error;
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
