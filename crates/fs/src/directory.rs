//! A folder as a source of files.
//!
//! Everything is reached from the folder's own handle, by a lookup that refuses links in every
//! component, and judged on the handle that was opened. Swapping a file for a link between
//! listing and reading therefore gives an error, never the link's target.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use runseal_core::limits::MAX_ENTRIES;
use runseal_core::path::SafePath;
use runseal_core::source::{
    ContentFact, Entry, EntryKind, EntryName, FileDigests, Got, Seen, Source, SourceError, Threads,
    Want, read_bounded,
};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::content::{SMALL, read_content};
use crate::stream::BUFFER;
use crate::threads::{SHARE, UnitThreads};

/// The flags for opening files: a pipe does not block, a terminal does not become ours.
const OPEN_FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

const OPEN_FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Whether the folder itself may be reached by a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootLink {
    /// The link's target is opened: the user chose the path.
    Follow,
    /// A link is not a folder, so opening it fails.
    Refuse,
}

/// A folder that was opened for reading.
#[derive(Debug)]
pub struct DirectorySource {
    root: OwnedFd,
    shown: String,
    threads: UnitThreads,
}

impl DirectorySource {
    /// Opens the folder at `path`.
    pub fn open(path: &Path, root_link: RootLink) -> Result<Self, SourceError> {
        let shown = path.display().to_string();
        let flags = match root_link {
            RootLink::Follow => OPEN_FOLDER.difference(OFlags::NOFOLLOW),
            RootLink::Refuse => OPEN_FOLDER,
        };
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(root) => Ok(Self {
                root,
                shown,
                threads: UnitThreads::new(None),
            }),
            // Only for the message: find out what is there instead.
            Err(errno) => Err(match std::fs::symlink_metadata(path) {
                Ok(metadata) if !metadata.is_dir() => {
                    let kind = entry_kind(FileType::from_raw_mode(mode_of(&metadata)));
                    SourceError::NotAFolder { path: shown, kind }
                }
                _ => error(&shown, errno),
            }),
        }
    }

    /// The same folder, with its files read on at most this many threads; by default the number of
    /// processors.
    #[must_use]
    pub fn with_threads(mut self, threads: Option<usize>) -> Self {
        self.threads = UnitThreads::new(threads);
        self
    }

    /// The threads that read its files, for whoever else works on the same unit.
    pub fn threads(&self) -> &UnitThreads {
        &self.threads
    }

    /// Opens a regular file; returns its handle and current size. A device is not even opened, which could have effects,
    /// unless it took a file's place just now; then the handle tells.
    pub fn open_file(&self, path: &SafePath) -> Result<(File, u64), SourceError> {
        let stat = rustix::fs::statat(&self.root, path.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(|errno| self.open_error(path, errno))?;
        refuse_others(path, stat.st_mode)?;
        let handle = open_below(self.root.as_fd(), path.as_str(), OPEN_FILE)
            .map_err(|errno| self.open_error(path, errno))?;
        let stat = rustix::fs::fstat(&handle).map_err(|errno| error(path.as_str(), errno))?;
        refuse_others(path, stat.st_mode)?;
        Ok((File::from(handle), u64::try_from(stat.st_size).unwrap_or(0)))
    }

    /// Distinguishes a link from other reasons why a file could not be opened.
    fn open_error(&self, path: &SafePath, errno: Errno) -> SourceError {
        if matches!(errno, Errno::LOOP | Errno::MLINK) {
            return SourceError::NotAFile {
                path: path.to_string(),
                kind: EntryKind::Symlink,
            };
        }
        if errno == Errno::NXIO {
            return SourceError::NotAFile {
                path: path.to_string(),
                kind: EntryKind::Special,
            };
        }
        error(path.as_str(), errno)
    }

    /// Lists one folder into `entries`; returns the names of its subfolders.
    fn list(&self, folder: &str, entries: &mut Vec<Entry>) -> Result<Vec<String>, SourceError> {
        let shown = || {
            if folder.is_empty() {
                self.shown.clone()
            } else {
                folder.to_owned()
            }
        };
        let fail = |errno| error(&shown(), errno);
        let handle = if folder.is_empty() {
            rustix::fs::openat(&self.root, ".", OPEN_FOLDER, Mode::empty())
        } else {
            open_below(self.root.as_fd(), folder, OPEN_FOLDER)
        };
        let handle = handle.map_err(fail)?;
        let mut folders = Vec::new();
        let mut path = Vec::new();
        for listed in Dir::read_from(&handle).map_err(fail)? {
            let listed = listed.map_err(fail)?;
            let name = listed.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if entries.len() as u64 >= MAX_ENTRIES {
                return Err(SourceError::TooMany {
                    path: self.shown.clone(),
                    limit: MAX_ENTRIES,
                });
            }
            let file_type = match listed.file_type() {
                // Some file systems do not report the type; then the entry itself is queried.
                FileType::Unknown => {
                    let stat = rustix::fs::statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW);
                    FileType::from_raw_mode(stat.map_err(fail)?.st_mode)
                }
                known => known,
            };
            let kind = entry_kind(file_type);
            path.clear();
            if !folder.is_empty() {
                path.extend_from_slice(folder.as_bytes());
                path.push(b'/');
            }
            path.extend_from_slice(name.to_bytes());
            let name = EntryName::from_bytes(&path);
            if let (EntryKind::Directory, EntryName::Safe(path)) = (kind, &name) {
                folders.push(path.to_string());
            }
            entries.push(Entry { name, kind });
        }
        Ok(folders)
    }
}

