//! MCP on standard input and output: stands between a client and a server, a message a line.
//!
//! What a client says begins an interaction; what a server says belongs to the interaction that
//! brought it about: an answer and the progress of a request to that request, and after a question of
//! the server's, to the client's reply. So a replay gives each message at its time, whatever else is
//! under way. Both eras of the protocol are the same to this module: it knows requests, answers,
//! notifications, and nothing of sessions. MCP over HTTP is `proxy` with another name.

mod attribution;
mod message;
mod record;
mod replay;

pub use record::{StdioOptions, record};
pub use replay::{ReplayOptions, Replayed, replay};
