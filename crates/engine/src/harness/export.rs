//! Exporting a pack: staged beside its target, verified strictly, put into its place.

use std::path::Path;

use runseal_core::formats::pack::{PackFiles, PackView, verify_pack};
use runseal_core::verify::Level;

use super::error::HarnessError;
use super::plan::first_finding;
use crate::atomic::WriteError;
use crate::directory::{DirectorySource, RootLink};
use crate::staging::{Place, Rights, Staging, StagingError, check_place};

/// Writes a pack of the given files. A pack that does not verify is not published.
pub(super) fn export_pack(target: &Path, files: &[(&str, Vec<u8>)]) -> Result<(), HarnessError> {
    check_target(target)?;
    let mut staging = Staging::begin_beside(target).map_err(StagingError::from)?;
    for (name, bytes) in files {
        staging.put(name, bytes).map_err(StagingError::from)?;
    }
    let how = (Place::FreeOrEmptyFolder, Rights::AsUmask);
    staging.publish(target, how, verify_staged)
}

/// Judges the pack that is about to be published as strictly as anybody may.
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

/// Refuses a target that is there and not an empty folder.
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
    use super::*;

    #[test]
    fn pack_that_does_not_verify_is_not_published() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out/pack");
        let run = b"{\"run_id\":\"r\"}\n".to_vec();
        let refused = export_pack(&target, &[("run.json", run)]);
        assert!(matches!(refused, Err(HarnessError::Evidence(_))));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
