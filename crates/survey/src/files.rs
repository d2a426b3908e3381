//! How a survey reaches files: by paths that a person named, and by names found below them.
//!
//! A folder of this machine, files in memory, and anything else with names and bytes give the same
//! answers here, so every decision is made by the same code.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::path::{Component, Path, PathBuf};

use runseal_archive::{
    Archive, BagDigester, Container, ContentDigester, HEAD, InlineDigester, PackedBytes,
    PieceDigester, Unpacked, ZIP_TAIL, ends_like_zip, foreign_ending, read_stream, read_tar,
    read_zip, sniff,
};
use runseal_core::digest::Digest;
use runseal_core::formats::archive::{ArchiveFault, FaultKind};
use runseal_core::formats::definition::FilesBeside;
use runseal_core::limits::MAX_ENTRIES;
use runseal_core::path::SafePath;
use runseal_core::source::{
    ContentFact, Entry, EntryKind, EntryName, NoThreads, Source, SourceError, Threads,
};

/// Files by path. A link that a person names is followed; links below a folder are not.
pub trait Files: Sync {
    /// What is at a path. Links are followed.
    ///
    /// # Errors
    /// If nothing is there, or it cannot be examined.
    fn kind(&self, path: &Path) -> io::Result<EntryKind>;

    /// Whether anything has this name, even a link to nothing.
    fn is_there(&self, path: &Path) -> bool;

    /// Calls `each` with each name in a folder and its kind, in any order.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    fn list(&self, folder: &Path, each: &mut dyn FnMut(&[u8], EntryKind)) -> io::Result<()>;

    /// The path with these bytes; `None` if no path can have them here.
    fn path_of(&self, bytes: &[u8]) -> Option<PathBuf>;

    /// Reads a regular file whole, if it has at most `limit` bytes.
    ///
    /// # Errors
    /// If it cannot be read, is larger, or is not a regular file.
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, SourceError>;

    /// The first bytes of a regular file, at most `limit`; `None` if reading them is too costly for every
    /// file that a search finds. Such files are then recognized by their names only.
    ///
    /// # Errors
    /// If it cannot be read, or is not a regular file.
    fn head(&self, _path: &Path, _limit: usize) -> Result<Option<Vec<u8>>, SourceError> {
        Ok(None)
    }

    /// The target of a link, as written in it.
    fn link_target(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    /// The SHA-256 of a regular file of any size.
    ///
    /// # Errors
    /// If it cannot be read.
    fn digest(&self, path: &Path) -> Result<Digest, SourceError>;

    /// Reads the archive in a file; `None` if the file is not an archive.
    ///
    /// # Errors
    /// If it cannot be read. A truncated archive is not an error but a fault of the archive.
    fn read_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError>;

    /// As [`Self::read_archive`], if nothing of it is shown: only facts are kept of files that no rule
    /// reads as text.
    ///
    /// # Errors
    /// If it cannot be read.
    fn judge_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        self.read_archive(path)
    }

    /// Opens a folder; follows a link only if `follows_link`. Uses `threads` threads if it can.
    ///
    /// # Errors
    /// If it is not a folder, or cannot be opened.
    fn open_folder(
        &self,
        path: &Path,
        follows_link: bool,
        threads: Option<usize>,
    ) -> Result<Box<dyn Source + '_>, SourceError>;

    /// The threads for judging the unit at this path: at most as many as asked for, by default the number
    /// of processors.
    fn lend_threads(&self, _path: &Path, _threads: Option<usize>) -> Box<dyn Threads> {
        Box::new(NoThreads)
    }

    /// The bytes that `-` names.
    fn standard_input(&self) -> Box<dyn Read + '_>;

    /// Reads an archive from a stream.
    ///
    /// # Errors
    /// If reading fails.
    fn read_archive_stream(
        &self,
        container: Container,
        reader: &mut dyn Read,
        shown: &str,
    ) -> Result<Archive, SourceError> {
        read_stream(container, reader, shown, &mut InlineDigester::default())
    }

    /// The name of the folder that a path such as `.` or `..` leads to.
    fn resolved_name(&self, _path: &Path) -> Option<String> {
        None
    }

    /// The path without `.`, `..` and links; `None` if there is no such path, or nothing is there.
    fn resolved(&self, _path: &Path) -> Option<PathBuf> {
        None
    }
}

