//! Checks that what is pushed or pulled is one valid unit.

use std::path::{Path, PathBuf};

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::verify::{Level, Outcome, UnitResult, Verdict};
use runseal_fs::survey::{LocalFiles, RenamedFiles, Tally, VerifyOptions, survey_files};
use thiserror::Error;

/// Why something is not pushed, or not kept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Objection {
    /// A rule is broken.
    #[error("does not verify: a rule is broken")]
    Broken,
    /// It could not be verified.
    #[error("does not verify: {0}")]
    Unchecked(String),
    /// There are several units, or none.
    #[error("contains {0} units instead of one")]
    Several(usize),
}

impl Diagnose for Objection {
    fn diagnosis(&self) -> Diagnosis {
        let outcome = match self {
            Self::Unchecked(_) => Outcome::Unreadable,
            Self::Broken | Self::Several(_) => Outcome::Invalid,
        };
        Diagnosis::of(self, outcome, "NOT_VALID")
            .message(format!("it {self}, so it was not pushed"))
            .located(Location::Named)
            .hint(self.hint())
    }
}

impl Objection {
    /// Returns advice on what to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Broken | Self::Unchecked(_) => "`runseal verify` says what is wrong with it",
            Self::Several(_) => "push each of them separately",
        }
    }
}

/// Checks that a survey found exactly one unit, and that it is valid.
///
/// # Errors
/// If not.
pub fn check_survey(results: &[UnitResult]) -> Result<(), Objection> {
    match results {
        [only] if only.is_valid() => Ok(()),
        [only] => Err(match &only.verdict {
            Verdict::NotChecked(why) => Objection::Unchecked(why.to_string()),
            _ => Objection::Broken,
        }),
        several => Err(Objection::Several(several.len())),
    }
}

/// Verifies what was received at `staged` and will be moved to `target`; with `file`, only that file
/// of the folder. Only the last name of `target` matters, not the folders above it.
///
/// # Errors
/// If it is not valid at `level`.
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
