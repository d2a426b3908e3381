//! What is pushed, and what was pulled, is one thing that holds.

use std::path::{Path, PathBuf};

use runseal_core::verify::{Checked, Level, Verdict};
use runseal_fs::survey::{LocalFiles, RenamedFiles, Tally, VerifyOptions, survey_files};
use thiserror::Error;

/// Why something is not pushed, or not kept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Objection {
    /// A rule is broken.
    #[error("does not verify: its rules do not hold")]
    Broken,
    /// It cannot be told whether it holds.
    #[error("does not verify: {0}")]
    Unchecked(String),
    /// There are several things, each of which would need a name.
    #[error("holds {0} things, and one goes under a name")]
    Several(usize),
}

impl Objection {
    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Broken | Self::Unchecked(_) => "`runseal verify` says what is wrong with it",
            Self::Several(_) => "push each of them by itself",
        }
    }
}

/// One thing must have been found, and it must hold.
///
/// # Errors
/// When it is not so.
pub fn check_survey(results: &[Checked]) -> Result<(), Objection> {
    match results {
        [only] if only.is_valid() => Ok(()),
        [only] => Err(match &only.verdict {
            Verdict::NotChecked(why) => Objection::Unchecked(why.to_string()),
            _ => Objection::Broken,
        }),
        several => Err(Objection::Several(several.len())),
    }
}

/// Verifies what arrived at `staged` and is to stand at `target`; of a folder that was made for a
/// single file, that file. The way to `target` says nothing about it, so only its last name counts.
///
/// # Errors
/// When it does not hold at `level`.
pub(crate) fn verify_arrived(
    staged: &Path,
    target: &Path,
    file: Option<&str>,
    level: Level,
) -> Result<(), Objection> {
    let name = target.file_name().map_or(Path::new("pulled"), Path::new);
    let path: PathBuf = match file {
        None => name.to_owned(),
        Some(file) => name.join(file),
    };
    let files = RenamedFiles {
        files: &LocalFiles,
        shown: name,
        real: staged,
    };
    let options = VerifyOptions {
        level,
        threads: None,
    };
    let survey = survey_files(&files, &[path], options, &Tally::default());
    check_survey(survey.results())
}
