//! Opens files and folders by descriptor, below one that is open already: no link is followed, and
//! what its owner has closed to everybody is opened to the owner for as long as it takes.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{Dir, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::mounted::is_mounted;

/// Levels of folders that are copied; each keeps two descriptors open. A deeper tree only serves
/// to exhaust whoever collects it.
pub(super) const DEEPEST: usize = 256;

pub(super) const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);
pub(super) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK);
pub(super) fn names_in(folder: &OwnedFd) -> Result<BTreeSet<CString>, Errno> {
    let mut names = BTreeSet::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            names.insert(name.to_owned());
        }
    }
    Ok(names)
}

/// An open folder whose owner may have closed it to everyone, the owner included. It is open to
/// the owner for as long as this lives; its rights are the same afterwards.
pub(super) struct OpenedFolder {
    pub(super) folder: OwnedFd,
    pub(super) restore: Option<Mode>,
}

impl std::ops::Deref for OpenedFolder {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        &self.folder
    }
}

impl Drop for OpenedFolder {
    fn drop(&mut self) {
        if let Some(mode) = self.restore {
            let _ = rustix::fs::fchmod(&self.folder, mode);
        }
    }
}

pub(super) fn open_folder(
    above: &OwnedFd,
    name: &CStr,
    stat: &Stat,
) -> Result<OpenedFolder, Errno> {
    let mode = Mode::from_raw_mode(stat.st_mode);
    let is_open = mode.contains(Mode::RUSR | Mode::XUSR);
    let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
    let mut restore = None;
    // Reading names needs one right, looking at what they name another.
    if is_ours && !is_open {
        // The command may have put a link there meanwhile: only the folder that was looked at is opened.
        let held = hold(above, name, stat)?;
        change_mode(&held, Mode::RWXU)?;
        restore = Some(mode);
    }
    let folder = rustix::fs::openat(above, name, FOLDER, Mode::empty())?;
    Ok(OpenedFolder { folder, restore })
}

/// Holds on to what `stat` was told of, whatever is at its name now.
fn hold(above: &OwnedFd, name: &CStr, stat: &Stat) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = rustix::fs::openat(above, name, flags, Mode::empty())?;
    let now = rustix::fs::fstat(&held)?;
    match (now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino) {
        true => Ok(held),
        false => Err(Errno::NOENT),
    }
}

/// Changes the rights of what is held: a descriptor that opens nothing has no other way.
fn change_mode(held: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    let own = format!("/proc/self/fd/{}", held.as_raw_fd());
    rustix::fs::chmod(own, mode)
}

/// Opens a file that its owner may have closed to everyone, the owner included. Its rights are
/// the same afterwards.
pub(super) fn open_file(above: &OwnedFd, name: &CStr, stat: &Stat) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat(above, name, READ, Mode::empty()) {
        Err(Errno::ACCESS) => {}
        other => return other,
    }
    change_mode(&hold(above, name, stat)?, Mode::RWXU)?;
    let opened = rustix::fs::openat(above, name, READ, Mode::empty())?;
    rustix::fs::fchmod(&opened, Mode::from_raw_mode(stat.st_mode))?;
    Ok(opened)
}

/// Whether something else is mounted at a name: the command saw what is below that, which nobody can look
/// at. What is gone is not.
pub(super) fn is_covered(above: &OwnedFd, name: &CStr) -> Result<bool, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(above, name, flags, Mode::empty()) {
        Ok(opened) => is_mounted(above, opened),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Opens a folder without changing anything of it; nothing where its rights forbid that, or something
/// else is mounted there.
pub(super) fn open_folder_as_is(above: &OwnedFd, name: &CStr) -> Result<Option<OwnedFd>, Errno> {
    match rustix::fs::openat(above, name, FOLDER, Mode::empty()) {
        Ok(folder) => Ok((!is_mounted(above, &folder)?).then_some(folder)),
        Err(Errno::ACCESS | Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Opens a file without changing anything of it.
pub(super) fn open_file_as_is(above: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(above, name, READ, Mode::empty())
}
