//! Run bundles that are kept elsewhere: in object storage (`s3://…`) and in OCI registries
//! (`oci://…`).
//!
//! Everything here blocks; where several requests go at once, several threads make them. What
//! arrives is hashed and bounded by what was declared of it, so a server is trusted with nothing
//! but keeping bytes. What is sent becomes visible with its last request: whoever is cut off
//! before leaves blobs that nothing refers to, and never half a run.
//!
//! Nothing that verifies a local path calls this crate, and it opens no socket before it is asked
//! for a remote one.

mod beside;
pub mod blobs;
pub mod error;
pub mod http;
pub mod landing;
pub mod manifest;
pub mod oci;
mod parallel;
pub mod place;
pub mod s3;
pub mod verified;

pub use error::RemoteError;
