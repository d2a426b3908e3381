//! Time that is not the maker's word: RFC 3161 tokens over a signature, checked offline.
//!
//! A token says that an authority saw the signature's bytes at a time. It is believed when its
//! signature holds, its certificate is for time stamping alone, and a path of certificates, each
//! valid at that time, leads to a root that the policy gives. Revocation is not asked: that needs
//! a network. Tokens that name their certificate by SHA-1 alone are refused.

mod certificate;
mod der;
mod request;
#[cfg(test)]
mod tests;
mod token;

pub use certificate::{Anchors, AnchorsError};
pub use request::encode_request;
pub use token::{TimeError, Token};
