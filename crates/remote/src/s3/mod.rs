//! Run bundles in object storage: `s3://BUCKET/PREFIX/NAME`.
//!
//! Below a prefix, every content is stored once and runs appear atomically:
//!
//! - `PREFIX/sha256/ab/abcd…` is the content with this digest, written once and never replaced;
//! - `PREFIX/NAME.intoto.jsonl` and the like are signatures of the run `NAME`;
//! - `PREFIX/runs/NAME.manifest.json` lists the files of the run `NAME`. It is written last, so a
//!   run is either absent or complete.
//!
//! Read as a folder, `s3://BUCKET/PREFIX` contains a folder for every run, and all plain objects:
//! signatures next to runs, and bundles or archives from other tools.

mod address;
mod answer;
mod client;
mod contents;
mod credentials;
mod files;
mod listing;
mod object;
mod packed;
mod place;
mod plain;
mod pull;
mod sign;
mod upload;

pub use address::S3Address;
pub use client::Bucket;
pub use files::S3Files;
pub use object::replace_object;
pub use place::S3Place;
pub use pull::{Pulled, pull};
