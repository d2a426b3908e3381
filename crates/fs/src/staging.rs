//! The only way to create a bundle or pack: a folder beside its target that is moved there once it
//! is complete, on disk and verified.
//!
//! Whatever goes wrong before that, nothing remains under the target's name. A kill leaves at most
//! a folder that [`crate::unfinished`] recognizes and the next run deletes. Nothing that exists is
//! ever replaced. What is flushed, verified and published is the folder that is open, whatever has its
//! name by then: whoever owns the folder around it can swap it at any moment.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use runseal_core::diagnosis::{Diagnose, Diagnosis};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::atomic::{WriteError, folder_of, sync_folder};
use crate::handles::{FOLDER, is_same};
use crate::threads::Task;
use crate::unfinished::UnfinishedFolder;

/// Up to this many files are flushed one by one; beyond that, one call flushes the file system,
/// because a call per file would take minutes.
const FLUSHED_ONE_BY_ONE: u64 = 64;

/// How many files are flushed in parallel.
const FLUSHED_AT_ONCE: usize = 4;

/// What may exist at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The name must be free.
    Free,
    /// Nothing, or an empty folder, which is replaced.
    FreeOrEmptyFolder,
}

/// The permissions of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Those of any new file.
    AsUmask,
    /// Whoever the umask lets can read, nobody can write a file; the owner can still delete the folder.
    ReadOnly,
}

/// Why a folder could not be published.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// Something exists there, and is never overwritten.
    #[error("`{}` exists already and is never overwritten", .0.display())]
    Exists(PathBuf),
    /// Something could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Diagnose for StagingError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Exists(_) => Diagnosis::unreadable(self, "EXISTS")
                .hint("choose another name; what exists is never replaced"),
            Self::Write(error) => error.diagnosis(),
        }
    }
}

/// A bundle or pack under construction.
#[derive(Debug)]
pub struct Staging {
    // Dropped in this order: first what is inside.
    folder: UnfinishedFolder,
    parents: MadeFolders,
    parent: PathBuf,
    files: AtomicU64,
    rights: Rights,
}

impl Staging {
    /// Begins a folder that will be in `parent`, which is created if it does not exist.
    pub fn begin(parent: &Path) -> Result<Self, WriteError> {
        Self::begin_with(parent, Rights::AsUmask)
    }

    /// The same for a folder whose files get these permissions when they are created, which saves
    /// another pass over them.
    pub fn begin_with(parent: &Path, rights: Rights) -> Result<Self, WriteError> {
        let parents = MadeFolders::make(parent)?;
        let folder = UnfinishedFolder::create_in(parent).map_err(WriteError::at(parent))?;
        Ok(Self {
            folder,
            parents,
            parent: parent.to_owned(),
            files: AtomicU64::new(0),
            rights,
        })
    }

    /// Begins a folder that will be `target`.
    pub fn begin_beside(target: &Path) -> Result<Self, WriteError> {
        Self::begin(folder_of(target))
    }

    /// The current path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path to read what was stored by: it leads to the folder whatever has its name by now.
    pub fn reading_path(&self) -> PathBuf {
        self.folder.path_of_handle()
    }

    /// Creates a new file at the relative path `name`, and the folders above it.
    pub fn create(&self, name: &str) -> Result<(File, PathBuf), WriteError> {
        let place = self.path().join(name);
        let mode = match self.rights {
            Rights::ReadOnly => 0o444,
            Rights::AsUmask => 0o666,
        };
        let file = create_below(self.folder.handle(), name, mode);
        let file = file.map_err(|errno| WriteError::at(&place)(errno.into()))?;
        self.files.fetch_add(1, Ordering::Relaxed);
        Ok((File::from(file), place))
    }

    /// Makes the folder `name`, a relative path, and those above it.
    pub fn make_folder(&self, name: &str) -> Result<(), WriteError> {
        let made = make_folders(self.folder.handle().as_fd(), name).map(drop);
        made.map_err(|errno| WriteError::at(&self.path().join(name))(errno.into()))
    }

    /// The folder `name`, a relative path, which is made if it does not exist.
    pub fn folder(&self, name: &str) -> Result<File, WriteError> {
        let made = make_folders(self.folder.handle().as_fd(), name).map(File::from);
        made.map_err(|errno| WriteError::at(&self.path().join(name))(errno.into()))
    }

