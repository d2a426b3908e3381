//! What a command wrote over a layered place of its view: names only, for people. Nothing is opened but folders,
//! and no link is followed.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::opening::{DEEPEST, names_in, open_folder};

/// Names that are kept. If more were written, these are named.
const MOST_WRITTEN: usize = 10_000;

/// Adds every path below `place` at which the layer `upper` has something: files, links, and what was removed.
/// Folders count if nothing is in them.
pub(super) fn list(upper: &OwnedFd, place: &Path, found: &mut Vec<PathBuf>) -> Result<(), Errno> {
    list_below(upper, place, 0, found)
}

fn list_below(
    folder: &OwnedFd,
    above: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> Result<(), Errno> {
    for name in names_in(folder)? {
        if found.len() >= MOST_WRITTEN {
            return Ok(());
        }
        let path = above.join(OsStr::from_bytes(name.to_bytes()));
        let stat = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if !is_folder || depth >= DEEPEST {
            found.push(path);
            continue;
        }
        let inner = open_folder(folder, &name, &stat)?;
        let before = found.len();
        list_below(&inner, &path, depth + 1, found)?;
        if found.len() == before {
            found.push(path);
        }
    }
    Ok(())
}
