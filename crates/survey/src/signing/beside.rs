//! Where signatures lie: beside what they sign, under its name and an ending.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use runseal_core::source::SourceError;
use runseal_trust::check::{Found, FoundSignature, read_signatures};
use runseal_trust::limits::MAX_SIGNATURE_FILE_BYTES;

use crate::Files;

/// How a signature is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureForm {
    /// DSSE around an in-toto statement, one a line.
    Dsse,
    /// A keyed sigstore bundle.
    Sigstore,
    /// SSHSIG.
    Ssh,
    /// minisign.
    Minisign,
}

impl SignatureForm {
    /// The ending of its files.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Dsse => ".intoto.jsonl",
            Self::Sigstore => ".sigstore.json",
            Self::Ssh => ".sig",
            Self::Minisign => ".minisig",
        }
    }
}

/// Every form that is looked for.
pub const BESIDE: [SignatureForm; 4] = [
    SignatureForm::Dsse,
    SignatureForm::Sigstore,
    SignatureForm::Ssh,
    SignatureForm::Minisign,
];

/// The file beside `path` that holds signatures of this form.
pub fn path_beside(path: &Path, form: SignatureForm) -> PathBuf {
    // `run/` and `run/.` name the folder that `run` names.
    let mut name = OsString::from(path.components().as_path());
    name.push(form.ending());
    PathBuf::from(name)
}

/// Whether anything stands where signatures of `path` would, whatever it is.
pub(super) fn has_beside(files: &dyn Files, path: &Path) -> bool {
    BESIDE
        .iter()
        .any(|form| files.is_there(&path_beside(path, *form)))
}

/// Reads all signatures beside `path`. A file that is there and cannot be used is a damaged
/// signature, never none; where nobody can say what is there, that is told too.
pub fn read_beside(files: &dyn Files, path: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    for form in BESIDE {
        let file = path_beside(path, form);
        let place = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let word = match form {
            SignatureForm::Dsse => "dsse",
            SignatureForm::Sigstore => "sigstore",
            SignatureForm::Ssh => "ssh",
            SignatureForm::Minisign => "minisign",
        };
        let signature = match files.read(&file, MAX_SIGNATURE_FILE_BYTES) {
            Err(SourceError::NotFound { .. }) => continue,
            // Nothing can lie beside something that is in an archive.
            Err(SourceError::Io { source, .. }) if source.kind() == ErrorKind::NotADirectory => {
                continue;
            }
            Ok(bytes) => match read_signatures(&place, &bytes) {
                Ok(signatures) => {
                    found.extend(signatures);
                    continue;
                }
                Err(error) => FoundSignature::Damaged(word, error.to_string()),
            },
            Err(SourceError::Io { source, .. }) => FoundSignature::Unread(word, source.to_string()),
            Err(error) => FoundSignature::Damaged(word, error.to_string()),
        };
        found.push(Found { place, signature });
    }
    found
}
