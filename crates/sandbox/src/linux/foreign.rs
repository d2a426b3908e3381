//! Files that do not belong to the user and group whom a command runs as.
//!
//! An ordinary user's namespace knows one user and one group. overlayfs cannot copy up a file of any
//! other: changing one fails with "Value too large for defined data type", where the same command
//! works outside. A folder with such files, as in one that a team shares, is copied instead.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::Access;

/// Entries that are looked at: whoever has more gets the layer without waiting for an answer.
const MOST_ENTRIES: usize = 10_000;
/// Beyond this many bytes a folder is not copied: most commands change none of the files that are
/// somebody else's, and would wait for nothing.
const MOST_BYTES: u64 = 1 << 30;

/// Whether something in `folder`, or the folder itself, belongs to others, and a copy is cheap and
/// has everything.
pub(super) fn is_in(folder: &Path) -> bool {
    let own = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    let (mut is_found, mut entries, mut bytes) = (false, 0, 0_u64);
    let mut waiting = VecDeque::from([folder.to_owned()]);
    while let Some(path) = waiting.pop_front() {
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        entries += 1;
        bytes = bytes.saturating_add(if metadata.is_file() {
            metadata.len()
        } else {
            0
        });
        if entries > MOST_ENTRIES || bytes > MOST_BYTES {
            return false;
        }
        if (metadata.uid(), metadata.gid()) != own {
            is_found = true;
            // A copy leaves out what cannot be read, and the command would miss it.
            let may_read = rustix::fs::access(&path, Access::READ_OK);
            if !metadata.is_symlink() && may_read.is_err() {
                return false;
            }
        }
        if metadata.is_dir() {
            let below = fs::read_dir(&path).into_iter().flatten().flatten();
            waiting.extend(below.map(|entry| entry.path()));
        }
    }
    is_found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_of_another_group_is_found_and_own_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        let file = folder.path().join("below/file");
        fs::write(&file, "x").unwrap();
        assert!(!is_in(folder.path()));
        // Only root can give a file away.
        if std::os::unix::fs::chown(&file, None, Some(12_345)).is_ok() {
            assert!(is_in(folder.path()));
            let large = fs::File::create(folder.path().join("large")).unwrap();
            large.set_len(MOST_BYTES).unwrap();
            assert!(!is_in(folder.path()));
        }
    }
}
