//! A transparency log on this machine: a folder of files that only ever grow.
//!
//! | file | holds |
//! |---|---|
//! | `entries` | the entries, one a line |
//! | `leaves` | 40 bytes an entry: its hash, and where it ends in `entries` |
//! | `nodes` | 32 bytes for every complete subtree of two entries or more, in the order of completion |
//! | `head` | how much of the others counts: name, size, root |
//! | `checkpoint` | the newest checkpoint that was signed |
//!
//! A batch is written behind what counts, flushed, and then `head` is replaced at once. Whatever
//! a killed process leaves behind `head` counts for nobody and is cut off by the next one.

mod answer;
mod append;
mod audit;
mod files;
mod index;
mod store;

pub use answer::{LogQuestionError, OpenLog, read_log_policy};
pub use append::Appender;
pub use audit::{AuditReport, audit_log};
pub use files::LogError;
pub use store::LogStore;
