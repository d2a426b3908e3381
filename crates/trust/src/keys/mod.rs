//! Keys that people have: ed25519 and ECDSA P-256, as PEM, OpenSSH or minisign files.
//!
//! A [`PublicKey`] has one form in memory whatever file it came from, so two encodings of one key
//! are one key when keys are counted. Keys of small order and points that are encoded in a second
//! way are refused on reading.

mod error;
pub mod minisign;
mod private;
mod public;
pub mod ssh;
pub mod sshsig;

pub use error::KeyError;
pub use private::PrivateKey;
pub use public::{Algorithm, KeyId, PublicKey};

/// Something that signs: a key in memory, an agent, a command.
pub trait Signer {
    /// The key that its signatures verify with.
    fn public_key(&self) -> &PublicKey;

    /// A signature over `message`: 64 bytes for ed25519, DER over SHA-256 for ECDSA P-256.
    ///
    /// # Errors
    /// When whatever holds the key does not sign.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError>;
}

/// Why there is no signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SignError(pub String);

#[cfg(test)]
mod tests;
