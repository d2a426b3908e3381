//! Keys that people have: ed25519 and ECDSA P-256, as PEM, OpenSSH or minisign files.
//!
//! A [`PublicKey`] has one form in memory whatever file it came from, so two encodings of one key
//! are one key when keys are counted. Keys of small order and non-canonical points are refused on
//! reading.

mod error;
pub mod minisign;
mod private;
mod public;
pub mod ssh;
pub mod sshsig;

pub use error::KeyError;
pub use private::PrivateKey;
pub use public::{Algorithm, KeyId, PublicKey};
use runseal_core::diagnosis::{Diagnose, Diagnosis};

/// Something that signs: a key in memory, an agent, a command.
pub trait Signer {
    /// Returns the key that verifies its signatures.
    fn public_key(&self) -> &PublicKey;

    /// Signs `message`: 64 bytes for ed25519, DER over SHA-256 for ECDSA P-256.
    ///
    /// # Errors
    /// When the key's holder fails to sign.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError>;
}

/// Why there is no signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SignError(pub String);

impl Diagnose for SignError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::unreadable(self, "SIGN").hint("nothing was written")
    }
}

#[cfg(test)]
mod tests;
