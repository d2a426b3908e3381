//! The pure part of runseal: canonical JSON, digests, ids, safe paths, the view of files that
//! verification works on, and the rules, findings and reports of every format.
//!
//! Nothing here opens a file, reads a clock or the environment, or starts a thread; the same
//! input gives the same bytes on every machine. Whatever opens a file lives in `runseal-fs` and above.
//!
//! Start reading with [`formats::patch`], a small document on its way from bytes to a report; then [`verify`], what rules,
//! findings and reports are, and [`canon`], which reads and writes every byte that is hashed.

pub mod canon;
pub mod csv;
pub mod diagnosis;
pub mod digest;
pub mod formats;
pub mod hidden;
pub mod ids;
pub mod limits;
pub mod lookalike;
pub mod normalize;
pub mod path;
pub mod source;
pub mod space;
pub mod text_map;
pub mod timestamp;
pub mod verify;
