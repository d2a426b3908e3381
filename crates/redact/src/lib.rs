//! Redactable seals and redacted copies: the effects. `runseal_core::formats::redacted` defines
//! what a commitment is and when a copy is valid; here seeds are made and stored, places are
//! selected, and copies are written.
//!
//! Start reading with [`redact_bundle`] in `copy`, from a selection (`select`) to a copy; `hunt` looks for what a copy must not
//! repeat, and `sealing` keeps the seed that opens it.

mod copy;
mod decoding;
mod digits;
mod disclose;
mod hunt;
mod matching;
mod original;
mod profile;
mod repeated;
mod sealing;
mod select;
mod spellings;

use std::io;
use std::path::PathBuf;

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::source::SourceError;
use runseal_core::verify::Outcome;
use thiserror::Error;

use runseal_fs::atomic::WriteError;
use runseal_fs::staging::StagingError;

pub use copy::{
    CopiedFile, CopyContents, RedactionPlan, plan_redaction, redact_bundle, render_copy,
};
pub use disclose::{disclose_values, unredact_copy};
pub use hunt::is_derived_reason;
pub use original::{Original, is_redactable};
pub use profile::{Profile, ProfileError};
pub use sealing::holds_seed;
pub use sealing::{
    Committing, KeptSeed, SealingSeed, keep_seed, new_seed, read_seed, seed_beside, write_private,
};
pub use select::{Drop, DropKind};

/// Why nothing was redacted. No files are left behind.
#[derive(Debug, Error)]
pub enum RedactError {
    /// It could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It could not be published.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// The bundle was not sealed for redaction.
    #[error("it was not sealed with --redactable")]
    NotRedactable,
    /// It is already a redacted copy.
    #[error("it is a redacted copy; redact the bundle that was sealed")]
    AlreadyRedacted,
    /// It is not a redacted copy.
    #[error("it is not a redacted copy: it has no REDACTED.json")]
    NoCopy,
    /// Its commitment is malformed.
    #[error("its REDACTION.json cannot be used: {0}")]
    Commitment(String),
    /// The seed belongs to another bundle.
    #[error("the seed belongs to another bundle")]
    WrongSeed,
    /// It is not a seed.
    #[error("`{0}` is not a seed: expected 64 lower-case hex digits")]
    NoSeed(PathBuf),
    /// A file has changed since it was sealed.
    #[error("`{0}` differs from what was sealed")]
    Changed(String),
    /// A place matches nothing.
    #[error("`{0}` matches nothing in the bundle")]
    FitsNothing(String),
    /// A pattern is invalid.
    #[error("`{pattern}` is not a pattern: {fault}")]
    Pattern {
        /// The pattern as it was given.
        pattern: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A place must be visible in every copy.
    #[error("`{place}` must stay visible: it {conflict}")]
    Stays {
        /// The place, as people name it.
        place: String,
        /// Why it would have to be withheld.
        conflict: String,
    },
    /// The file of values to disclose is invalid.
    #[error("the disclosure cannot be used: {0}")]
    Disclosure(String),
    /// A document cannot be exported as a token.
    #[error("the document cannot be written as an SD-JWT: {0}")]
    Token(String),
    /// The copy does not verify, which is a bug in this program.
    #[error("the copy would not verify: {0}")]
    Unsound(String),
    /// Something that a commitment cannot cover.
    #[error("it cannot be sealed so that parts can be withheld: {0}")]
    NoCommitment(String),
    /// A document of the original already looks redacted.
    #[error("`{0}` has a member named `runseal.redacted`, which marks withheld values")]
    LooksRedacted(String),
    /// The system provides no random bytes.
    #[error("cannot get random bytes: {0}")]
    Random(String),
    /// A file could not be copied.
    #[error("`{path}` could not be copied")]
    Copy {
        /// Its path in the bundle.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

impl Diagnose for RedactError {
    fn diagnosis(&self) -> Diagnosis {
        use Outcome::{Invalid, Unreadable, Usage};
        let (outcome, code, hint) = match self {
            Self::Source(error) => return error.diagnosis(),
            Self::Write(error) | Self::Staging(StagingError::Write(error)) => {
                return error.diagnosis();
            }
            Self::Unsound(_) => return Diagnosis::internal(self),
            Self::Staging(StagingError::Exists(_)) => {
                (Unreadable, "EXISTS", "choose another place with -o")
            }
            Self::NotRedactable => (
                Unreadable,
                "NOT_REDACTABLE",
                "make it again with --redactable (record, seal, engine run, run --pack, job build), sign \
                 that, and redact it; the new seal proves what it contains from now on, not that the old \
                 one contained the same",
            ),
            Self::NoCopy => (
                Unreadable,
                "NOT_REDACTED",
                "`runseal redact` makes a copy; only what a copy withholds can be put back",
            ),
            Self::AlreadyRedacted => (
                Unreadable,
                "REDACTED",
                "redact the bundle that was sealed, with more places",
            ),
            Self::WrongSeed | Self::NoSeed(_) => (Unreadable, "SEED", SEED_HINT),
            Self::Changed(_) | Self::Commitment(_) => (
                Unreadable,
                "CHANGED",
                "`runseal verify` says more; nothing was written",
            ),
            Self::FitsNothing(_) => (
                Invalid,
                "FITS_NOTHING",
                "a place is PATH or PATH#/pointer as in the bundle; `runseal inspect` lists the files",
            ),
            Self::Pattern { .. } => (Usage, "USAGE", "nothing was written"),
            Self::Stays { .. } => (
                Invalid,
                "STAYS",
                "docs/redaction.md lists what every copy shows",
            ),
            Self::Disclosure(_) => (
                Invalid,
                "DISCLOSURE",
                "`runseal redact --disclose` makes one; nothing was written",
            ),
            Self::Token(_) => (Unreadable, "SD_JWT", "nothing was written"),
            Self::NoCommitment(_) => (
                Invalid,
                "NO_COMMITMENT",
                "nothing was written; seal it without --redactable, or change what is named",
            ),
            Self::LooksRedacted(_) => (Invalid, "MARKER", "rename the member"),
            Self::Random(_) | Self::Copy { .. } => (Unreadable, "SYSTEM", "nothing was written"),
        };
        Diagnosis::of(self, outcome, code)
            .located(Location::Named)
            .hint(hint)
    }
}

/// The advice when a seed is missing or belongs to another bundle.
pub const SEED_HINT: &str = "--seed FILE names the seed that was kept when the bundle was sealed";
