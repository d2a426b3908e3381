//! The files of a log: their names, how much of each counts, and what can be wrong with them.

use std::io::{self, Read};

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::digest::Digest;
use runseal_core::source::SourceError;
use runseal_trust::encoding::{decode_base64, encode_base64};
use runseal_trust::log::Checkpoint;
use thiserror::Error;

use crate::store::StoreError;
use runseal_fs::atomic::WriteError;
use runseal_fs::staging::StagingError;

pub(super) const ENTRIES: &str = "entries";
pub(super) const LEAVES: &str = "leaves";
pub(super) const NODES: &str = "nodes";
pub(super) const HEAD: &str = "head";
pub(super) const CHECKPOINT: &str = "checkpoint";
const FIRST_LINE: &str = "runseal-log@v1";
/// The bytes of an entry in `leaves`: its hash and its end offset.
pub(super) const LEAF: u64 = 40;
pub(super) const NODE: u64 = 32;
/// The most bytes of `head` and of a checkpoint.
pub(super) const MAX_SMALL: u64 = 1 << 20;

/// Why a log cannot be used.
#[derive(Debug, Error)]
pub enum LogError {
    /// It could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It could not be created.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// A file of it could not be read or written.
    #[error("cannot use `{file}` of the log")]
    File {
        /// The name of the file in the log's folder.
        file: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// It is not one of our logs.
    #[error("it is not a log: {0}")]
    NoLog(&'static str),
    /// A file is shorter than `head` says.
    #[error("`{file}` of the log is cut off: it has {actual} of {expected} bytes")]
    Cut {
        /// The name of the file in the log's folder.
        file: &'static str,
        /// The number of bytes that count, according to `head`.
        expected: u64,
        /// The number of bytes that it has.
        actual: u64,
    },
    /// A small file of it exists, but is not as a log writes it.
    #[error("`{0}` of the log is damaged")]
    Damaged(&'static str),
    /// Another process has the log open for appending.
    #[error("another process is appending to the log")]
    Busy,
    /// An entry that cannot be stored.
    #[error("an entry must be one line of at most 4096 bytes")]
    Entry,
    /// An entry beyond the end was requested.
    #[error("the log has {size} entries; {asked} was requested")]
    Beyond {
        /// The number of entries.
        size: u64,
        /// The index that was requested.
        asked: u64,
    },
    /// The last signed checkpoint does not match this tree.
    #[error(
        "the last signed checkpoint, of {0} entries, does not match this log: it was rolled back or changed"
    )]
    Forked(u64),
    /// Its server refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There are several logs, and none was named.
    #[error("there are several logs: {0}")]
    Several(String),
    /// A log with this name exists.
    #[error("a log with this name exists")]
    Exists,
    /// The name contains white space or `+`.
    #[error("a log's name must not contain white space or `+`")]
    Name,
}

impl Diagnose for LogError {
    fn diagnosis(&self) -> Diagnosis {
        let (code, hint) = match self {
            Self::Source(error) => return error.diagnosis(),
            Self::Store(error) => return error.diagnosis().located(Location::Named),
            Self::Write(_) | Self::Staging(_) => ("WRITE", "nothing was appended"),
            Self::File { .. } => ("LOG", "check the disk and the rights"),
            Self::NoLog(_) => ("LOG", "`runseal log init LOG --origin NAME` makes one"),
            Self::Cut { .. } | Self::Damaged(_) => (
                "LOG_CUT",
                "bring it back from a copy; `runseal log audit` compares with kept checkpoints",
            ),
            Self::Busy => ("LOG_BUSY", "one process appends at a time; try again"),
            Self::Entry => ("LOG", "nothing was appended"),
            Self::Beyond { .. } => ("LOG", "entries count from 0"),
            Self::Forked(_) => (
                "LOG_FORKED",
                "nothing was signed; `runseal log audit` says what is wrong",
            ),
            Self::Name => ("USAGE", "a name is like example.com/runs"),
            Self::Several(_) => ("LOG", "name one: postgres://USER@HOST/DATABASE#NAME"),
            Self::Exists => ("EXISTS", "a log is made once; `log append` appends to it"),
        };
        Diagnosis::unreadable(self, code)
            .located(Location::Named)
            .hint(hint)
    }
}

pub(super) fn file_error(file: &'static str) -> impl Fn(io::Error) -> LogError + Copy {
    move |source| LogError::File { file, source }
}

/// How much of a log counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) checkpoint: Checkpoint,
    pub(super) entry_bytes: u64,
}

impl Head {
    pub(super) fn to_text(&self) -> String {
        let Checkpoint { origin, size, root } = &self.checkpoint;
        let root = encode_base64(root.as_bytes());
        format!(
            "{FIRST_LINE}\n{origin}\n{size}\n{root}\n{}\n",
            self.entry_bytes
        )
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let origin = lines.next()?.to_owned();
        let size = lines.next()?.parse().ok()?;
        let root: [u8; 32] = decode_base64(lines.next()?)?.try_into().ok()?;
        let entry_bytes = lines.next()?.parse().ok()?;
        let checkpoint = Checkpoint {
            origin,
            size,
            root: Digest::from_bytes(root),
        };
        lines.next().is_none().then_some(Self {
            checkpoint,
            entry_bytes,
        })
    }
}

/// Returns the number of complete subtrees of two entries or more.
pub(super) fn node_count(size: u64) -> u64 {
    size - u64::from(size.count_ones())
}

/// Returns the position in `nodes` of the complete subtree at `level` (1 or more) and `index`: it
/// is completed by the last entry below it, after all smaller ones.
pub(super) fn node_place(level: u32, index: u64) -> u64 {
    let last = ((index + 1) << level) - 1;
    node_count(last) + u64::from(level) - 1
}

/// Fills `buffer` exactly, or fails if the file is too short.
pub(super) fn read_next(
    file: &mut impl Read,
    name: &'static str,
    buffer: &mut [u8],
) -> Result<(), LogError> {
    file.read_exact(buffer).map_err(file_error(name))
}
