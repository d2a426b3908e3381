//! Pulls a run: fetches it next to its target, verifies it there, then renames it.

use std::path::{Path, PathBuf};

use runseal_core::digest::Digest;
use runseal_core::verify::Level;
use runseal_survey::signing::path_beside;

use super::place::S3Place;
use crate::error::RemoteError;
use crate::landing::land;
use crate::place::RunPlace;
use crate::verified::verify_arrived;
use crate::written_files::WrittenFiles;

/// The result of a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// The digest of its manifest.
    pub digest: Digest,
    /// Its address, pinned to its digest.
    pub reference: String,
    /// Its local path.
    pub path: PathBuf,
    /// The signature files that were written, or why the signatures cannot be determined.
    pub attached: Result<Vec<PathBuf>, String>,
}

/// Pulls the run at `address` into a new folder at `target`, by default named after the last part of
/// the address.
///
/// # Errors
/// If it cannot be read or written, does not verify at `level`, or the target exists.
pub fn pull(address: &str, target: Option<&Path>, level: Level) -> Result<Pulled, RemoteError> {
    let place = S3Place::open(address)?;
    let run = place.get_run()?;
    let target = target.map_or_else(|| PathBuf::from(place.run_name()), Path::to_owned);
    let mut written = WrittenFiles::default();
    let mut unknown = None;
    land(&run, &target, |staged| {
        verify_arrived(staged, &target, None, level).map_err(|why| RemoteError::NotValid {
            path: target.display().to_string(),
            why,
        })?;
        match place.read_signatures() {
            Ok(signatures) => {
                for (form, bytes) in signatures {
                    written.write(path_beside(&target, form), &bytes)?;
                }
            }
            Err(error @ RemoteError::Forbidden { .. }) => unknown = Some(error.to_string()),
            Err(error) => return Err(error),
        }
        Ok(())
    })?;
    let files = written.keep();
    Ok(Pulled {
        digest: run.digest,
        reference: place.pinned(run.digest),
        path: target,
        attached: unknown.map_or(Ok(files), Err),
    })
}
