//! What a killed process leaves behind: files and folders under construction.
//!
//! Their names begin with [`PREFIX`], and their creator holds a lock on them as long as it runs.
//! The kernel releases the lock when the process ends, however it ends; so what is not locked is
//! abandoned, and the next run in the same folder deletes it. A name alone proves nothing: what is
//! locked stays, and so does everything with another name.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use tempfile::NamedTempFile;

/// The prefix of every unfinished file or folder.
pub const PREFIX: &str = ".runseal-unfinished-";

pub use runseal_survey::is_unfinished;

/// Marks the open file or folder at `path` as owned by this process until it is closed. Returns
/// false if another process swept it away between its creation and this call.
pub(crate) fn hold(file: &File, path: &Path) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::LockExclusive) {
        Ok(()) => is_named(file, path),
        // This file system does not support locks, so nobody deletes anything here either.
        Err(Errno::OPNOTSUPP | Errno::NOLCK) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether the open file is the one that has the name `path`.
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok((open.dev(), open.ino()) == (named.dev(), named.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Creates something under an unused random name. Unlike with ready-made temporary files, errors of
/// `make` are returned unchanged, because no message may contain the random name.
pub(crate) fn create_named<T>(
    folder: &Path,
    make: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<NamedTempFile<T>> {
    tempfile::Builder::new()
        .prefix(PREFIX)
        .make_in(folder, make)
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

/// Deletes what ended processes left unfinished in `folder`. What cannot be deleted stays: it does
/// no harm, and the next run tries again.
pub(crate) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()) {
            let _ = take_away(&entry.path());
        }
    }
}

/// Deletes the file or folder at `path`, if no process holds it.
fn take_away(path: &Path) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    if !is_named(&file, path)? {
        return Ok(());
    }
    if file.metadata()?.is_dir() {
        remove_folder(path)
    } else {
        fs::remove_file(path)
    }
}

/// Deletes a folder with its content, including read-only folders. Follows no links.
fn remove_folder(path: &Path) -> io::Result<()> {
    let mut waiting = vec![path.to_owned()];
    while let Some(folder) = waiting.pop() {
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    fs::remove_dir_all(path)
}

/// A folder under construction; deleted with its content when dropped, unless it was kept.
#[derive(Debug)]
pub(crate) struct UnfinishedFolder {
    path: PathBuf,
    /// The mode that any new folder would have here.
    new_mode: u32,
    _held: File,
    is_kept: bool,
}

impl UnfinishedFolder {
    /// Creates one in `folder`, after deleting what others left there.
    pub(crate) fn create_in(folder: &Path) -> io::Result<Self> {
        sweep(folder);
        loop {
            // The mode after applying the umask is that of any new folder here.
            let made = create_named(folder, |path| fs::create_dir(path))?;
            let made = made.into_temp_path().keep().map_err(|error| error.error)?;
            let held = match File::open(&made) {
                Ok(held) => held,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if hold(&held, &made)? {
                let new_mode = held.metadata()?.mode() & 0o777;
                // Nobody else may see unfinished content.
                held.set_permissions(Permissions::from_mode(0o700))?;
                return Ok(Self {
                    path: made,
                    new_mode,
                    _held: held,
                    is_kept: false,
                });
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The mode that any new folder would have here, by the umask.
    pub(crate) fn new_mode(&self) -> u32 {
        self.new_mode
    }

    /// Gives it the mode of any new folder; until then it is private.
    pub(crate) fn open_up(&self) -> io::Result<()> {
        fs::set_permissions(&self.path, Permissions::from_mode(self.new_mode))
    }

    /// Records that it has been renamed and must not be deleted.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for UnfinishedFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            // If this fails, the next run deletes it.
            let _ = remove_folder(&self.path);
        }
    }
}

/// A name in a folder that this process is about to use, reserved so that another process which
/// chooses a name at the same time chooses a different one. Released when dropped.
#[derive(Debug)]
pub(crate) struct ClaimedName {
    path: PathBuf,
    _held: File,
}

impl ClaimedName {
    /// Reserves `name` in `folder`; `None` if another process has reserved it.
    pub(crate) fn claim(folder: &Path, name: &str) -> io::Result<Option<Self>> {
        let path = folder.join(format!("{PREFIX}{name}"));
        loop {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => return Ok(None),
                // This file system does not support locks; only renaming without replacing protects
                // then.
                Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOLCK) => {}
                Err(errno) => return Err(errno.into()),
            }
            // The previous holder may have deleted it before we got the lock.
            if is_named(&file, &path)? {
                return Ok(Some(Self { path, _held: file }));
            }
        }
    }
}

impl Drop for ClaimedName {
    fn drop(&mut self) {
        // If this fails, the next run deletes it.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
