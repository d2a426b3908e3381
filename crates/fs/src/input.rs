//! Reads one file that the user named, or standard input.
//!
//! A link that the user names is followed, as in every tool; a folder, pipe or device is refused
//! instead of waiting for it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use runseal_core::source::{SourceError, read_bounded};

use crate::directory::kind_of;

/// The name of standard input in messages.
const STANDARD_INPUT: &str = "standard input";

/// Where one document comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// `-`, or no name at all.
    Standard,
    /// A file.
    File(PathBuf),
}

impl Input {
    /// Interprets an argument.
    pub fn from_argument(argument: Option<&Path>) -> Self {
        match argument {
            None => Self::Standard,
            Some(path) if path == Path::new("-") => Self::Standard,
            Some(path) => Self::File(path.to_owned()),
        }
    }

    /// The name for messages.
    pub fn shown(&self) -> String {
        match self {
            Self::Standard => STANDARD_INPUT.to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Reads everything; fails if that is more than `limit` bytes.
    pub fn read(&self, limit: u64) -> Result<Vec<u8>, SourceError> {
        match self {
            Self::Standard => read_bounded(io::stdin().lock(), STANDARD_INPUT, 0, limit),
            Self::File(path) => read_file(path, limit),
        }
    }
}

/// Reads a whole regular file; fails if it has more than `limit` bytes.
pub fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, SourceError> {
    let shown = path.display().to_string();
    let (file, size) = open_regular(path)?;
    if size > limit {
        return Err(SourceError::TooLarge { path: shown, limit });
    }
    read_bounded(file, &shown, size, limit)
}

/// Opens a regular file; returns its handle and current size.
pub fn open_regular(path: &Path) -> Result<(File, u64), SourceError> {
    let shown = path.display().to_string();
    let fail = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SourceError::NotFound {
            path: shown.clone(),
        },
        _ => SourceError::Io {
            path: shown.clone(),
            source,
        },
    };
    let no_wait = rustix::fs::OFlags::NONBLOCK
        .union(rustix::fs::OFlags::NOCTTY)
        .bits();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(no_wait.cast_signed())
        .open(path)
        .map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    if !metadata.is_file() {
        return Err(SourceError::NotAFile {
            path: shown,
            kind: kind_of(&metadata),
        });
    }
    Ok((file, metadata.len()))
}
