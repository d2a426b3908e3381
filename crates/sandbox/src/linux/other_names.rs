//! Files of the layered folder that have several names (hard links).
//!
//! A layer (overlayfs) gives a file that is written to a copy under the one name it was opened by, and under its other
//! names it stays what it was: a command that appends to one and reads the other would get another result than it
//! does without a layer. So before a command writes to such a file, the layer gets all of its names.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, OFlags, Stat};
use rustix::io::Errno;

use super::opening::DEEPEST;
use super::resolve::Root;
use crate::spec::Layered;

/// The names of the files of a folder that have several.
pub(super) struct OtherNames {
    folder: Layered,
    /// Paths below the folder, by file; searched when the first is written to.
    found: Option<BTreeMap<(u64, u64), Vec<PathBuf>>>,
}

impl OtherNames {
    /// The folder whose files these are.
    pub(super) fn folder(&self) -> &Layered {
        &self.folder
    }

    pub(super) fn of(folder: Layered) -> OtherNames {
        OtherNames {
            folder,
            found: None,
        }
    }

    /// Makes the names of the file at `path`, which is about to be written to, names of one file in the layer. `seen`
    /// is what the command has there now. Gives false where a name keeps what the file held.
    pub(super) fn keep_together(&mut self, root: &Root, path: &[u8], seen: &Stat) -> bool {
        if seen.st_nlink < 2 || FileType::from_raw_mode(seen.st_mode) != FileType::RegularFile {
            return true;
        }
        let Layered { folder, inside, .. } = &self.folder;
        let Ok(below) = Path::new(OsStr::from_bytes(path)).strip_prefix(inside) else {
            return true;
        };
        // What the layer has already is a file of its own, with its names.
        let real = fs::symlink_metadata(folder.join(below)).ok();
        let Some(real) = real.filter(|it| is_real(it, seen)) else {
            return true;
        };
        let found = (self.found).get_or_insert_with(|| {
            let mut found = BTreeMap::new();
            search(folder, Path::new(""), real.dev(), 0, &mut found);
            found
        });
        let Some(names) = found.get(&(real.dev(), real.ino())) else {
            return false;
        };
        let mut are_all = names.len() as u64 >= real.nlink();
        for name in names.iter().filter(|name| *name != below) {
            are_all &= join(root, &inside.join(below), &inside.join(name), &real).is_ok();
        }
        are_all
    }
}

/// Whether the command sees the real file: a copy in the layer has other times.
fn is_real(real: &fs::Metadata, seen: &Stat) -> bool {
    let seen_changed = (i128::from(seen.st_ctime), i128::from(seen.st_ctime_nsec));
    let real_changed = (i128::from(real.ctime()), i128::from(real.ctime_nsec()));
    real.is_file() && u64::try_from(seen.st_size) == Ok(real.len()) && seen_changed == real_changed
}

/// Adds what lies below `folder`, which has the path `below`.
fn search(
    folder: &Path,
    below: &Path,
    device: u64,
    depth: usize,
    found: &mut BTreeMap<(u64, u64), Vec<PathBuf>>,
) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        let name = below.join(entry.file_name());
        if metadata.is_dir() && metadata.dev() == device && depth < DEEPEST {
            search(&entry.path(), &name, device, depth + 1, found);
        } else if metadata.is_file() && metadata.nlink() > 1 {
            let names = found.entry((metadata.dev(), metadata.ino())).or_default();
            names.push(name);
        }
    }
}

/// Makes `name` a name of the file at `path`, where the command still has the real file under it.
fn join(root: &Root, path: &Path, name: &Path, real: &fs::Metadata) -> Result<(), Errno> {
    let (from, file) = open_above(root, path)?;
    let (to, other) = open_above(root, name)?;
    match rustix::fs::statat(&to, other, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(seen) if is_real(real, &seen) => {}
        // The command has put something else there, or has taken it away.
        Ok(_) | Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno),
    }
    let times = rustix::fs::statat(&from, file, AtFlags::SYMLINK_NOFOLLOW)?;
    if !is_real(real, &times) && times.st_nlink < 2 {
        // Somebody was faster: it is no longer the file that has these names.
        return Err(Errno::STALE);
    }
    let mut aside = b".runseal-name-".to_vec();
    aside.extend_from_slice(real.ino().to_string().as_bytes());
    let aside = OsStr::from_bytes(&aside);
    // Linking it gives the layer its copy; the other name goes in one step, so that nobody finds it missing.
    rustix::fs::linkat(&from, file, &to, aside, AtFlags::empty())?;
    let renamed = rustix::fs::renameat(&to, aside, &to, other);
    if renamed.is_err() {
        let _ = rustix::fs::unlinkat(&to, aside, AtFlags::empty());
    }
    renamed
}

/// The folder that `path` is in, reached over no link, and the last segment.
pub(super) fn open_above<'p>(root: &Root, path: &'p Path) -> Result<(OwnedFd, &'p OsStr), Errno> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::INVAL);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = root.open_plainly(above.as_os_str().as_bytes(), flags)?;
    Ok((folder, name))
}
