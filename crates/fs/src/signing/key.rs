//! Key files: read within a limit, with a warning if others can read them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::source::SourceError;
use runseal_trust::keys::{KeyError, PrivateKey, PublicKey};
use runseal_trust::limits::MAX_KEY_BYTES;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::input::read_file;

/// Why a key file yields no key.
#[derive(Debug, Error)]
pub enum KeyFileError {
    /// It could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It is not a key, or one of an unsupported kind.
    #[error("{error}")]
    Key {
        /// The path of the key, as it was given.
        path: PathBuf,
        /// What is wrong with it.
        error: KeyError,
    },
    /// The passphrase could not be obtained.
    #[error("no passphrase: {0}")]
    Passphrase(String),
}

impl Diagnose for KeyFileError {
    fn diagnosis(&self) -> Diagnosis {
        let (code, hint) = match self {
            Self::Source(error) => return error.diagnosis(),
            Self::Passphrase(_) => (
                "PASSPHRASE",
                "--passphrase-file or --passphrase-fd give it without a terminal",
            ),
            Self::Key { error, .. } => match error {
                KeyError::WrongPassphrase => ("PASSPHRASE", "nothing was signed; try again"),
                KeyError::OtherType(_) => (
                    "KEY",
                    "`runseal keygen -o FILE` makes an ed25519 key, with --type ecdsa-p256 the other",
                ),
                _ => ("KEY", "`runseal keygen -o FILE` makes a key"),
            },
        };
        Diagnosis::unreadable(self, code)
            .located(Location::Named)
            .hint(hint)
    }
}

/// A warning about a key file that was used all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyWarning {
    /// Users other than its owner can read it.
    ReadableByOthers {
        /// Its mode, as `chmod` writes it.
        mode: u32,
    },
}

/// Provides the passphrase of an encrypted key; called only if one is needed.
pub type PassphraseSource<'a> = &'a mut dyn FnMut() -> Result<Zeroizing<Vec<u8>>, String>;

/// Reads a private key in any format, asking for its passphrase if it has one.
///
/// # Errors
/// When the file cannot be read, is not a supported key, or the passphrase is wrong.
pub fn open_private_key(
    path: &Path,
    passphrase: PassphraseSource<'_>,
) -> Result<(PrivateKey, Option<KeyWarning>), KeyFileError> {
    let bytes = Zeroizing::new(read_file(path, MAX_KEY_BYTES)?);
    let fail = |error| KeyFileError::Key {
        path: path.to_owned(),
        error,
    };
    let key = match PrivateKey::parse(&bytes, None) {
        Err(KeyError::PassphraseNeeded) => {
            let phrase = passphrase().map_err(KeyFileError::Passphrase)?;
            PrivateKey::parse(&bytes, Some(&phrase)).map_err(fail)?
        }
        other => other.map_err(fail)?,
    };
    let mode = std::fs::metadata(path).map(|metadata| metadata.mode() & 0o777);
    let warning = match mode {
        Ok(mode) if mode & 0o077 != 0 => Some(KeyWarning::ReadableByOthers { mode }),
        _ => None,
    };
    Ok((key, warning))
}

/// Reads a public key in any format.
///
/// # Errors
/// When the file cannot be read or is not a supported key.
pub fn read_public_key(path: &Path) -> Result<PublicKey, KeyFileError> {
    let bytes = read_file(path, MAX_KEY_BYTES)?;
    let fail = |error| KeyFileError::Key {
        path: path.to_owned(),
        error,
    };
    let text = std::str::from_utf8(&bytes).map_err(|_| fail(KeyError::NoPublicKey))?;
    PublicKey::parse(text).map_err(fail)
}