/// Files that forward every call to other files, under the same path or another. Whatever implements this
/// is [`Files`].
pub trait ForwardedFiles: Sync {
    /// The files that a path belongs to, and the path there.
    fn forward<'p>(&self, path: &'p Path) -> (&dyn Files, Cow<'p, Path>);

    /// The files for calls without a path.
    fn without_path(&self) -> &dyn Files;
}

impl<F: ForwardedFiles> Files for F {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        let (files, path) = self.forward(path);
        files.kind(&path)
    }

    fn is_there(&self, path: &Path) -> bool {
        let (files, path) = self.forward(path);
        files.is_there(&path)
    }

    fn list(&self, folder: &Path, each: &mut dyn FnMut(&[u8], EntryKind)) -> io::Result<()> {
        let (files, folder) = self.forward(folder);
        files.list(&folder, each)
    }

    fn path_of(&self, bytes: &[u8]) -> Option<PathBuf> {
        self.without_path().path_of(bytes)
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, SourceError> {
        let (files, path) = self.forward(path);
        files.read(&path, limit)
    }

    fn head(&self, path: &Path, limit: usize) -> Result<Option<Vec<u8>>, SourceError> {
        let (files, path) = self.forward(path);
        files.head(&path, limit)
    }

    fn link_target(&self, path: &Path) -> Option<PathBuf> {
        let (files, path) = self.forward(path);
        files.link_target(&path)
    }

    fn digest(&self, path: &Path) -> Result<Digest, SourceError> {
        let (files, path) = self.forward(path);
        files.digest(&path)
    }

    fn read_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        let (files, path) = self.forward(path);
        files.read_archive(&path)
    }

    fn judge_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        let (files, path) = self.forward(path);
        files.judge_archive(&path)
    }

    fn open_folder(
        &self,
        path: &Path,
        follows_link: bool,
        threads: Option<usize>,
    ) -> Result<Box<dyn Source + '_>, SourceError> {
        let (files, path) = self.forward(path);
        files.open_folder(&path, follows_link, threads)
    }

    fn lend_threads(&self, path: &Path, threads: Option<usize>) -> Box<dyn Threads> {
        let (files, path) = self.forward(path);
        files.lend_threads(&path, threads)
    }

    fn standard_input(&self) -> Box<dyn Read + '_> {
        self.without_path().standard_input()
    }

    fn read_archive_stream(
        &self,
        container: Container,
        reader: &mut dyn Read,
        shown: &str,
    ) -> Result<Archive, SourceError> {
        self.without_path()
            .read_archive_stream(container, reader, shown)
    }

    fn resolved_name(&self, path: &Path) -> Option<String> {
        let (files, path) = self.forward(path);
        files.resolved_name(&path)
    }

    fn resolved(&self, path: &Path) -> Option<PathBuf> {
        let (files, path) = self.forward(path);
        files.resolved(&path)
    }
}

/// The folder of a document, opened when one of its files is needed.
#[derive(Clone, Copy)]
pub struct FolderFiles<'a> {
    files: &'a dyn Files,
    folder: &'a Path,
}

impl<'a> FolderFiles<'a> {
    /// The folder of the document at `path`.
    pub fn of_document(files: &'a dyn Files, path: &'a Path) -> Self {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Self { files, folder }
    }

    /// The folder.
    pub fn folder(&self) -> &'a Path {
        self.folder
    }
}

impl FilesBeside for FolderFiles<'_> {
    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        let folder = self.files.open_folder(self.folder, true, Some(1))?;
        folder.content(path)
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        let folder = self.files.open_folder(self.folder, true, Some(1))?;
        folder.read(path, limit)
    }
}

/// The fault of a file in which unpackers may find another archive: its name promises another kind than its
/// bytes are, or promises nothing while a zip may be at its end. `tail` is its last bytes, at most
/// [`ZIP_TAIL`].
pub fn name_fault(path: &Path, container: Container, tail: &[u8]) -> Option<ArchiveFault> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let foreign = || foreign_ending(&name).map(|ending| format!(".{ending}"));
    let promised = match Container::of_file_name(&name) {
        Some(promised) if promised == container => return None,
        Some(promised) => Some(promised.ending().to_owned()),
        None => foreign(),
    };
    let ending = container.ending();
    let message = match promised {
        Some(promised) => {
            format!("its name says {promised}, but its content says {ending}; rename it")
        }
        None if container != Container::Zip && ends_like_zip(tail) => format!(
            "its content says {ending} and its end may be that of a zip, which its name does not rule out; \
             name it {ending}"
        ),
        None => return None,
    };
    Some(ArchiveFault {
        kind: FaultKind::Ambiguous,
        path: None,
        message,
    })
}

