//! The work folder of an execution: the plan's files are below `out/`, the policy's other write
//! roots are next to it (rulings, harness layout).
//!
//! Every access goes through descriptors and follows no link: a command may have replaced a folder
//! with one. No command runs while files are accessed here.

use runseal_fs::private::PrivateFolder;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use runseal_core::path::SafePath;
use runseal_sandbox::outputs::{self, Entry, Kind, OutputError};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Folders that always exist in the work folder.
pub(super) const FOLDERS: [&str; 4] = ["build", "dist", "out", "tmp"];

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);
const FILE: OFlags = OFlags::CLOEXEC
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK);

/// The work folder; deleted with its content when dropped.
pub(super) struct WorkTree {
    folder: PrivateFolder,
}

impl WorkTree {
    /// Creates an empty one, with a folder for each of the policy's write roots.
    pub(super) fn new(write_roots: &[String]) -> io::Result<Self> {
        let folder = PrivateFolder::create("work")?;
        let roots = write_roots.iter().map(String::as_str);
        let names: BTreeSet<&str> = FOLDERS.into_iter().chain(roots).collect();
        for name in names {
            std::fs::create_dir(folder.path().join(name))?;
        }
        Ok(Self { folder })
    }

    /// Its path on the host.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn out(&self) -> Result<OwnedFd, Errno> {
        let top = rustix::fs::openat(CWD, self.folder.path(), FOLDER, Mode::empty())?;
        rustix::fs::openat(&top, "out", FOLDER, Mode::empty())
    }

    /// The folder of `path`, created if `make` is set.
    fn parent(&self, path: &SafePath, make: bool) -> Result<OwnedFd, Errno> {
        let mut at = self.out()?;
        let mut segments = path.segments();
        segments.next_back();
        for segment in segments {
            if make {
                match rustix::fs::mkdirat(&at, segment, Mode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
            }
            at = rustix::fs::openat(&at, segment, FOLDER, Mode::empty())?;
        }
        Ok(at)
    }

    /// Writes a file that must not exist.
    pub(super) fn create(&self, path: &SafePath, content: &[u8]) -> io::Result<()> {
        let folder = self.parent(path, true)?;
        let flags = FILE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mode = Mode::from_raw_mode(0o644);
        let file = rustix::fs::openat(&folder, path.file_name(), flags, mode)?;
        std::fs::File::from(file).write_all(content)
    }

    /// Replaces the content of a regular file that must exist.
    pub(super) fn modify(&self, path: &SafePath, content: &[u8]) -> io::Result<()> {
        self.check_regular(path)?;
        let folder = self.parent(path, false)?;
        let flags = FILE | OFlags::WRONLY | OFlags::TRUNC;
        let file = rustix::fs::openat(&folder, path.file_name(), flags, Mode::empty())?;
        std::fs::File::from(file).write_all(content)
    }

    /// Removes a regular file that must exist.
    pub(super) fn delete(&self, path: &SafePath) -> io::Result<()> {
        self.check_regular(path)?;
        let folder = self.parent(path, false)?;
        rustix::fs::unlinkat(&folder, path.file_name(), AtFlags::empty())?;
        Ok(())
    }

    fn check_regular(&self, path: &SafePath) -> io::Result<()> {
        let folder = self.parent(path, false)?;
        let stat = rustix::fs::statat(&folder, path.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            Ok(())
        } else {
            Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ))
        }
    }

    /// Reads a regular file; `None` if it does not exist.
    pub(super) fn read(&self, path: &SafePath, most: u64) -> io::Result<Option<Vec<u8>>> {
        let is_absent = |error: &io::Error| {
            matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            )
        };
        match self.check_regular(path) {
            Ok(()) => {}
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
        let folder = self.parent(path, false)?;
        let file = rustix::fs::openat(
            &folder,
            path.file_name(),
            FILE | OFlags::RDONLY,
            Mode::empty(),
        )?;
        let mut content = Vec::new();
        std::fs::File::from(file)
            .take(most.saturating_add(1))
            .read_to_end(&mut content)?;
        if content.len() as u64 > most {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "the file is too long",
            ));
        }
        Ok(Some(content))
    }

    /// Lists everything in the work folder, sorted.
    pub(super) fn list(&self, most: u64) -> Result<Vec<Entry>, OutputError> {
        outputs::list(self.folder.path(), most)
    }

    /// The bytes of a listed file.
    pub(super) fn read_listed(&self, path: &OsStr, most: u64) -> Result<Vec<u8>, OutputError> {
        outputs::read(self.folder.path(), path, most)
    }
}

