//! Times that do not depend on the signer's word: RFC 3161 tokens over a signature, checked
//! offline.
//!
//! A token says that an authority saw the signature's bytes at a time. It is trusted if its
//! signature is valid, its certificate is for time stamping alone, and a path of certificates, each
//! valid at that time, leads to a root from the policy. Revocation is not checked, because that
//! needs a network. Tokens that name their certificate only by SHA-1 are refused.

mod certificate;
mod der;
mod request;
#[cfg(test)]
mod tests;
mod token;

pub use certificate::{Anchors, AnchorsError};
pub use request::encode_request;
pub use token::{TimeError, Token};
