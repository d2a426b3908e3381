//! Run bundles stored remotely: in object storage (`s3://…`) and in OCI registries (`oci://…`).
//!
//! Everything here blocks; parallel requests are made by several threads. What arrives is hashed
//! and bounded by its declared size, so a server is trusted with nothing but storage. What is sent
//! becomes visible with the last request: an interruption before that leaves unreferenced blobs,
//! never half a run.
//!
//! Verifying a local path never calls this crate, and it opens no socket until it is asked for a
//! remote one.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

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