/// Reads the archive in these bytes; `None` if they are not an archive.
///
/// # Errors
/// If its reader fails. A truncated archive is not an error but a fault of the archive.
pub fn read_archive_bytes(path: &Path, bytes: &[u8]) -> Result<Option<Archive>, SourceError> {
    let Some(container) = sniff(&bytes[..bytes.len().min(HEAD)]) else {
        return Ok(None);
    };
    let size = bytes.len() as u64;
    let read = |digester: &mut dyn ContentDigester| {
        let read = match container {
            Container::Zip => read_zip(Cursor::new(bytes), size, digester),
            container => {
                let packed = PackedBytes::default();
                packed.add(size);
                read_tar(&mut Unpacked::new(container, bytes), packed, digester)
            }
        };
        read.map_err(|source| SourceError::Io {
            path: path.display().to_string(),
            source,
        })
    };
    let mut archive = read(&mut InlineDigester::default())?;
    if let Some(mut pieces) = PieceDigester::for_archive(&archive) {
        read(&mut pieces)?;
        archive.add_pieces(pieces.into_found());
    }
    if let Some(mut digests) = BagDigester::for_archive(&archive) {
        read(&mut digests)?;
        archive.add_digests(digests.into_found());
    }
    let tail = &bytes[bytes.len().saturating_sub(ZIP_TAIL)..];
    if let Some(fault) = name_fault(path, container, tail) {
        archive.add_fault(fault);
    }
    Ok(Some(archive))
}

/// Files in memory, by their whole paths, without links. A folder exists if it was added or has a file
/// below it.
#[derive(Debug, Clone, Default)]
pub struct MemoryFiles<'a> {
    entries: BTreeMap<String, Option<Cow<'a, [u8]>>>,
}

/// A path that cannot be held in memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// It is empty, absolute, or has a part that is empty, `.` or `..`, or a NUL.
    #[error("`{0}` is not a plain path: no part of it may be empty, `.` or `..`")]
    NotPlain(String),
    /// Something has this path already, or a file has the path of a folder.
    #[error("duplicate path `{0}`, or a file and a folder with this path")]
    Twice(String),
    /// There are more of them than the limit.
    #[error("there are more than {MAX_ENTRIES} files")]
    TooMany,
}

impl<'a> MemoryFiles<'a> {
    /// Adds a file.
    ///
    /// # Errors
    /// If its path is not plain, or taken.
    pub fn add_file(&mut self, path: &str, bytes: Cow<'a, [u8]>) -> Result<(), AddError> {
        self.add(path, Some(bytes))
    }

    /// Adds a folder, which may stay empty.
    ///
    /// # Errors
    /// If its path is not plain, or that of a file.
    pub fn add_folder(&mut self, path: &str) -> Result<(), AddError> {
        self.add(path.strip_suffix('/').unwrap_or(path), None)
    }

    fn add(&mut self, path: &str, bytes: Option<Cow<'a, [u8]>>) -> Result<(), AddError> {
        let is_odd = |part: &str| matches!(part, "" | "." | "..") || part.contains('\0');
        if path.split('/').any(is_odd) {
            return Err(AddError::NotPlain(path.escape_debug().to_string()));
        }
        let twice = || AddError::Twice(path.escape_debug().to_string());
        for (at, _) in path.match_indices('/') {
            let above = &path[..at];
            match self.entries.get(above) {
                Some(Some(_)) => return Err(twice()),
                Some(None) => {}
                None => {
                    self.entries.insert(above.to_owned(), None);
                }
            }
        }
        if self.entries.len() as u64 >= MAX_ENTRIES {
            return Err(AddError::TooMany);
        }
        match (self.entries.get(path), &bytes) {
            (None, _) => {
                self.entries.insert(path.to_owned(), bytes);
                Ok(())
            }
            (Some(None), None) => Ok(()),
            _ => Err(twice()),
        }
    }

