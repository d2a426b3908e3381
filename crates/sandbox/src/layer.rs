//! What a command changed in a layered folder: a list to walk, and the content of each file.
//!
//! Nothing in the layer is trusted. It is reached by descriptor, no link is followed, and
//! nothing but regular files is ever opened. The real folder is only read.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::outputs::{self, Fault, OutputError};

/// How the folder was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKind {
    /// At its own path, with a writable layer over it (overlayfs).
    Overlay,
    /// As a private copy.
    Copy,
}

/// What a changed path is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// A regular file that is new or has other content or rights than before.
    File {
        /// Its length in bytes, holes included.
        bytes: u64,
        /// Rights (the lower nine bits).
        mode: u32,
    },
    /// A folder that is new or has other rights; what is in it is listed by itself.
    Folder {
        /// Rights (the lower nine bits).
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// What it points to, as written.
        target: PathBuf,
    },
    /// A named pipe.
    Pipe,
    /// A Unix socket.
    Socket,
    /// A device node.
    Device,
    /// Nothing: what the real folder has here was removed, with all that is below.
    Deleted,
}

/// One path that differs from the real folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Path below the folder, with `/` between segments.
    pub path: OsString,
    /// What it is now.
    pub now: Changed,
    /// Whether the real folder has something at this path.
    pub existed: bool,
    /// Why it cannot be an output: no file or folder, or a name that is not plain UTF-8.
    pub fault: Option<Fault>,
}

/// The changes of one run. Dropping it gives their memory back, or removes the copy.
#[derive(Debug)]
pub struct FolderLayer {
    pub(crate) kind: LayerKind,
    pub(crate) shown_at: PathBuf,
    pub(crate) changes: Vec<Change>,
    /// The folder that holds the files.
    pub(crate) files: OwnedFd,
    /// Removes them, where they are on disk.
    #[cfg(target_os = "linux")]
    pub(crate) _stored: Option<crate::linux::Stored>,
}

impl FolderLayer {
    /// How the folder was shown.
    pub fn kind(&self) -> LayerKind {
        self.kind
    }

    /// The path at which the command saw the folder: its own, but for a copy at the weaker
    /// levels.
    pub fn shown_at(&self) -> &Path {
        &self.shown_at
    }

    /// All changes, sorted by the bytes of their path.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Opens a changed regular file for reading, without following any link.
    ///
    /// # Errors
    /// When it is not a regular file or cannot be opened.
    pub fn open(&self, path: &OsStr) -> Result<File, OutputError> {
        match outputs::open_below(&self.files, path) {
            // Its maker may have closed it to everyone.
            Err(OutputError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                outputs::open_up(&self.files, path)?;
                outputs::open_below(&self.files, path).map(File::from)
            }
            other => other.map(File::from),
        }
    }
}