impl Source for DirectorySource {
    fn entries(&self) -> Result<Vec<Entry>, SourceError> {
        let mut entries = Vec::new();
        let mut waiting = vec![String::new()];
        while let Some(folder) = waiting.pop() {
            waiting.extend(self.list(&folder, &mut entries)?);
        }
        entries.sort_unstable_by(|a, b| a.name.shown().cmp(b.name.shown()));
        Ok(entries)
    }

    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
        self.open_file(path)
            .map(|(file, _)| Box::new(file) as Box<dyn Read + Send>)
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        let (file, size) = self.open_file(path)?;
        if size > limit {
            return Err(SourceError::TooLarge {
                path: path.to_string(),
                limit,
            });
        }
        read_bounded(file, path.as_str(), size, limit)
    }

    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        let (file, size) = self.open_file(path)?;
        // One byte more than a small file has, so that a single read reaches its end.
        let room = usize::try_from(size).map_or(BUFFER, |size| size.saturating_add(1).min(BUFFER));
        read_content(&file, &mut vec![0; room]).map_err(|source| SourceError::Io {
            path: path.to_string(),
            source,
        })
    }

    fn visit(&self, files: &[(SafePath, Want)], see: &(dyn Fn(usize, Seen) + Sync)) {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut visitor = Visitor {
                source: self,
                folder: None,
                buffer: vec![0; SMALL],
            };
            loop {
                let from = next.fetch_add(SHARE, Ordering::Relaxed);
                let share = files.iter().enumerate().skip(from).take(SHARE);
                if share.len() == 0 {
                    return;
                }
                for (at, (path, want)) in share {
                    see(at, visitor.look(path, *want));
                }
            }
        };
        self.threads.together(files.len(), &|_| work());
    }
}

/// Fails for everything but regular files.
fn refuse_others(path: &SafePath, mode: u32) -> Result<(), SourceError> {
    match entry_kind(FileType::from_raw_mode(mode)) {
        EntryKind::File => Ok(()),
        kind => Err(SourceError::NotAFile {
            path: path.to_string(),
            kind,
        }),
    }
}

/// Reads files one after another, through the handle of their folder as long as they share it.
struct Visitor<'a> {
    source: &'a DirectorySource,
    folder: Option<(Box<str>, OwnedFd)>,
    buffer: Vec<u8>,
}

impl Visitor<'_> {
    fn look(&mut self, path: &SafePath, want: Want) -> Seen {
        let file = self.open(path)?;
        let fail = |source| SourceError::Io {
            path: path.to_string(),
            source,
        };
        match want {
            Want::Fact => read_content(&file, &mut self.buffer)
                .map(Got::Fact)
                .map_err(fail),
            Want::Digests(wanted) => {
                // A device has no end.
                refuse_others(path, mode_of(&file.metadata().map_err(fail)?))?;
                FileDigests::read(file, wanted)
                    .map(Got::Digests)
                    .map_err(fail)
            }
            Want::Whole(limit) => {
                let metadata = file.metadata().map_err(fail)?;
                refuse_others(path, mode_of(&metadata))?;
                if metadata.len() > limit {
                    let path = path.to_string();
                    return Err(SourceError::TooLarge { path, limit });
                }
                read_bounded(file, path.as_str(), metadata.len(), limit).map(Got::Whole)
            }
        }
    }

    fn open(&mut self, path: &SafePath) -> Result<File, SourceError> {
        let fail = |errno| self.source.open_error(path, errno);
        let Some((folder, name)) = path.as_str().rsplit_once('/') else {
            let handle =
                rustix::fs::openat(&self.source.root, path.as_str(), OPEN_FILE, Mode::empty());
            return handle.map(File::from).map_err(fail);
        };
        let is_known = self
            .folder
            .as_ref()
            .is_some_and(|(known, _)| **known == *folder);
        if !is_known {
            let handle = open_below(self.source.root.as_fd(), folder, OPEN_FOLDER).map_err(fail)?;
            self.folder = Some((folder.into(), handle));
        }
        let Some((_, folder)) = &self.folder else {
            return Err(fail(Errno::NOENT));
        };
        let handle = rustix::fs::openat(folder, name, OPEN_FILE, Mode::empty());
        handle.map(File::from).map_err(fail)
    }
}

/// Opens `path` below `root`, refusing a link in any of its components.
fn open_below(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
            // An old kernel, or a seccomp filter that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            other => return other,
        }
    }
    open_by_component(root, path, flags)
}

/// The same without a single system call: one component at a time.
fn open_by_component(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut components = path.split('/').peekable();
    let mut folder: Option<OwnedFd> = None;
    while let Some(component) = components.next() {
        let flags = if components.peek().is_some() {
            OPEN_FOLDER
        } else {
            flags
        };
        let below = folder.as_ref().map_or(root, AsFd::as_fd);
        folder = Some(rustix::fs::openat(below, component, flags, Mode::empty())?);
    }
    folder.ok_or(Errno::NOENT)
}

/// What a file type is to verification.
fn entry_kind(file_type: FileType) -> EntryKind {
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Symlink,
        FileType::Fifo => EntryKind::Fifo,
        _ => EntryKind::Special,
    }
}

/// What the file behind an open handle is.
pub fn kind_of(metadata: &std::fs::Metadata) -> EntryKind {
    entry_kind(FileType::from_raw_mode(mode_of(metadata)))
}

fn mode_of(metadata: &std::fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(metadata)
}

fn error(path: &str, errno: Errno) -> SourceError {
    let path = path.to_owned();
    match errno {
        Errno::NOENT | Errno::NOTDIR => SourceError::NotFound { path },
        other => SourceError::Io {
            path,
            source: other.into(),
        },
    }
}

#[cfg(test)]
mod tests;
