//! Why a file is no key of ours.

use thiserror::Error;

/// Why there is no key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The file is none of the forms that are known.
    #[error("no private key: expected a PEM, OpenSSH or minisign file")]
    NoPrivateKey,
    /// The text is none of the forms that are known.
    #[error("no public key: expected a PEM text, an OpenSSH line, a minisign key or 64 hex digits")]
    NoPublicKey,
    /// A key that is known and not used here.
    #[error("the key is {0}; signatures are made with ed25519 or ECDSA P-256")]
    OtherType(String),
    /// A passphrase is asked for and was not given.
    #[error("the key is encrypted and needs its passphrase")]
    PassphraseNeeded,
    /// The passphrase does not open it.
    #[error("the passphrase does not open the key")]
    WrongPassphrase,
    /// The key is encrypted in a way that is not known.
    #[error("the key is encrypted with {0}, which is not known")]
    UnknownCipher(String),
    /// The key file asks for more work than any honest one.
    #[error("the key's passphrase protection asks for more than {0}")]
    TooCostly(&'static str),
    /// Parts of the file contradict each other or are cut off.
    #[error("the key file is damaged: {0}")]
    Damaged(&'static str),
    /// A public key for which signatures can be forged.
    #[error("the key is weak: {0}")]
    Weak(&'static str),
}