    /// The names at the top.
    pub fn roots(&self) -> impl Iterator<Item = &str> {
        let names = self.entries.keys().map(String::as_str);
        names.filter(|name| !name.contains('/'))
    }

    fn find(&self, path: &Path) -> Option<Found<'_>> {
        let name = plain(path)?;
        if name.is_empty() {
            return Some(Found::Folder(name));
        }
        match self.entries.get(&name)? {
            Some(bytes) => Some(Found::File(bytes)),
            None => Some(Found::Folder(name)),
        }
    }

    fn file(&self, path: &Path) -> Result<&[u8], SourceError> {
        let shown = || path.display().to_string();
        match self.find(path) {
            Some(Found::File(bytes)) => Ok(bytes),
            Some(Found::Folder(_)) => Err(SourceError::NotAFile {
                path: shown(),
                kind: EntryKind::Directory,
            }),
            None => Err(SourceError::NotFound { path: shown() }),
        }
    }

    /// Everything below a folder, by path relative to it.
    fn below(&self, folder: &str) -> impl Iterator<Item = (&str, &Option<Cow<'a, [u8]>>)> {
        let start = match folder {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        let length = start.len();
        let found = self.entries.range(start.clone()..);
        let found = found.take_while(move |(name, _)| name.starts_with(&start));
        found.map(move |(name, bytes)| (&name[length..], bytes))
    }
}

enum Found<'a> {
    File(&'a [u8]),
    Folder(String),
}

/// A path as this map writes it; `None` if nothing can be there.
fn plain(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Prefix(_) | Component::RootDir => return None,
        }
    }
    Some(parts.join("/"))
}

impl Files for MemoryFiles<'_> {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        match self.find(path) {
            Some(Found::File(_)) => Ok(EntryKind::File),
            Some(Found::Folder(_)) => Ok(EntryKind::Directory),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn is_there(&self, path: &Path) -> bool {
        self.find(path).is_some()
    }

    fn list(&self, folder: &Path, each: &mut dyn FnMut(&[u8], EntryKind)) -> io::Result<()> {
        let Some(Found::Folder(name)) = self.find(folder) else {
            return Err(io::ErrorKind::NotADirectory.into());
        };
        for (name, bytes) in self.below(&name) {
            if !name.contains('/') {
                each(name.as_bytes(), kind_of(bytes.is_some()));
            }
        }
        Ok(())
    }

    fn resolved(&self, path: &Path) -> Option<PathBuf> {
        plain(path).map(PathBuf::from)
    }

    fn path_of(&self, bytes: &[u8]) -> Option<PathBuf> {
        str::from_utf8(bytes).ok().map(PathBuf::from)
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, SourceError> {
        let bytes = self.file(path)?;
        if bytes.len() as u64 > limit {
            return Err(SourceError::TooLarge {
                path: path.display().to_string(),
                limit,
            });
        }
        Ok(bytes.to_vec())
    }

    fn head(&self, path: &Path, limit: usize) -> Result<Option<Vec<u8>>, SourceError> {
        let bytes = self.file(path)?;
        Ok(Some(bytes[..bytes.len().min(limit)].to_vec()))
    }

    fn digest(&self, path: &Path) -> Result<Digest, SourceError> {
        self.file(path).map(Digest::of)
    }

    fn read_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        read_archive_bytes(path, self.file(path)?)
    }

    fn open_folder(
        &self,
        path: &Path,
        _follows_link: bool,
        _threads: Option<usize>,
    ) -> Result<Box<dyn Source + '_>, SourceError> {
        let shown = path.display().to_string();
        match self.find(path) {
            Some(Found::Folder(folder)) => Ok(Box::new(MemoryFolder {
                files: self,
                folder,
            })),
            Some(Found::File(_)) => Err(SourceError::NotAFolder {
                path: shown,
                kind: EntryKind::File,
            }),
            None => Err(SourceError::NotFound { path: shown }),
        }
    }

    fn standard_input(&self) -> Box<dyn Read + '_> {
        Box::new(io::empty())
    }
}

fn kind_of(is_file: bool) -> EntryKind {
    if is_file {
        EntryKind::File
    } else {
        EntryKind::Directory
    }
}

/// One folder of files in memory.
struct MemoryFolder<'a> {
    files: &'a MemoryFiles<'a>,
    folder: String,
}

