//! Files that a command created itself before it opened them by name: renamed into place, linked,
//! or created complete. They look like files that existed before, but are not inputs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;

use runseal_sandbox::{Changed, LayerKind, ObservedFile};

use super::places::Places;
use crate::record::run::CommandRun;

/// Distinguishes a command's own files from those that it found.
pub(super) struct OwnFiles<'a> {
    /// Files in the layer: new ones, or replacements of existing ones.
    left: BTreeSet<&'a OsStr>,
    /// Whether timestamps tell who created a file; in a copy of the folder, all are as new as the
    /// run.
    has_times: bool,
    began_ns: i128,
}

impl<'a> OwnFiles<'a> {
    pub(super) fn of(run: &'a CommandRun) -> Self {
        let layer = run.recorded.layer.as_ref();
        let changes = layer.into_iter().flat_map(|layer| layer.changes());
        let files = changes.filter(|change| matches!(change.now, Changed::File { .. }));
        Self {
            left: files.map(|change| change.path.as_os_str()).collect(),
            has_times: layer.is_some_and(|layer| layer.kind() == LayerKind::Overlay),
            began_ns: run.began_ns,
        }
    }

    /// Whether the command had created `file` before it was first opened.
    pub(super) fn made(&self, file: &ObservedFile, places: Places<'_>) -> bool {
        let Ok(below) = file.path.strip_prefix(places.folder) else {
            return false;
        };
        let is_new = file.status_changed_ns >= self.began_ns;
        let is_gone = || match std::fs::symlink_metadata(&file.path) {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(_) => false,
        };
        match self.has_times {
            // A file that existed before has older timestamps, unless somebody else changed it
            // meanwhile; then it is not in the layer, and sealing it detects that.
            true => is_new && (self.left.contains(below.as_os_str()) || is_gone()),
            false => is_gone(),
        }
    }
}
