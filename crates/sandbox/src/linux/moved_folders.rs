//! Folders of the layered folder that get another name.
//!
//! A layer (overlayfs) refuses to rename a folder that the real one has, as if it were on another file system. `mv` copies
//! it then, but most programs fail: `git mv`, Python's `os.rename`. So before a command renames one, it is made anew in
//! the layer, with everything that is in it; the kernel moves that as any other.

use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::opening::{DEEPEST, names_in};
use super::other_names::open_above;
use super::resolve::Root;
use crate::spec::Layered;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Prepares the renaming of what the command sees at `path`. Where that fails, the command's own call does.
pub(super) fn prepare(root: &Root, layered: &Layered, path: &[u8]) {
    let path = Path::new(OsStr::from_bytes(path));
    let Ok(below) = path.strip_prefix(&layered.inside) else {
        return;
    };
    let is_real = fs::symlink_metadata(layered.folder.join(below)).is_ok_and(|it| it.is_dir());
    if below.as_os_str().is_empty() || !is_real {
        return;
    }
    let Ok((above, name)) = open_above(root, path) else {
        return;
    };
    if let Ok(name) = CString::new(name.as_bytes()) {
        let _ = make_anew(&above, &name, 0);
    }
}

/// Puts a new folder with everything that is in the old one in its place.
fn make_anew(above: &OwnedFd, name: &CStr, depth: usize) -> Result<(), Errno> {
    let stat = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Ok(());
    }
    if depth > DEEPEST {
        return Err(Errno::NAMETOOLONG);
    }
    let is_open = Mode::from_raw_mode(stat.st_mode).contains(Mode::RWXU);
    if !is_open {
        rustix::fs::chmodat(above, name, Mode::RWXU, AtFlags::empty())?;
    }
    let old = rustix::fs::openat(above, name, FOLDER, Mode::empty())?;
    let aside = CString::new(format!(".runseal-folder-{}", stat.st_ino)).unwrap_or_default();
    rustix::fs::mkdirat(above, &aside, Mode::RWXU)?;
    let new = rustix::fs::openat(above, &aside, FOLDER, Mode::empty());
    let moved = new.and_then(|new| {
        let moved = move_all(&old, &new, depth).and_then(|()| set_attributes(&new, &stat));
        let replaced = moved.and_then(|()| {
            rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR)?;
            rustix::fs::renameat(above, &aside, above, name)
        });
        if replaced.is_err() {
            // What was moved already goes back.
            for entry in names_in(&new).unwrap_or_default() {
                let _ = rustix::fs::renameat(&new, &entry, &old, &entry);
            }
        }
        replaced
    });
    if moved.is_err() {
        let _ = rustix::fs::unlinkat(above, &aside, AtFlags::REMOVEDIR);
        if !is_open {
            let _ = rustix::fs::fchmod(&old, Mode::from_raw_mode(stat.st_mode));
        }
    }
    moved
}

fn move_all(old: &OwnedFd, new: &OwnedFd, depth: usize) -> Result<(), Errno> {
    for entry in names_in(old)? {
        make_anew(old, &entry, depth + 1)?;
        rustix::fs::renameat(old, &entry, new, &entry)?;
    }
    Ok(())
}

fn set_attributes(folder: &OwnedFd, stat: &Stat) -> Result<(), Errno> {
    let made = rustix::fs::fstat(folder)?;
    if (made.st_uid, made.st_gid) != (stat.st_uid, stat.st_gid) {
        let owner = rustix::fs::Uid::from_raw(stat.st_uid);
        let group = rustix::fs::Gid::from_raw(stat.st_gid);
        rustix::fs::fchown(folder, Some(owner), Some(group))?;
    }
    rustix::fs::fchmod(folder, Mode::from_raw_mode(stat.st_mode))?;
    let time = |tv_sec: i64, nanoseconds: i64| Timespec {
        tv_sec,
        tv_nsec: nanoseconds,
    };
    let nanoseconds = |it| i64::try_from(it).unwrap_or_default();
    rustix::fs::futimens(
        folder,
        &Timestamps {
            last_access: time(stat.st_atime, nanoseconds(stat.st_atime_nsec)),
            last_modification: time(stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
        },
    )
}