    /// Makes the symbolic link `name`, a relative path, and the folders above it.
    pub fn link(&self, name: &str, target: &str) -> Result<(), WriteError> {
        let (above, last) = split(name);
        let made = make_folders(self.folder.handle().as_fd(), above)
            .and_then(|above| rustix::fs::symlinkat(target, above, last));
        made.map_err(|errno| WriteError::at(&self.path().join(name))(errno.into()))
    }

    /// Stores a file in the folder.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        let (mut file, place) = self.create(name)?;
        file.write_all(bytes).map_err(WriteError::at(&place))
    }

    /// Gives a file of the folder another name in its own folder.
    pub fn rename(&self, name: &str, new: &str) -> Result<(), WriteError> {
        let folder = self.folder.handle();
        let renamed = rustix::fs::renameat(folder, name, folder, new);
        renamed.map_err(|errno| WriteError::at(&self.path().join(new))(errno.into()))
    }

    /// Takes a file out of the folder again.
    pub fn remove(&self, name: &str) -> Result<(), WriteError> {
        let removed = rustix::fs::unlinkat(self.folder.handle(), name, AtFlags::empty());
        removed.map_err(|errno| WriteError::at(&self.path().join(name))(errno.into()))?;
        self.files.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }

    /// Adds the file `from` of the open folder `folder` under the relative path `name`: as a hard link,
    /// or as a copy if the file system has none. The original stays where it is.
    pub fn adopt(
        &self,
        (folder, from): (BorrowedFd<'_>, &str),
        name: &str,
    ) -> Result<(), WriteError> {
        let place = self.path().join(name);
        let fail = |errno: Errno| WriteError::at(&place)(errno.into());
        let (above, last) = split(name);
        let above = make_folders(self.folder.handle().as_fd(), above).map_err(fail)?;
        if rustix::fs::linkat(folder, from, &above, last, AtFlags::empty()).is_err() {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(folder, from, flags, Mode::empty()).map_err(fail)?;
            return self.copy(&mut File::from(file), name);
        }
        self.files.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Copies a file in under the relative path `name`.
    pub fn copy(&self, from: &mut File, name: &str) -> Result<(), WriteError> {
        let (mut copy, place) = self.create(name)?;
        let copied = io::copy(from, &mut copy);
        copied.map(drop).map_err(WriteError::at(&place))
    }

    /// Flushes everything while `verify` judges it, and publishes the folder once both are done.
    /// There is no other way to publish: what does not verify, or is not on disk, never gets its
    /// name.
    pub fn publish<T, E: From<StagingError>>(
        self,
        target: &Path,
        (place, rights): (Place, Rights),
        verify: impl FnOnce(&Path) -> Result<T, E>,
    ) -> Result<T, E> {
        let staged = self.reading_path();
        let fail = WriteError::at(target);
        check_place(target, place)?;
        let failed = |error| E::from(StagingError::from(fail(error)));
        self.folder.open_up().map_err(failed)?;
        let (folder_mode, file_mode) = read_only_modes(self.folder.new_mode());
        // With the usual umask, everything was created with these permissions.
        let has_rights = self.rights == Rights::ReadOnly && self.folder.new_mode() == 0o755;
        if rights == Rights::ReadOnly && !has_rights {
            set_rights(self.folder.handle(), folder_mode, file_mode).map_err(failed)?;
        }
        let files = self.files.load(Ordering::Relaxed);
        let (verified, flushed) = std::thread::scope(|scope| {
            let flushing = Task::begin(scope, || flush(&staged, files));
            let verified = verify(&staged);
            let gone = |_| Err(io::Error::other("the thread that flushes ended by itself"));
            (verified, flushing.finish().unwrap_or_else(gone))
        });
        let verified = verified?;
        flushed.map_err(failed)?;
        if place == Place::FreeOrEmptyFolder {
            // Fails, as it should, if the folder is not empty or does not exist.
            let _ = fs::remove_dir(target);
        }
        let swapped = || {
            failed(io::Error::other(
                "what was made for it was swapped meanwhile",
            ))
        };
        let (above, name) = self.folder.place();
        let itself = || rustix::fs::fstat(self.folder.handle());
        let no_link = AtFlags::SYMLINK_NOFOLLOW;
        if !is_same(rustix::fs::statat(above, name, no_link), itself()) {
            return Err(swapped());
        }
        match rename_if_free((above.as_fd(), Path::new(name)), target) {
            Ok(()) => {}
            Err(error) if is_taken(&error) => {
                return Err(StagingError::Exists(target.to_owned()).into());
            }
            Err(error) => return Err(failed(error)),
        }
        // Between the look and the renaming it could be swapped as well.
        if !is_same(rustix::fs::statat(CWD, target, no_link), itself()) {
            return Err(swapped());
        }
        self.folder.keep();
        sync_folder(&self.parent).map_err(failed)?;
        self.parents.keep().map_err(failed)?;
        Ok(verified)
    }
}

/// The modes of sealed folders and files, where any new folder gets `new_mode`: nobody reads what the umask
/// keeps from them, only the owner changes folders, and the owner can always read.
fn read_only_modes(new_mode: u32) -> (u32, u32) {
    let folder = new_mode & 0o755 | 0o700;
    (folder, folder & 0o444)
}

/// Fails early if `target` is taken; publishing checks again.
pub fn check_place(target: &Path, place: Place) -> Result<(), StagingError> {
    let exists = || Err(StagingError::Exists(target.to_owned()));
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(WriteError::at(target)(error).into()),
        Ok(metadata) if place == Place::FreeOrEmptyFolder && metadata.is_dir() => {
            let mut entries = fs::read_dir(target).map_err(WriteError::at(target))?;
            match entries.next() {
                None => Ok(()),
                Some(_) => exists(),
            }
        }
        Ok(_) => exists(),
    }
}

fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AlreadyExists
            | io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::NotADirectory
    )
}

/// Flushes every file and folder below `path` to disk.
fn flush(path: &Path, files: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if files > FLUSHED_ONE_BY_ONE {
        return Ok(rustix::fs::syncfs(File::open(path)?)?);
    }
    let _ = files;
    let mut folders = vec![path.to_owned()];
    let mut files = Vec::new();
    let mut at = 0;
    while let Some(folder) = folders.get(at).cloned() {
        at += 1;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                // A link has nothing of its own but its name, and may lead anywhere.
                let file = File::open(entry.path())?;
                begin_writing(&file);
                files.push(file);
            }
        }
    }
    // Flushing a folder writes the file system's journal with all pending files, which leaves
    // little to do for their own flushes.
    for folder in folders {
        sync_folder(&folder)?;
    }
    // Each flush waits for the disk, which handles several in parallel.
    std::thread::scope(|scope| {
        let some = files.len().div_ceil(FLUSHED_AT_ONCE).max(1);
        let sync = |files: &[File]| files.iter().try_for_each(File::sync_all);
        let (own, others) = files.split_at(some.min(files.len()));
        let others: Vec<_> = others
            .chunks(some)
            .map(|files| Task::begin(scope, move || sync(files)))
            .collect();
        let gone = |_| Err(io::Error::other("a thread that flushes ended by itself"));
        let own = sync(own);
        let others = others
            .into_iter()
            .map(|it| it.finish().unwrap_or_else(gone));
        others.fold(own, io::Result::and)
    })
}

/// Asks the kernel to start writing the file's content, by declaring that it is no longer needed.
/// This is only a request: the flush that follows is what counts.
fn begin_writing(file: &File) {
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

fn rename_if_free((folder, from): (BorrowedFd<'_>, &Path), to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(folder, from, CWD, to, RenameFlags::NOREPLACE) {
            // The file system does not support the flag.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            other => return other.map_err(io::Error::from),
        }
    }
    rename_after_asking((folder, from), to)
}

/// The same without a single system call for it. Between the check and the rename an empty folder
/// may appear and be replaced; anything else makes the rename of a folder fail.
fn rename_after_asking((folder, from): (BorrowedFd<'_>, &Path), to: &Path) -> io::Result<()> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(rustix::fs::renameat(folder, from, CWD, to)?)
        }
        Err(error) => Err(error),
    }
}

/// Sets the mode of an open folder and of every folder and file below it.
pub fn set_rights(folder: &OwnedFd, folder_mode: u32, file_mode: u32) -> io::Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let below = rustix::fs::openat(folder, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&below)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => set_rights(&below, folder_mode, file_mode)?,
            _ if stat.st_mode & 0o7777 == file_mode => {}
            _ => rustix::fs::fchmod(&below, Mode::from_raw_mode(file_mode))?,
        }
    }
    if rustix::fs::fstat(folder)?.st_mode & 0o7777 == folder_mode {
        return Ok(());
    }
    Ok(rustix::fs::fchmod(
        folder,
        Mode::from_raw_mode(folder_mode),
    )?)
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Creates a new file below an open folder, through no link whatever happens meanwhile.
fn create_below(folder: &OwnedFd, path: &str, mode: u32) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(mode);
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(folder, path, flags, mode, within) {
            // A folder on the way does not exist, or this kernel lacks the call.
            Err(Errno::NOENT | Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            other => return other,
        }
    }
    let (above, name) = split(path);
    rustix::fs::openat(make_folders(folder.as_fd(), above)?, name, flags, mode)
}

