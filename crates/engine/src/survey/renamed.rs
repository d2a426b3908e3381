//! Files of which one folder has another name.
//!
//! What is being made has a name that a survey passes over as unfinished, and what is judged for
//! others must not depend on where it lies here. Such a folder is judged under the name that counts.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use runseal_archive::{Archive, Container};
use runseal_core::digest::Digest;
use runseal_core::source::{EntryKind, Source, SourceError};
use runseal_survey::Files;

/// Files with the folder at `real` seen at `shown`. Where `shown` is empty, every relative path is
/// one in that folder.
#[derive(Clone, Copy)]
pub struct RenamedFiles<'a> {
    /// The files themselves.
    pub files: &'a dyn Files,
    /// The name that is seen.
    pub shown: &'a Path,
    /// Where the folder is.
    pub real: &'a Path,
}

impl RenamedFiles<'_> {
    fn real(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(self.shown) {
            Ok(rest) if rest.as_os_str().is_empty() => self.real.to_owned(),
            Ok(rest) => self.real.join(rest),
            Err(_) => path.to_owned(),
        }
    }
}

impl Files for RenamedFiles<'_> {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        self.files.kind(&self.real(path))
    }

    fn is_there(&self, path: &Path) -> bool {
        self.files.is_there(&self.real(path))
    }

    fn list(&self, folder: &Path, each: &mut dyn FnMut(&[u8], EntryKind)) -> io::Result<()> {
        self.files.list(&self.real(folder), each)
    }

    fn path_of(&self, bytes: &[u8]) -> Option<PathBuf> {
        self.files.path_of(bytes)
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, SourceError> {
        self.files.read(&self.real(path), limit)
    }

    fn head(&self, path: &Path, limit: usize) -> Result<Option<Vec<u8>>, SourceError> {
        self.files.head(&self.real(path), limit)
    }

    fn link_target(&self, path: &Path) -> Option<PathBuf> {
        self.files.link_target(&self.real(path))
    }

    fn digest(&self, path: &Path) -> Result<Digest, SourceError> {
        self.files.digest(&self.real(path))
    }

    fn read_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        self.files.read_archive(&self.real(path))
    }

    fn judge_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        self.files.judge_archive(&self.real(path))
    }

    fn open_folder(
        &self,
        path: &Path,
        follows_link: bool,
        threads: Option<usize>,
    ) -> Result<Box<dyn Source + '_>, SourceError> {
        self.files
            .open_folder(&self.real(path), follows_link, threads)
    }

    fn standard_input(&self) -> Box<dyn Read + '_> {
        self.files.standard_input()
    }

    fn read_archive_stream(
        &self,
        container: Container,
        reader: &mut dyn Read,
        shown: &str,
    ) -> Result<Archive, SourceError> {
        self.files.read_archive_stream(container, reader, shown)
    }

    fn resolved_name(&self, path: &Path) -> Option<String> {
        self.files.resolved_name(&self.real(path))
    }
}
