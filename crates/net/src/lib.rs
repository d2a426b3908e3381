//! Effects beyond this machine: records and replays what agents exchange with models and tools.
//!
//! `proxy/` sits between an HTTP client and a model's API (or an MCP server over HTTP), `mcp/`
//! between an MCP client and a server on standard input and output. Both write a `recording/`:
//! first a journal, line by line, then model_io.json. `redact/` removes secrets before the first
//! byte reaches the disk, `matching` finds the recorded answer to a request, and `otel` turns a
//! recording into spans. The formats of the known APIs are parsed in `runseal_core`, so that
//! reports can show them too. `asking/` is a client of the proxy that asks models itself.
//!
//! This crate opens sockets. The crates that verify do not depend on it, which a test checks.
//!
//! Start reading with [`proxy`], one exchange from a request to the journal; [`matching`] is what a replay does instead of asking.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod asking;
mod error;
mod limits;
pub mod matching;
pub mod mcp;
pub mod otel;
pub mod proxy;
pub mod recording;
pub mod redact;
mod wait;

pub use error::NetError;
pub use wait::EndOfWork;
