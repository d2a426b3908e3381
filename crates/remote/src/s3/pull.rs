//! Pulls a run: brought into a folder beside its place, verified there, then renamed.

use std::path::{Path, PathBuf};

use runseal_core::digest::Digest;
use runseal_core::verify::Level;
use runseal_survey::signing::path_beside;

use super::place::S3Place;
use crate::beside::WrittenFiles;
use crate::error::RemoteError;
use crate::landing::land;
use crate::place::RunPlace;
use crate::verified::verify_arrived;

/// What was pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// The digest of its manifest.
    pub digest: Digest,
    /// Where it came from, by digest.
    pub reference: String,
    /// Where it is now.
    pub path: PathBuf,
    /// The signatures that were written beside it; or why nobody can tell whether there are any.
    pub attached: Result<Vec<PathBuf>, String>,
}

/// Pulls the run at `address` into a new folder at `target`, or where nobody says, at the last part
/// of its name.
///
/// # Errors
/// When it cannot be read or written, does not verify at `level`, or something is in the way.
pub fn pull(address: &str, target: Option<&Path>, level: Level) -> Result<Pulled, RemoteError> {
    let place = S3Place::open(address)?;
    let run = place.get_run()?;
    let target = target.map_or_else(|| PathBuf::from(place.run_name()), Path::to_owned);
    let mut written = WrittenFiles::default();
    let mut untold = None;
    land(&run, &target, |staged| {
        verify_arrived(staged, &target, None, level).map_err(|why| RemoteError::NotValid {
            path: target.display().to_string(),
            why,
        })?;
        match place.read_beside() {
            Ok(signatures) => {
                for (form, bytes) in signatures {
                    written.write(path_beside(&target, form), &bytes)?;
                }
            }
            Err(error @ RemoteError::Forbidden { .. }) => untold = Some(error.to_string()),
            Err(error) => return Err(error),
        }
        Ok(())
    })?;
    let files = written.keep();
    Ok(Pulled {
        digest: run.digest,
        reference: place.pinned(run.digest),
        path: target,
        attached: untold.map_or(Ok(files), Err),
    })
}
