//! Exports a pack: stages it next to its target, verifies it strictly, and moves it into place.

use std::path::{Path, PathBuf};

use runseal_core::formats::pack::{PackFiles, PackView, verify_pack};
use runseal_core::verify::Level;

use super::error::HarnessError;
use super::plan::first_finding;
use runseal_fs::atomic::WriteError;
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::models::{ModelSession, search_staged};
use runseal_fs::staging::{Place, Rights, Staging, StagingError, check_place};
use runseal_redact::{KeptSeed, SealingSeed};

/// Writes a pack of the given files, and next to it the new seed if there is one; returns the
/// seed's path. A pack that does not verify is not published.
pub(super) fn export_pack(
    target: &Path,
    files: &[(&str, Vec<u8>)],
    redactable: Option<&SealingSeed>,
    models: Option<&dyn ModelSession>,
) -> Result<Option<PathBuf>, HarnessError> {
    check_target(target)?;
    let staging = Staging::begin_beside(target).map_err(StagingError::from)?;
    for (name, bytes) in files {
        staging.put(name, bytes).map_err(StagingError::from)?;
    }
    let mut kept = redactable
        .map(|redactable| redactable.keep_beside(target))
        .transpose()
        .map_err(StagingError::from)?;
    let how = (Place::FreeOrEmptyFolder, Rights::AsUmask);
    staging.publish(target, how, |staged| {
        // If the pack fails, its seed is deleted first, then the folder made for both.
        let searched = |()| match models {
            Some(session) => Ok(search_staged(session, staged)?),
            None => Ok(()),
        };
        let judged = verify_staged(staged).and_then(searched);
        judged.inspect_err(|_| kept = None)
    })?;
    Ok(kept.and_then(KeptSeed::stays))
}

/// Verifies the pack at the strictest level before it is published.
fn verify_staged(folder: &Path) -> Result<(), HarnessError> {
    let unreadable = |error| HarnessError::Evidence(format!("the pack cannot be read: {error}"));
    let source = DirectorySource::open(folder, RootLink::Refuse).map_err(unreadable)?;
    let files = PackFiles::read(&source).map_err(unreadable)?;
    let view = PackView::new("pack", &files, Level::Form);
    let report = verify_pack(&view);
    if report.is_valid() {
        Ok(())
    } else {
        Err(HarnessError::Evidence(format!(
            "the pack does not verify: {}",
            first_finding(&report)
        )))
    }
}

/// Fails if the target exists and is not an empty folder.
pub(super) fn check_target(target: &Path) -> Result<(), HarnessError> {
    Ok(check_place(target, Place::FreeOrEmptyFolder)?)
}

impl From<StagingError> for HarnessError {
    fn from(error: StagingError) -> Self {
        match error {
            StagingError::Exists(target) => Self::TargetExists(target),
            StagingError::Write(WriteError { path, source }) => {
                Self::Internal(format!("`{}` cannot be written: {source}", path.display()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use runseal_core::formats::redacted::commit::Seed;

    use super::*;

    #[test]
    fn pack_that_does_not_verify_is_not_published() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out/pack");
        let run = b"{\"run_id\":\"r\"}\n".to_vec();
        let seed = SealingSeed {
            seed: Seed::from_bytes([1; 32]),
            is_new: true,
        };
        let refused = export_pack(&target, &[("run.json", run)], Some(&seed), None);
        assert!(matches!(refused, Err(HarnessError::Evidence(_))));
        // The unused seed is deleted too.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
