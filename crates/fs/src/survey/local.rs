//! The local files.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use runseal_archive::{Archive, Container, fill};
use runseal_core::digest::{Digest, Hasher};
use runseal_core::source::{EntryKind, Source, SourceError, Threads};
use runseal_survey::Files;

use crate::archive::{judge_archive_file, read_archive_file, read_archive_stream};
use crate::directory::{DirectorySource, RootLink, kind_of};
use crate::input::{open_regular, read_file};
use crate::threads::UnitThreads;

/// The local files, and standard input.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalFiles;

/// The same place by a path without `..`, for who keeps or sends what is there: how somebody came to a
/// folder says nothing about it. Its last name is not followed where it is a link.
pub fn without_climbing(path: &Path) -> PathBuf {
    if !path.components().any(|part| part == Component::ParentDir) {
        return path.to_owned();
    }
    let found = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => parent.canonicalize().map(|parent| parent.join(name)),
        _ => path.canonicalize(),
    };
    // What is missing is reported by the path that was given.
    found.unwrap_or_else(|_| path.to_owned())
}

impl Files for LocalFiles {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        Ok(kind_of(&fs::metadata(path)?))
    }

    fn is_there(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok()
    }

    fn list(&self, folder: &Path, each: &mut dyn FnMut(&[u8], EntryKind)) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let kind = match (kind.is_dir(), kind.is_file(), kind.is_symlink()) {
                (true, ..) => EntryKind::Directory,
                (_, true, _) => EntryKind::File,
                (_, _, true) => EntryKind::Symlink,
                _ => EntryKind::Special,
            };
            each(entry.file_name().as_bytes(), kind);
        }
        Ok(())
    }

    fn path_of(&self, bytes: &[u8]) -> Option<PathBuf> {
        Some(PathBuf::from(OsStr::from_bytes(bytes)))
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, SourceError> {
        read_file(path, limit)
    }

    fn head(&self, path: &Path, limit: usize) -> Result<Option<Vec<u8>>, SourceError> {
        let (mut file, size) = open_regular(path)?;
        let mut head = vec![0; limit.min(usize::try_from(size).unwrap_or(limit))];
        let filled = fill(&mut file, &mut head).map_err(|source| SourceError::Io {
            path: path.display().to_string(),
            source,
        })?;
        head.truncate(filled);
        Ok(Some(head))
    }

    fn link_target(&self, path: &Path) -> Option<PathBuf> {
        fs::read_link(path).ok()
    }

    fn digest(&self, path: &Path) -> Result<Digest, SourceError> {
        let (mut file, _) = open_regular(path)?;
        let mut hasher = Hasher::new();
        io::copy(&mut file, &mut hasher).map_err(|source| SourceError::Io {
            path: path.display().to_string(),
            source,
        })?;
        Ok(hasher.finish())
    }

    fn read_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        read_archive_file(path)
    }

    fn judge_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        judge_archive_file(path)
    }

    fn open_folder(
        &self,
        path: &Path,
        follows_link: bool,
        threads: Option<usize>,
    ) -> Result<Box<dyn Source + '_>, SourceError> {
        let root_link = match follows_link {
            true => RootLink::Follow,
            false => RootLink::Refuse,
        };
        let source = DirectorySource::open(path, root_link)?;
        Ok(Box::new(source.with_threads(threads)))
    }

    fn lend_threads(&self, _path: &Path, threads: Option<usize>) -> Box<dyn Threads> {
        Box::new(UnitThreads::new(threads))
    }

    fn standard_input(&self) -> Box<dyn Read + '_> {
        Box::new(io::stdin().lock())
    }

    fn read_archive_stream(
        &self,
        container: Container,
        reader: &mut dyn Read,
        shown: &str,
    ) -> Result<Archive, SourceError> {
        read_archive_stream(container, reader, shown)
    }

    fn resolved_name(&self, path: &Path) -> Option<String> {
        let whole = path.canonicalize().ok()?;
        let name = whole.file_name()?;
        Some(name.to_string_lossy().into_owned())
    }

    fn resolved(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }
}