/// Makes the folders of a relative path that do not exist yet; returns the last one.
fn make_folders(folder: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
    let mut at = rustix::fs::openat(folder, ".", FOLDER, Mode::empty())?;
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        if name == ".." {
            return Err(Errno::INVAL);
        }
        at = match rustix::fs::openat(&at, name, FOLDER, Mode::empty()) {
            Err(Errno::NOENT) => {
                match rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
                rustix::fs::openat(&at, name, FOLDER, Mode::empty())?
            }
            other => other?,
        };
    }
    Ok(at)
}

/// The folders that were created above a target, outermost first; deleted again when dropped, if
/// they are empty.
#[derive(Debug)]
struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    fn make(path: &Path) -> Result<Self, WriteError> {
        let missing = path
            .ancestors()
            .take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.exists());
        let mut made: Vec<_> = missing.map(Path::to_owned).collect();
        made.reverse();
        let made = Self(made);
        fs::create_dir_all(path).map_err(WriteError::at(path))?;
        Ok(made)
    }

    /// Keeps them, and flushes their names to disk.
    fn keep(mut self) -> io::Result<()> {
        for made in std::mem::take(&mut self.0) {
            sync_folder(folder_of(&made))?;
        }
        Ok(())
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for made in self.0.iter().rev() {
            // Fails, as it should, if the folder is not empty.
            let _ = fs::remove_dir(made);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const SEALED: (Place, Rights) = (Place::Free, Rights::ReadOnly);
    const PLAIN: (Place, Rights) = (Place::FreeOrEmptyFolder, Rights::AsUmask);

    fn accept(_: &Path) -> Result<(), StagingError> {
        Ok(())
    }

    #[test]
    fn staging_dropped_leaves_nothing_and_not_even_the_folders_it_made() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a/b/c");
        let staging = Staging::begin(&out).unwrap();
        staging.put("x/y", b"1").unwrap();
        drop(staging);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn link_is_published_and_nothing_is_opened_through_it() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let staging = Staging::begin_beside(&target).unwrap();
        staging.put("a", b"1").unwrap();
        staging.link("d/nowhere", "missing").unwrap();
        assert!(staging.link("a", "b").is_err());
        assert!(staging.create("d/nowhere/x").is_err());
        staging
            .folder("d")
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH)
            .unwrap();
        staging.publish(&target, PLAIN, accept).unwrap();
        assert_eq!(
            fs::read_link(target.join("d/nowhere")).unwrap(),
            Path::new("missing")
        );
        let modified = fs::metadata(target.join("d")).unwrap().modified().unwrap();
        assert_eq!(modified, std::time::UNIX_EPOCH);
    }

    #[test]
    fn staging_swapped_for_a_link_writes_nothing_where_the_link_leads() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("kept"), "x").unwrap();
        let target = folder.path().join("target");
        let staging = Staging::begin_beside(&target).unwrap();
        staging.put("before", b"1").unwrap();
        fs::rename(staging.path(), folder.path().join("stolen")).unwrap();
        std::os::unix::fs::symlink(&home, staging.path()).unwrap();
        staging.put("x/y", b"1").unwrap();
        staging.put("z", b"1").unwrap();
        staging.make_folder("a/b").unwrap();
        staging.rename("z", "renamed").unwrap();
        staging.remove("before").unwrap();
        let refused = staging.publish(&target, SEALED, |_| {
            Err::<(), _>(StagingError::Exists(PathBuf::from("refused")))
        });
        assert!(refused.is_err());
        assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
        let mode = fs::metadata(home.join("kept"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o200, 0o200);
    }

    #[test]
    fn staging_swapped_for_another_folder_is_verified_itself_and_the_other_is_not_published() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (how, is_before) in [
            (SEALED, true),
            (SEALED, false),
            (PLAIN, true),
            (PLAIN, false),
        ] {
            fs::create_dir(at("forged")).unwrap();
            fs::write(at("forged/file"), "forged").unwrap();
            let staging = Staging::begin_beside(&at("target")).unwrap();
            staging.put("file", b"own").unwrap();
            let place = staging.path().to_owned();
            let swap = || {
                fs::rename(&place, at("stolen")).unwrap();
                fs::rename(at("forged"), &place).unwrap();
            };
            if is_before {
                swap();
            }
            let refused = staging.publish(&at("target"), how, |staged| {
                assert_eq!(fs::read(staged.join("file")).unwrap(), b"own");
                if !is_before {
                    swap();
                }
                Ok::<_, StagingError>(())
            });
            assert!(matches!(refused, Err(StagingError::Write(_))));
            assert!(!at("target").exists());
            for left in [at("stolen"), place] {
                let _ = fs::remove_dir_all(left);
            }
        }
    }

    #[test]
    fn staging_that_does_not_verify_is_never_published() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out/target");
        for how in [SEALED, PLAIN] {
            let staging = Staging::begin_beside(&target).unwrap();
            staging.put("file", b"1").unwrap();
            let refused = staging.publish(&target, how, |staged| {
                assert_eq!(fs::read(staged.join("file")).unwrap(), b"1");
                Err::<(), _>(StagingError::Exists(PathBuf::from("refused")))
            });
            assert!(
                matches!(refused, Err(StagingError::Exists(path)) if path == Path::new("refused"))
            );
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn staging_published_read_only_is_that_and_never_overwrites() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("r1");
        let staging = Staging::begin_beside(&target).unwrap();
        staging.put("x/y", b"1").unwrap();
        staging.publish(&target, SEALED, accept).unwrap();
        let mode = |name: &str| {
            fs::metadata(target.join(name))
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!((mode(""), mode("x"), mode("x/y")), (0o755, 0o755, 0o444));
        for how in [SEALED, PLAIN] {
            let second = Staging::begin_beside(&target).unwrap();
            let refused = second.publish(&target, how, accept);
            assert!(matches!(refused, Err(StagingError::Exists(_))));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn sealed_files_are_never_open_to_more_than_the_umask_allows() {
        for (new_mode, modes) in [
            (0o755, (0o755, 0o444)),
            (0o775, (0o755, 0o444)),
            (0o750, (0o750, 0o440)),
            (0o700, (0o700, 0o400)),
            (0o000, (0o700, 0o400)),
        ] {
            assert_eq!(read_only_modes(new_mode), modes, "{new_mode:o}");
        }
    }

    #[test]
    fn staging_meets_an_empty_folder_as_it_was_told_to() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("empty");
        fs::create_dir(&target).unwrap();
        let staging = Staging::begin_beside(&target).unwrap();
        assert!(staging.publish(&target, SEALED, accept).is_err());
        let staging = Staging::begin_beside(&target).unwrap();
        staging.put("file", b"1").unwrap();
        staging.publish(&target, PLAIN, accept).unwrap();
        assert_eq!(fs::read(target.join("file")).unwrap(), b"1");
        // A link to an empty folder is not an empty folder.
        let link = folder.path().join("link");
        fs::create_dir(folder.path().join("other")).unwrap();
        std::os::unix::fs::symlink("other", &link).unwrap();
        let staging = Staging::begin_beside(&link).unwrap();
        let refused = staging.publish(&link, PLAIN, accept);
        assert!(matches!(refused, Err(StagingError::Exists(_))));
    }

    #[test]
    fn staging_target_that_appears_while_verifying_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        for how in [SEALED, PLAIN] {
            let staging = Staging::begin_beside(&target).unwrap();
            let refused = staging.publish(&target, how, |_| {
                fs::create_dir(&target).unwrap();
                fs::write(target.join("theirs"), "x").unwrap();
                Ok::<_, StagingError>(())
            });
            assert!(matches!(refused, Err(StagingError::Exists(_))), "{how:?}");
            assert_eq!(fs::read(target.join("theirs")).unwrap(), b"x");
            fs::remove_dir_all(&target).unwrap();
        }
    }

    #[test]
    fn rename_with_and_without_the_system_call_refuses_even_an_empty_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for rename in [rename_if_free, rename_after_asking] {
            fs::create_dir(at("a")).unwrap();
            fs::create_dir(at("b")).unwrap();
            let from = at("a");
            let refused = rename((CWD, &from), &at("b")).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            rename((CWD, &from), &at("c")).unwrap();
            fs::remove_dir(at("b")).unwrap();
            fs::remove_dir(at("c")).unwrap();
        }
    }
}
