//! MCP on standard input and output: sits between a client and a server, with one message per line.
//!
//! Each message of the client begins an interaction. A message of the server belongs to the
//! interaction that caused it: an answer or progress to its request, and what follows a question of
//! the server to the client's reply. So a replay sends each message at the right time. Both versions
//! of the protocol look the same here: this module knows requests, answers and notifications, but not
//! sessions. MCP over HTTP is handled by `proxy`.

mod attribution;
mod message;
mod record;
mod replay;

pub use record::{StdioOptions, record};
pub use replay::{ReplayOptions, Replayed, replay};
