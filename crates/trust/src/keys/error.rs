//! Why a key cannot be read.

use thiserror::Error;

/// Why a key cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The file has none of the known forms.
    #[error("not a private key: expected a PEM, OpenSSH or minisign file")]
    NoPrivateKey,
    /// The text has none of the known forms.
    #[error(
        "not a public key: expected a PEM text, an OpenSSH line, a minisign key or 64 hex digits"
    )]
    NoPublicKey,
    /// A key of a known type that is not used here.
    #[error("the key is {0}; signatures are made with ed25519 or ECDSA P-256")]
    OtherType(String),
    /// A passphrase is needed and was not given.
    #[error("the key is encrypted and needs its passphrase")]
    PassphraseNeeded,
    /// The passphrase does not open it.
    #[error("the passphrase does not open the key")]
    WrongPassphrase,
    /// The key is encrypted with an unknown cipher.
    #[error("the key is encrypted with {0}, which is not supported")]
    UnknownCipher(String),
    /// The key file asks for more work than any legitimate one.
    #[error("the key's passphrase protection asks for more than {0}")]
    TooCostly(&'static str),
    /// Parts of the file contradict each other or are cut off.
    #[error("the key file is damaged: {0}")]
    Damaged(&'static str),
    /// A public key with which signatures can be forged.
    #[error("the key is weak: {0}")]
    Weak(&'static str),
}
