//! What was there before the command ran and counted without being read: a folder that it wrote into,
//! entered or took away, and whatever it looked at. A replay finds it again: a folder, or a file of the
//! same size with nothing in it.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use runseal_sandbox::Observation;

use super::places::Places;
use super::{Accesses, normalize};

/// What stood at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PresentEntry {
    /// A folder.
    Folder,
    /// A regular file.
    File {
        /// Its size.
        bytes: u64,
        /// Whether anybody may execute it.
        is_executable: bool,
    },
}

impl PresentEntry {
    /// What `metadata` tells of; nothing for a link, and for what is neither file nor folder.
    pub(super) fn of(metadata: &fs::Metadata) -> Option<Self> {
        if metadata.is_dir() {
            return Some(Self::Folder);
        }
        metadata.is_file().then(|| Self::File {
            bytes: metadata.len(),
            is_executable: metadata.mode() & 0o111 != 0,
        })
    }
}

impl Accesses {
    /// Keeps what the command looked at or entered, as far as it is in the real folder: what the command
    /// made itself, a replay makes again.
    pub(super) fn add_looks(&mut self, observation: &Observation, places: Places<'_>) {
        for name in &observation.looks {
            for place in self.follow_links(vec![normalize(name)], places) {
                self.keep_present(&place, places);
            }
        }
    }

    /// Keeps what the real folder has at `place`, if that can be put there again.
    pub(super) fn keep_present(&mut self, place: &Path, places: Places<'_>) {
        let relative = place.strip_prefix(places.folder).ok();
        let Some(relative) = relative.and_then(Path::to_str).filter(|it| !it.is_empty()) else {
            return;
        };
        if places.out.is_some_and(|out| place.starts_with(out)) {
            return;
        }
        let Ok(found) = places.real.look(place) else {
            return;
        };
        match PresentEntry::of(&found) {
            Some(what) => {
                self.present.insert(relative.to_owned(), what);
            }
            None if found.is_symlink() => {}
            None => {
                let what = shown_special(relative, &found);
                self.gap("listing", format!("a replay does not have {what}"));
            }
        }
    }
}

/// A name of something that a bundle cannot hold, with what it is.
pub(super) fn shown_special(name: &str, metadata: &fs::Metadata) -> String {
    let kind = metadata.file_type();
    let what = match (kind.is_fifo(), kind.is_socket()) {
        (true, _) => "named pipe",
        (_, true) => "socket",
        _ => "device",
    };
    format!("the {what} `{}`", name.escape_debug())
}
