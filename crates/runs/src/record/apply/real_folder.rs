//! The real folder as one open descriptor. Every name below it is reached from there, component by
//! component and through no link, so a folder that its owner swaps meanwhile leads nowhere else. What is
//! mounted below it was never shown to the command: such a folder can be looked at, and not entered.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use runseal_fs::handles::{FOLDER, chmod_opened};
use runseal_fs::private::random_name;
use runseal_sandbox::is_mounted;

/// The flags for a folder on the way: it may be searched even if it cannot be read.
const STEP: OFlags = FOLDER.union(OFlags::PATH);

/// The folder that changes are applied to. All paths are relative to it.
#[derive(Debug)]
pub(super) struct RealFolder {
    top: OwnedFd,
    path: PathBuf,
}

/// Which folder this is, whatever its name.
pub(super) type FolderId = (u64, u64);

impl RealFolder {
    /// `top`, which messages call `path`.
    pub(super) fn new(top: OwnedFd, path: &Path) -> Self {
        Self {
            top,
            path: path.to_owned(),
        }
    }

    /// Where a relative path is, for messages.
    pub(super) fn place(&self, path: &Path) -> PathBuf {
        self.path.join(path)
    }

    /// Whether something else is mounted at `path` or above it.
    pub(super) fn is_mounted(&self, path: &Path) -> bool {
        let look = STEP.difference(OFlags::DIRECTORY);
        let found = self.open_above(path).and_then(|(above, name)| {
            let opened = rustix::fs::openat(&above, name, look, Mode::empty())?;
            Ok(is_mounted(&above, opened)?)
        });
        found.unwrap_or_else(|error| error.kind() == io::ErrorKind::CrossesDevices)
    }

    /// Opens the folder at `path`.
    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut at = rustix::fs::openat(&self.top, ".", STEP, Mode::empty())?;
        for name in names(path) {
            at = step(&at, name?)?;
        }
        Ok(at)
    }

    /// Opens the folder that `path` lies in.
    fn open_above<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let (above, name) = split(path)?;
        Ok((self.open(above)?, name))
    }

    /// Opens the folder that `path` lies in, if it is still this one.
    fn open_same_above<'a>(
        &self,
        path: &'a Path,
        id: FolderId,
    ) -> io::Result<(OwnedFd, &'a OsStr)> {
        let (above, name) = self.open_above(path)?;
        if id_of(&above)? != id {
            return Err(swapped());
        }
        Ok((above, name))
    }

    /// What is at `path`, itself and not what a link leads to.
    pub(super) fn look(&self, path: &Path) -> io::Result<Stat> {
        let (above, name) = self.open_above(path)?;
        Ok(rustix::fs::statat(&above, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// The paths of what is in the folder at `path`.
    pub(super) fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let folder = rustix::fs::openat(self.open(path)?, ".", FOLDER, Mode::empty())?;
        let mut paths = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                paths.push(path.join(OsStr::from_bytes(name)));
            }
        }
        Ok(paths)
    }

    /// Makes the folder at `path` and those above it, as far as they are missing; adds the new ones to
    /// `made`.
    pub(super) fn make_folders(
        &self,
        path: &Path,
        made: &mut Vec<PathBuf>,
    ) -> io::Result<FolderId> {
        let mut at = rustix::fs::openat(&self.top, ".", STEP, Mode::empty())?;
        let mut so_far = PathBuf::new();
        for name in names(path) {
            let name = name?;
            so_far.push(name);
            at = match step(&at, name) {
                Err(Errno::NOENT) => {
                    rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o777))?;
                    made.push(so_far.clone());
                    step(&at, name)?
                }
                other => other?,
            };
        }
        id_of(&at)
    }

    /// Creates a file of an unused name beside `path`, which nobody else can read.
    pub(super) fn create_beside(
        &self,
        path: &Path,
        id: FolderId,
        prefix: &str,
    ) -> io::Result<(File, OsString)> {
        let (above, _) = self.open_same_above(path, id)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        loop {
            let beside = OsString::from(format!("{prefix}{}", random_name()?));
            match rustix::fs::openat(&above, &beside, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => return Ok((file.into(), beside)),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Makes a symbolic link of an unused name beside `path`.
    pub(super) fn link_beside(
        &self,
        path: &Path,
        id: FolderId,
        (prefix, leads_to): (&str, &Path),
    ) -> io::Result<OsString> {
        let (above, _) = self.open_same_above(path, id)?;
        loop {
            let beside = OsString::from(format!("{prefix}{}", random_name()?));
            match rustix::fs::symlinkat(leads_to, &above, &beside) {
                Ok(()) => return Ok(beside),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Gives the file `beside` the name that `path` ends with, in the same folder.
    pub(super) fn rename(&self, beside: &OsStr, path: &Path, id: FolderId) -> io::Result<()> {
        let (above, name) = self.open_same_above(path, id)?;
        Ok(rustix::fs::renameat(&above, beside, &above, name)?)
    }

    /// Sets the rights of the folder at `path`, if it is still this one.
    pub(super) fn set_rights(&self, path: &Path, id: FolderId, rights: u32) -> io::Result<()> {
        let folder = self.open(path)?;
        match id_of(&folder)? == id {
            true => chmod_opened(&folder, Mode::from_raw_mode(rights)),
            false => Err(swapped()),
        }
    }

    /// Removes a file, a link or an empty folder: what others put into a folder meanwhile keeps it.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        let (above, name) = self.open_above(path)?;
        let stat = rustix::fs::statat(&above, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let flags = match is_folder(&stat) {
            true => AtFlags::REMOVEDIR,
            false => AtFlags::empty(),
        };
        Ok(rustix::fs::unlinkat(&above, name, flags)?)
    }
}

/// Whether this is a folder.
pub(super) fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// Opens a folder on the way, unless something else is mounted at it.
fn step(above: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let opened = rustix::fs::openat(above, name, STEP, Mode::empty())?;
    if is_mounted(above, &opened)? {
        return Err(Errno::XDEV);
    }
    Ok(opened)
}

fn id_of(folder: &OwnedFd) -> io::Result<FolderId> {
    let stat = rustix::fs::fstat(folder)?;
    Ok((stat.st_dev, stat.st_ino))
}

fn swapped() -> io::Error {
    io::Error::other("its folder was swapped for another one meanwhile")
}

/// The names on the way; none leads up.
fn names(path: &Path) -> impl Iterator<Item = io::Result<&OsStr>> {
    path.components().map(|part| match part {
        Component::Normal(name) => Ok(name),
        _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    })
}

fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let name = path.file_name().ok_or_else(invalid)?;
    Ok((path.parent().ok_or_else(invalid)?, name))
}
