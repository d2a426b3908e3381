//! What a killed process leaves behind: files and folders under construction.
//!
//! Their names begin with [`PREFIX`], and their creator holds a lock on them as long as it runs.
//! The kernel releases the lock when the process ends, however it ends; so what is not locked is
//! abandoned, and the next run of the same user in the same folder deletes it. A name alone proves
//! nothing: what is locked stays, and so does everything with another name, everything of another
//! user, and everything in a folder where anybody but this user and root can rename things.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::atomic::folder_of;
use crate::handles::{is_same, keeps_names, open_folder, remove_tree};
use crate::private::{PrivateFolder, random_name};

/// The prefix of every unfinished file or folder.
pub const PREFIX: &str = ".runseal-unfinished-";

pub use runseal_survey::is_unfinished;

/// How many names are tried. One sweep can take away each of a few; more than these are a process that
/// means to be in the way.
const MOST_TRIES: usize = 100;

/// Marks the open file or folder with this name as owned by this process until it is closed. Returns
/// false if another process holds it, or swept it away, between its creation and this call. Never waits:
/// whoever can open it can hold it for as long as they like.
fn hold(file: impl AsFd, folder: impl AsFd, name: &OsStr) -> io::Result<bool> {
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => is_named(file, folder, name),
        Err(Errno::WOULDBLOCK) => Ok(false),
        // This file system does not support locks, so nobody deletes anything here either.
        Err(Errno::OPNOTSUPP | Errno::NOLCK) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

fn in_the_way() -> io::Error {
    io::Error::other(
        "another process keeps locking what is new in this folder; name another folder",
    )
}

/// Whether the open file is the one that has this name.
fn is_named(file: impl AsFd, folder: impl AsFd, name: &OsStr) -> io::Result<bool> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
        named => Ok(is_same(named, rustix::fs::fstat(file))),
    }
}

/// Splits a path at an unfinished file or folder, and what is below that; `None` for all other
/// paths.
pub(crate) fn split_unfinished(path: &Path) -> Option<(&Path, &Path)> {
    let is_unfinished = |part: &Path| {
        let name = part.file_name();
        name.is_some_and(|name| name.as_bytes().starts_with(PREFIX.as_bytes()))
    };
    let top = path.ancestors().find(|part| is_unfinished(part))?;
    Some((top.parent()?, path.strip_prefix(top).ok()?))
}

/// Deletes what ended processes of this user left unfinished in `folder`. What cannot be deleted
/// stays: it does no harm, and the next run tries again. Where others can rename what this user owns,
/// nothing is deleted: they may have given the name to something that is finished.
pub(crate) fn sweep(folder: &OwnedFd) {
    if !rustix::fs::fstat(folder).is_ok_and(|folder| keeps_names(&folder)) {
        return;
    }
    let Ok(entries) = Dir::read_from(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        if name.starts_with(PREFIX.as_bytes()) {
            let _ = take_away(folder, OsStr::from_bytes(name));
        }
    }
}

/// Deletes a file or folder of this user, if no process holds it.
fn take_away(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let own = rustix::process::geteuid().as_raw();
    if rustix::fs::fstat(&file)?.st_uid != own {
        return Ok(());
    }
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    if is_named(&file, folder, name)? {
        remove_tree(folder, name)
    } else {
        Ok(())
    }
}

/// A file under construction; deleted when dropped, unless it got its name.
#[derive(Debug)]
pub struct UnfinishedFile {
    folder: OwnedFd,
    name: OsString,
    file: File,
    /// The mode that it gets with its name. Until then only its owner can open it.
    mode: Mode,
    is_kept: bool,
}

