//! Run bundles stored remotely: in object storage (`s3://…`) and in OCI registries (`oci://…`).
//!
//! Everything here blocks; parallel requests are made by several threads. Everything received is
//! hashed and bounded by its declared size, so a server is trusted with nothing but storage. A run
//! becomes visible with the last request: an interruption before that leaves unreferenced blobs,
//! never half a run.
//!
//! Verifying a local path never calls this crate, and it opens no socket until a remote path is used.
//!
//! Start reading with [`manifest`], what a run consists of, and [`verified`], what may be pushed and pulled at all; then [`s3`] or
//! [`oci`], which put it somewhere, and [`landing`], where it arrives.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

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
mod written_files;

pub use error::RemoteError;
