//! A transparency log: an append-only list of entries under a hash tree.
//!
//! `contract` defines what a log does; `folder` keeps one on this machine, and `runseal-postgres`
//! on a server. The files in the folder:
//!
//! | file | contents |
//! |---|---|
//! | `entries` | the entries, one per line |
//! | `leaves` | 40 bytes per entry: its hash, and where it ends in `entries` |
//! | `nodes` | 32 bytes for every complete subtree of two entries or more, in the order of completion |
//! | `head` | how much of the others counts: name, size, root |
//! | `checkpoint` | the newest checkpoint that was signed |
//!
//! A batch is written after what counts and flushed, and then `head` is replaced atomically. What a
//! killed process leaves beyond `head` does not count, and the next process truncates it.

mod answer;
mod audit;
mod contract;
mod files;
mod folder;
mod folder_append;
mod index;

pub use answer::{LogQuestionError, OpenLog, read_log_policy};
pub use audit::{AuditReport, audit_log};
pub use contract::{
    Appended, Appender, KeptEntry, Log, Tree, add_signatures, check_entries, check_kept,
    check_name, place_entries,
};
pub use files::LogError;
pub use folder::FolderLog;
pub use folder_append::FolderAppender;