impl MemoryFolder<'_> {
    fn bytes(&self, path: &SafePath) -> Result<&[u8], SourceError> {
        let name = match self.folder.as_str() {
            "" => path.to_string(),
            folder => format!("{folder}/{path}"),
        };
        match self.files.entries.get(&name) {
            Some(Some(bytes)) => Ok(bytes),
            Some(None) => Err(SourceError::NotAFile {
                path: path.to_string(),
                kind: EntryKind::Directory,
            }),
            None => Err(SourceError::NotFound {
                path: path.to_string(),
            }),
        }
    }
}

impl Source for MemoryFolder<'_> {
    fn entries(&self) -> Result<Vec<Entry>, SourceError> {
        let entry = |(name, bytes): (&str, &Option<Cow<'_, [u8]>>)| Entry {
            name: EntryName::from_bytes(name.as_bytes()),
            kind: kind_of(bytes.is_some()),
        };
        let mut entries: Vec<_> = self.files.below(&self.folder).map(entry).collect();
        entries.sort_unstable_by(|a, b| a.name.shown().cmp(b.name.shown()));
        Ok(entries)
    }

    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
        Ok(Box::new(self.bytes(path)?))
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        self.view(path, limit).map(Cow::into_owned)
    }

    fn view(&self, path: &SafePath, limit: u64) -> Result<Cow<'_, [u8]>, SourceError> {
        let bytes = self.bytes(path)?;
        if bytes.len() as u64 > limit {
            return Err(SourceError::TooLarge {
                path: path.to_string(),
                limit,
            });
        }
        Ok(Cow::Borrowed(bytes))
    }

    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        let bytes = self.bytes(path)?;
        ContentFact::read(bytes).map_err(|source| SourceError::Io {
            path: path.to_string(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> MemoryFiles<'static> {
        let mut files = MemoryFiles::default();
        for name in names {
            let added = files.add_file(name, Cow::Owned(name.as_bytes().to_vec()));
            added.unwrap();
        }
        files
    }

    #[test]
    fn memory_files_list_only_the_named_folder() {
        let files = files(&["a/b/c", "a/d", "a-b/x", "z"]);
        let list = |folder: &str| {
            let mut names = Vec::new();
            let each = &mut |name: &[u8], kind| {
                names.push((String::from_utf8_lossy(name).into_owned(), kind));
            };
            files.list(Path::new(folder), each).unwrap();
            names
        };
        let directory = |name: &str| (name.to_owned(), EntryKind::Directory);
        let file = |name: &str| (name.to_owned(), EntryKind::File);
        assert_eq!(list("."), [directory("a"), directory("a-b"), file("z")]);
        assert_eq!(list("a/"), [directory("b"), file("d")]);
        assert_eq!(list("a/../a/./b"), [file("c")]);
        assert!(files.list(Path::new("z"), &mut |_, _| {}).is_err());
        assert!(!files.is_there(Path::new("/a")));
        assert!(!files.is_there(Path::new("..")));
        let folder = files.open_folder(Path::new("a"), false, None).unwrap();
        let names: Vec<_> = folder.entries().unwrap();
        let names: Vec<_> = names.iter().map(|entry| entry.name.shown()).collect();
        assert_eq!(names, ["b", "b/c", "d"]);
        let path = SafePath::parse("b/c").unwrap();
        assert_eq!(folder.read(&path, 5).unwrap(), b"a/b/c");
        assert!(folder.read(&path, 4).is_err());
    }

    #[test]
    fn memory_files_refuse_climbing_and_duplicate_paths() {
        let mut files = files(&["a/b", "c"]);
        for path in ["", "/a", "a//b", "a/./b", "../a", "a/..", "x/", "x\0"] {
            let added = files.add_file(path, Cow::Borrowed(b""));
            assert!(matches!(added, Err(AddError::NotPlain(_))), "{path:?}");
        }
        for path in ["a", "a/b", "c", "c/d", "a/b/c"] {
            let added = files.add_file(path, Cow::Borrowed(b""));
            assert!(matches!(added, Err(AddError::Twice(_))), "{path:?}");
        }
        assert_eq!(files.add_folder("a/"), Ok(()));
        assert_eq!(files.add_folder("empty/folder/"), Ok(()));
        assert!(files.add_folder("c").is_err());
    }
}