impl Drop for WorkTree {
    /// Restores access to folders that a command may have closed, so that everything can be
    /// deleted.
    fn drop(&mut self) {
        let mut pending = vec![self.folder.path().to_owned()];
        while let Some(folder) = pending.pop() {
            let mode = Mode::from_raw_mode(0o700);
            let _ = rustix::fs::chmodat(CWD, &folder, mode, AtFlags::empty());
            let Ok(entries) = std::fs::read_dir(&folder) else {
                continue;
            };
            for entry in entries.flatten() {
                // The type of the entry itself: links are not followed.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    pending.push(entry.path());
                }
            }
        }
    }
}

/// The name under which an entry counts as one of the plan's outputs, if it does: without `out/`
/// for what is below that, unchanged for other roots; `tmp` is scratch space.
pub(super) fn output_name(entry: &Entry) -> Option<String> {
    if entry.kind != Kind::File {
        return None;
    }
    let path = entry.path.to_str()?;
    let (root, below) = path.split_once('/')?;
    match root {
        "out" => Some(below.to_owned()),
        "tmp" => None,
        _ => Some(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn path(text: &str) -> SafePath {
        SafePath::parse(text).unwrap()
    }

    #[test]
    fn work_tree_creates_modifies_and_deletes() {
        let tree = WorkTree::new(&[]).unwrap();
        tree.create(&path("a/b.txt"), b"1").unwrap();
        assert!(tree.create(&path("a/b.txt"), b"2").is_err());
        tree.modify(&path("a/b.txt"), b"3").unwrap();
        assert_eq!(
            tree.read(&path("a/b.txt"), 10).unwrap(),
            Some(b"3".to_vec())
        );
        tree.delete(&path("a/b.txt")).unwrap();
        assert_eq!(tree.read(&path("a/b.txt"), 10).unwrap(), None);
        assert!(tree.delete(&path("a/b.txt")).is_err());
        assert!(tree.modify(&path("a/b.txt"), b"").is_err());
    }

    #[test]
    fn work_tree_follows_no_link() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("victim"), "before").unwrap();
        let tree = WorkTree::new(&[]).unwrap();
        symlink(outside.path(), tree.path().join("out/folder")).unwrap();
        symlink(outside.path().join("victim"), tree.path().join("out/file")).unwrap();
        assert!(tree.create(&path("folder/new"), b"x").is_err());
        assert!(tree.modify(&path("folder/victim"), b"x").is_err());
        assert!(tree.modify(&path("file"), b"x").is_err());
        assert!(tree.delete(&path("file")).is_err());
        assert!(tree.read(&path("file"), 10).is_err());
        assert_eq!(
            std::fs::read_to_string(outside.path().join("victim")).unwrap(),
            "before"
        );
        assert!(!outside.path().join("new").exists());
    }

    #[test]
    fn work_tree_with_locked_folders_is_removed() {
        let tree = WorkTree::new(&[]).unwrap();
        let place = tree.path().to_owned();
        tree.create(&path("a/b/c"), b"").unwrap();
        let locked = place.join("out/a");
        rustix::fs::chmodat(CWD, &locked, Mode::empty(), AtFlags::empty()).unwrap();
        drop(tree);
        assert!(!place.exists());
    }
}
