//! The local files, with one folder shown under its future name.
//!
//! A survey skips a staging folder by its name. Here it is judged under the name that it will get,
//! and findings name that place.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use runseal_archive::Archive;
use runseal_core::digest::Digest;
use runseal_core::source::{EntryKind, Source, SourceError};
use runseal_engine::survey::LocalFiles;
use runseal_survey::Files;

/// A folder at `real` that appears at `shown`.
#[derive(Debug, Clone, Copy)]
pub(super) struct StagedFiles<'a> {
    pub(super) shown: &'a Path,
    pub(super) real: &'a Path,
}

impl StagedFiles<'_> {
    fn real(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(self.shown) {
            Ok(rest) if rest.as_os_str().is_empty() => self.real.to_owned(),
            Ok(rest) => self.real.join(rest),
            Err(_) => path.to_owned(),
        }
    }
}

impl Files for StagedFiles<'_> {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        LocalFiles.kind(&self.real(path))
    }

    fn is_there(&self, path: &Path) -> bool {
        LocalFiles.is_there(&self.real(path))
    }

    fn list(&self, folder: &Path, each: &mut dyn FnMut(&[u8], EntryKind)) -> io::Result<()> {
        LocalFiles.list(&self.real(folder), each)
    }

    fn path_of(&self, bytes: &[u8]) -> Option<PathBuf> {
        LocalFiles.path_of(bytes)
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, SourceError> {
        LocalFiles.read(&self.real(path), limit)
    }

    fn digest(&self, path: &Path) -> Result<Digest, SourceError> {
        LocalFiles.digest(&self.real(path))
    }

    fn read_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        LocalFiles.read_archive(&self.real(path))
    }

    fn judge_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        LocalFiles.judge_archive(&self.real(path))
    }

    fn open_folder(
        &self,
        path: &Path,
        follows_link: bool,
        threads: Option<usize>,
    ) -> Result<Box<dyn Source + '_>, SourceError> {
        LocalFiles.open_folder(&self.real(path), follows_link, threads)
    }

    fn standard_input(&self) -> Box<dyn Read + '_> {
        Box::new(io::empty())
    }
}
