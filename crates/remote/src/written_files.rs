//! Files that are written before what they belong to.

use std::fs;
use std::path::PathBuf;

use runseal_core::source::SourceError;
use runseal_fs::atomic::{Readers, WriteError, folder_of, write_new};
use runseal_fs::input::read_file;
use runseal_fs::staging::StagingError;

/// Files that were written; they are deleted on drop unless kept.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles(Vec<PathBuf>);

impl WrittenFiles {
    /// Writes a file, unless an interrupted pull left the same one. Any other existing file is an error.
    pub(crate) fn write(&mut self, place: PathBuf, bytes: &[u8]) -> Result<(), StagingError> {
        match read_file(&place, bytes.len() as u64) {
            Ok(existing) if existing == bytes => return Ok(()),
            Err(SourceError::NotFound { .. }) => {}
            _ => return Err(StagingError::Exists(place)),
        }
        fs::create_dir_all(folder_of(&place)).map_err(|source| WriteError {
            path: place.clone(),
            source,
        })?;
        write_new(&place, bytes, Readers::AsUmask)?;
        self.0.push(place);
        Ok(())
    }

    /// Keeps the files and returns their paths.
    pub(crate) fn keep(mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for WrittenFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            // A file that cannot be deleted does no harm.
            let _ = fs::remove_file(path);
        }
    }
}
