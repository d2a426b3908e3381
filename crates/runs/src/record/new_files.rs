//! Keeps what a replay left, so that it can be looked at.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Mutex;

use runseal_sandbox::Changed;

use super::error::RecordError;
use super::rules::Version;
use super::run::CommandRun;
use super::secrets::HiddenSecrets;
use super::snapshot::{LeftAt, STREAMS};
use runseal_fs::atomic::WriteError;
use runseal_fs::staging::{Place, Rights, Staging, StagingError, check_place};

/// A folder for what a replay leaves. It gets its name only at the end.
#[derive(Debug)]
pub struct NewFiles<'a> {
    target: &'a Path,
    staged: Mutex<Option<Staging>>,
}

impl<'a> NewFiles<'a> {
    /// A folder that will be `target`.
    ///
    /// # Errors
    /// If something is there.
    pub fn at(target: &'a Path) -> Result<Self, StagingError> {
        check_place(target, Place::Free)?;
        Ok(Self {
            target,
            staged: Mutex::new(None),
        })
    }

    /// Takes what `run` left, unless a run was taken before: files below `artifacts`, and what was printed below `logs`. A
    /// file that has the value of a secret in it is left out, and named.
    pub(crate) fn take(
        &self,
        run: &CommandRun,
        hidden: &HiddenSecrets,
    ) -> Result<Vec<String>, RecordError> {
        let Ok(mut staged) = self.staged.lock() else {
            return Ok(Vec::new());
        };
        if staged.is_some() {
            return Ok(Vec::new());
        }
        let fail = |error: WriteError| super::error::work_error(io::Error::other(error));
        let staging = Staging::begin_beside(self.target).map_err(fail)?;
        let changes = run.recorded.layer.iter().flat_map(|layer| layer.changes());
        let files = changes.filter(|change| matches!(change.now, Changed::File { .. }));
        let files = files.filter_map(|file| Some(format!("artifacts/{}", file.path.to_str()?)));
        let mut left_out = Vec::new();
        for place in STREAMS.map(str::to_owned).into_iter().chain(files) {
            let left = LeftAt { run, place: &place };
            let open = || left.open().map_err(super::error::work_error);
            if hidden.is_in(&mut open()?)? {
                left_out.push(place);
                continue;
            }
            let (mut copy, at) = staging.create(&place).map_err(fail)?;
            let copied = io::copy(&mut open()? as &mut dyn Read, &mut copy);
            copied.map_err(|error| fail(WriteError::at(&at)(error)))?;
        }
        *staged = Some(staging);
        Ok(left_out)
    }

    /// Adds a file and publishes the folder, if a run was taken; says whether one was.
    ///
    /// # Errors
    /// If it cannot be written, or something has its name by now.
    pub fn publish(self, name: &str, bytes: &[u8]) -> Result<bool, StagingError> {
        let staged = self.staged.into_inner().ok().flatten();
        let Some(staging) = staged else {
            return Ok(false);
        };
        staging.put(name, bytes)?;
        staging.publish(self.target, (Place::Free, Rights::AsUmask), |_| {
            Ok::<_, StagingError>(true)
        })
    }
}
