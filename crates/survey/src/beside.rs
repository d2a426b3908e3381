//! Files that lie beside a document and belong to it.

use std::path::Path;

use runseal_core::formats::definition::FilesBeside;
use runseal_core::path::SafePath;
use runseal_core::source::{ContentFact, SourceError};

use super::Files;

/// The folder that a document lies in, opened when a file of it is asked for.
#[derive(Clone, Copy)]
pub(crate) struct FolderFiles<'a> {
    files: &'a dyn Files,
    folder: &'a Path,
}

impl<'a> FolderFiles<'a> {
    /// The folder of the document at `path`.
    pub(crate) fn of_document(files: &'a dyn Files, path: &'a Path) -> Self {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Self { files, folder }
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &'a Path {
        self.folder
    }
}

impl FilesBeside for FolderFiles<'_> {
    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        let folder = self.files.open_folder(self.folder, true, None)?;
        folder.content(path)
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        let folder = self.files.open_folder(self.folder, true, None)?;
        folder.read(path, limit)
    }
}
