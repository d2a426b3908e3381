//! Files that are written beside something that is not there yet.

use std::fs;
use std::path::PathBuf;

use runseal_core::source::SourceError;
use runseal_fs::atomic::{Readers, WriteError, folder_of, write_new};
use runseal_fs::input::read_file;
use runseal_fs::staging::StagingError;

/// Files that were written; gone when dropped.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles(Vec<PathBuf>);

impl WrittenFiles {
    /// Writes one, unless what an interrupted pull left is the same. Nothing else is replaced.
    pub(crate) fn write(&mut self, place: PathBuf, bytes: &[u8]) -> Result<(), StagingError> {
        match read_file(&place, bytes.len() as u64) {
            Ok(there) if there == bytes => return Ok(()),
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

    /// Lets them stay.
    pub(crate) fn keep(mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for WrittenFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            // What stays is beside nothing and in nobody's way.
            let _ = fs::remove_file(path);
        }
    }
}
