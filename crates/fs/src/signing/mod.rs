//! The effects of signing: key files, agents and commands that sign, what is to be signed, and the
//! signatures beside it. `runseal-trust` decides what a signature means.

mod agent;
mod command;
mod key;

use std::path::Path;

use runseal_core::verify::Level;
use runseal_survey::load::LoadError;
use runseal_trust::check::Found;

use crate::survey::LocalFiles;

pub use agent::AgentSigner;
pub use command::{CommandError, CommandSigner, run_filter};
pub use key::{KeyFileError, KeyWarning, PassphraseSource, open_private_key, read_public_key};
pub use runseal_survey::signing::{
    ArchiveSignatures, AskedLog, LoadedPolicy, PolicyFileError, SIGNATURE_FORMS, Signable,
    SignatureForm, SignatureJudge, TrustQuestion, chain_beside, path_beside, path_with_name,
};

/// Reads all signatures beside `path`. A file that exists but cannot be used is a damaged
/// signature, not a missing one.
pub fn read_beside(path: &Path) -> Vec<Found> {
    runseal_survey::signing::read_beside(&LocalFiles, path)
}

/// Reads and verifies what is at `path` in one pass: the digests are of the bytes that were judged.
///
/// # Errors
/// When it cannot be read, or has no known format.
pub fn read_signable(path: &Path, level: Level) -> Result<Signable, LoadError> {
    runseal_survey::signing::read_signable(&LocalFiles, path, level)
}

/// Reads a policy and follows the chain beside it, as of `now` in milliseconds since 1970.
///
/// # Errors
/// When it cannot be read, is not a policy, or its chain is not valid.
pub fn load_policy(path: &Path, now: i64) -> Result<LoadedPolicy, PolicyFileError> {
    runseal_survey::signing::load_policy(&LocalFiles, path, now)
}
