//! Files that a command created itself before it opened them by name: renamed into place, linked,
//! or created complete. They look like files that existed before, but are not inputs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use runseal_sandbox::{Changed, LayerKind, ObservedFile};

use super::places::Places;
use crate::record::environment::modified_ns;
use crate::record::run::CommandRun;
use crate::world::normalize;

/// Distinguishes a command's own files from those that it found.
pub(super) struct OwnFiles<'a> {
    /// Files in the layer: new ones, or replacements of existing ones.
    left: BTreeSet<&'a OsStr>,
    /// What it took away, with all that was below.
    deleted: BTreeSet<&'a Path>,
    /// Whether timestamps tell who created a file; in a copy of the folder, all are as new as the
    /// run.
    has_times: bool,
    began_ns: i128,
    /// Names that something was renamed or linked to.
    given_names: BTreeSet<PathBuf>,
}

impl<'a> OwnFiles<'a> {
    pub(super) fn of(run: &'a CommandRun) -> Self {
        let layer = run.recorded.layer.as_ref();
        let changes = layer.into_iter().flat_map(|layer| layer.changes());
        let deleted = changes
            .clone()
            .filter(|change| change.now == Changed::Deleted);
        let files = changes
            .clone()
            .filter(|change| matches!(change.now, Changed::File { .. }));
        Self {
            left: files.map(|change| change.path.as_os_str()).collect(),
            deleted: deleted.map(|change| Path::new(&change.path)).collect(),
            has_times: layer.is_some_and(|layer| layer.kind() == LayerKind::Overlay),
            began_ns: run.began_ns,
            given_names: run
                .observation()
                .into_iter()
                .flat_map(|observation| &observation.given_names)
                .map(|name| normalize(name))
                .collect(),
        }
    }

    /// Whether the command left a new or changed file at this path below the folder.
    pub(super) fn left(&self, below: &Path) -> bool {
        self.left.contains(below.as_os_str())
    }

    /// Whether the command had created `file` before it was first opened.
    pub(super) fn made(&self, file: &ObservedFile, places: Places<'_>) -> bool {
        let Ok(below) = file.path.strip_prefix(places.folder) else {
            return false;
        };
        let is_new = file.status_changed_ns >= self.began_ns;
        let is_gone = || match places.real.look(&file.path) {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(_) => false,
        };
        match self.has_times {
            // A file that existed before has older timestamps, unless somebody else changed it
            // meanwhile; then it is not in the layer, and sealing it detects that.
            true => is_new && (self.left(below) || self.is_deleted(below) || is_gone()),
            false => is_gone() || self.is_replaced(file, below, places),
        }
    }

    fn is_deleted(&self, below: &Path) -> bool {
        below.ancestors().any(|it| self.deleted.contains(it))
    }

    /// Whether what was opened had taken the place of the real file: that one has another size or time.
    fn is_replaced(&self, file: &ObservedFile, below: &Path, places: Places<'_>) -> bool {
        let is_other = || {
            let real = places.real.look(&file.path);
            real.is_ok_and(|real| {
                (real.len(), modified_ns(&real)) != (file.bytes, file.modified_ns)
            })
        };
        self.left(below) && self.given_names.contains(&file.path) && is_other()
    }
}
