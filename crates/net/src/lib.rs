//! Effects beyond this machine: records and replays what agents say to models and to tools.
//!
//! `proxy/` stands between an HTTP client and a model's API (or an MCP server over HTTP), `mcp/`
//! between an MCP client and a server on standard input and output. Both write a `recording/`:
//! first a journal, line by line, then model_io.json. `redact/` takes secrets out before the first
//! byte reaches the disk, `matching` finds the recorded answer to a request, `otel` turns a recording
//! into spans. What the known APIs say is read in `runseal_core`, so that reports can show it too.
//!
//! This crate opens sockets. The crates that verify do not depend on it, and a test looks.

mod error;
pub mod matching;
pub mod mcp;
pub mod otel;
pub mod proxy;
pub mod recording;
pub mod redact;
mod wait;

pub use error::NetError;
pub use wait::EndOfWork;