impl UnfinishedFile {
    /// Creates one beside `path`, with the mode of any new file.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create_beside(path: &Path) -> io::Result<Self> {
        Self::create_in(&open_folder(folder_of(path))?, 0o666)
    }

    /// Creates one in `folder`, with this mode as far as the umask allows.
    pub(crate) fn create_in(folder: &OwnedFd, mode: u32) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for _ in 0..MOST_TRIES {
            let name = OsString::from(format!("{PREFIX}{}", random_name()?));
            let file = match rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(mode)) {
                Ok(file) => file,
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno.into()),
            };
            // Only making it tells what the umask allows.
            let allowed = Mode::from_raw_mode(rustix::fs::fstat(&file)?.st_mode & 0o777);
            let made = Self {
                folder: folder.try_clone()?,
                name,
                file: File::from(file),
                mode: allowed,
                is_kept: false,
            };
            // Some file systems have no rights to set; holding it does not wait there either.
            let _ = rustix::fs::fchmod(&made.file, Mode::RUSR | Mode::WUSR);
            if hold(&made.file, folder, &made.name)? {
                return Ok(made);
            }
        }
        Err(in_the_way())
    }

    /// The open file.
    pub fn as_file_mut(&mut self) -> &mut File {
        &mut self.file
    }

    /// Lets it have this mode once it has its name.
    pub(crate) fn set_mode(&mut self, mode: u32) {
        self.mode = Mode::from_raw_mode(mode);
    }

    /// Flushes it, with the mode that it gets with its name.
    ///
    /// # Errors
    /// The system's.
    pub fn finish(&mut self) -> io::Result<()> {
        let now = rustix::fs::fstat(&self.file)?.st_mode & 0o777;
        if now != self.mode.as_raw_mode() {
            rustix::fs::fchmod(&self.file, self.mode)?;
        }
        self.file.sync_all()
    }

    /// Gives it its name in the same folder, and replaces what has it.
    pub(crate) fn persist(mut self, name: &OsStr) -> io::Result<()> {
        rustix::fs::renameat(&self.folder, &self.name, &self.folder, name)?;
        self.is_kept = true;
        Ok(())
    }

    /// Gives it its name in the same folder, which must be free.
    ///
    /// # Errors
    /// When something has the name, or the folder cannot be written to.
    pub fn persist_new(self, name: &OsStr) -> io::Result<()> {
        // The unfinished name goes when this value is dropped.
        let flags = AtFlags::empty();
        match rustix::fs::linkat(&self.folder, &self.name, &self.folder, name, flags) {
            Ok(()) => Ok(()),
            // This file system has no hard links.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => {
                match rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                    Err(Errno::NOENT) => self.persist(name),
                    Err(errno) => Err(errno.into()),
                }
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // If this fails, the next run deletes it.
            let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// A folder under construction; deleted with its content when dropped, unless it was kept.
#[derive(Debug)]
pub(crate) struct UnfinishedFolder {
    folder: PrivateFolder,
    /// The mode that any new folder would have here.
    new_mode: u32,
}

impl UnfinishedFolder {
    /// Creates one in `place`, after deleting what others left there. It is private.
    pub(crate) fn create_in(place: &Path) -> io::Result<Self> {
        let above = open_folder(place)?;
        sweep(&above);
        for _ in 0..MOST_TRIES {
            let folder = PrivateFolder::create_in(place, PREFIX)?;
            let (above, name) = folder.place();
            if hold(folder.handle(), above, name)? {
                let new_mode = find_new_mode(folder.handle())?;
                return Ok(Self { folder, new_mode });
            }
        }
        Err(in_the_way())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path that leads to the open folder, whatever has its name by now.
    pub(crate) fn path_of_handle(&self) -> PathBuf {
        self.folder.path_of_handle()
    }

    /// The open folder that it lies in, and its name there.
    pub(crate) fn place(&self) -> (&OwnedFd, &OsStr) {
        self.folder.place()
    }

    /// The open folder.
    pub(crate) fn handle(&self) -> &OwnedFd {
        self.folder.handle()
    }

    /// The mode that any new folder would have here, by the umask.
    pub(crate) fn new_mode(&self) -> u32 {
        self.new_mode
    }

    /// Gives it the mode of any new folder; until then it is private.
    pub(crate) fn open_up(&self) -> io::Result<()> {
        let mode = Mode::from_raw_mode(self.new_mode);
        Ok(rustix::fs::fchmod(self.folder.handle(), mode)?)
    }

    /// Records that it has been renamed and must not be deleted.
    pub(crate) fn keep(self) {
        self.folder.keep();
    }
}

/// The mode of a new folder: only making one tells, since the umask cannot be read without setting it.
fn find_new_mode(folder: &OwnedFd) -> io::Result<u32> {
    const PROBE: &str = "mode";
    rustix::fs::mkdirat(folder, PROBE, Mode::from_raw_mode(0o777))?;
    let made = rustix::fs::statat(folder, PROBE, AtFlags::SYMLINK_NOFOLLOW);
    rustix::fs::unlinkat(folder, PROBE, AtFlags::REMOVEDIR)?;
    Ok(made?.st_mode & 0o777)
}

/// A name in a folder that this process is about to use, reserved so that another process which
/// chooses a name at the same time chooses a different one. Released when dropped.
#[derive(Debug)]
pub struct ClaimedName {
    folder: OwnedFd,
    name: OsString,
    _held: OwnedFd,
}

impl ClaimedName {
    /// Reserves `name` in `folder`; `None` if another process has reserved it, or another user keeps
    /// us from it.
    pub fn claim(folder: &Path, name: &str) -> io::Result<Option<Self>> {
        let folder = open_folder(folder)?;
        let name = OsString::from(format!("{PREFIX}{name}"));
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        loop {
            let mode = Mode::RUSR | Mode::WUSR;
            let file = match rustix::fs::openat(&folder, &name, flags, mode) {
                Ok(file) => file,
                Err(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => return Ok(None),
                Err(Errno::ACCESS)
                    if rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok() =>
                {
                    return Ok(None);
                }
                Err(errno) => return Err(errno.into()),
            };
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => return Ok(None),
                // This file system does not support locks; only renaming without replacing protects
                // then.
                Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOLCK) => {}
                Err(errno) => return Err(errno.into()),
            }
            // The previous holder may have deleted it before we got the lock.
            if is_named(&file, &folder, &name)? {
                return Ok(Some(Self {
                    folder,
                    name,
                    _held: file,
                }));
            }
        }
    }
}

impl Drop for ClaimedName {
    fn drop(&mut self) {
        // If this fails, the next run deletes it.
        let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn sweep(folder: &Path) {
        super::sweep(&open_folder(folder).unwrap());
    }

    #[test]
    fn name_is_claimed_by_one_at_a_time_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let claim = |name: &str| ClaimedName::claim(folder.path(), name).unwrap();
        let first = claim("run_1").unwrap();
        assert!(claim("run_1").is_none());
        let other = claim("run_2").unwrap();
        sweep(folder.path());
        assert!(claim("run_1").is_none());
        drop(first);
        let again = claim("run_1").unwrap();
        drop((again, other));
        // What a killed process left belongs to nobody.
        fs::write(folder.path().join(format!("{PREFIX}run_3")), "").unwrap();
        assert!(claim("run_3").is_some());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn sweep_takes_what_nobody_holds_and_leaves_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let held = UnfinishedFolder::create_in(folder.path()).unwrap();
        fs::create_dir_all(at(".runseal-unfinished-dead/a/b")).unwrap();
        fs::write(at(".runseal-unfinished-dead/a/b/c"), "x").unwrap();
        let locked = Permissions::from_mode(0o555);
        fs::set_permissions(at(".runseal-unfinished-dead/a/b"), locked.clone()).unwrap();
        fs::set_permissions(at(".runseal-unfinished-dead"), locked).unwrap();
        fs::write(at(".runseal-unfinished-file"), "x").unwrap();
        fs::create_dir(at("kept")).unwrap();
        fs::write(at("kept/file"), "x").unwrap();
        std::os::unix::fs::symlink("kept", at(".runseal-unfinished-link")).unwrap();
        fs::create_dir(at(".runseal")).unwrap();
        fs::create_dir(at(".runseal-notes")).unwrap();
        sweep(folder.path());
        assert!(!at(".runseal-unfinished-dead").exists());
        assert!(!at(".runseal-unfinished-file").exists());
        assert!(held.path().exists());
        assert!(at("kept/file").exists());
        assert!(at(".runseal").exists() && at(".runseal-notes").exists());
        let path = held.path().to_owned();
        drop(held);
        assert!(!path.exists());
    }

    #[test]
    fn sweep_leaves_what_anybody_could_have_renamed_and_what_strangers_own() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at(".runseal-unfinished-renamed")).unwrap();
        fs::write(at(".runseal-unfinished-renamed/thesis"), "x").unwrap();
        for mode in [0o777, 0o775, 0o707] {
            fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            sweep(folder.path());
            assert!(
                at(".runseal-unfinished-renamed/thesis").exists(),
                "{mode:o}"
            );
        }
        fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
        if rustix::process::geteuid().is_root() {
            let stranger = Some(2_000_000_001);
            // The owner of a folder can rename whatever is in it.
            std::os::unix::fs::chown(folder.path(), stranger, None).unwrap();
            sweep(folder.path());
            assert!(at(".runseal-unfinished-renamed/thesis").exists());
            std::os::unix::fs::chown(folder.path(), Some(0), None).unwrap();
            std::os::unix::fs::chown(at(".runseal-unfinished-renamed"), stranger, None).unwrap();
            sweep(folder.path());
            assert!(at(".runseal-unfinished-renamed/thesis").exists());
        }
    }

    #[test]
    fn new_file_that_somebody_else_holds_is_given_up_and_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let above = open_folder(folder.path()).unwrap();
        fs::write(folder.path().join("new"), "").unwrap();
        let ours = File::open(folder.path().join("new")).unwrap();
        let theirs = File::open(folder.path().join("new")).unwrap();
        rustix::fs::flock(&theirs, FlockOperation::LockExclusive).unwrap();
        assert!(!hold(&ours, &above, OsStr::new("new")).unwrap());
        drop(theirs);
        assert!(hold(&ours, &above, OsStr::new("new")).unwrap());
    }

    #[test]
    fn unfinished_file_is_closed_to_others_until_it_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &OsStr| {
            let found = fs::metadata(folder.path().join(name)).unwrap();
            found.permissions().mode() & 0o777
        };
        fs::write(folder.path().join("usual"), "").unwrap();
        let mut made = UnfinishedFile::create_beside(&folder.path().join("new")).unwrap();
        assert_eq!(mode(&made.name), 0o600);
        made.finish().unwrap();
        made.persist(OsStr::new("new")).unwrap();
        assert_eq!(mode(OsStr::new("new")), mode(OsStr::new("usual")));
    }

    #[test]
    fn unfinished_folders_made_by_many_at_once_are_never_swept_by_each_other() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let made = UnfinishedFolder::create_in(folder.path()).unwrap();
                        fs::write(made.path().join("file"), "x").unwrap();
                        sweep(folder.path());
                        assert!(made.path().join("file").exists());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
