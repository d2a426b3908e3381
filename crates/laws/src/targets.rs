//! What each fuzz target does with its bytes: one function a target, named like the file below `fuzz/fuzz_targets`.
//!
//! The test of the seeds runs the same functions on stable Rust, so a text that once broke a law is tried by everybody.

use runseal_archive::Container;
use runseal_core::canon::Dialect;

use crate::archives::{check_archive, check_gzip, check_zstd_decoders};
use crate::messages::{check_http, check_mcp};
use crate::replay::check_replay;
use crate::schemas::check_schema;
use crate::trust::{check_policy, check_proof, check_signature_file, check_timestamp};
use crate::{check_dialect, check_reader, check_spelling};

/// A target's name and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// Every target, by name.
pub const TARGETS: [Target; 16] = [
    ("envelope", check_signature_file),
    ("gz", gz),
    ("http", check_http),
    ("jcs", jcs),
    ("job", job),
    ("kernel", kernel),
    ("mcp", check_mcp),
    ("policy", check_policy),
    ("proof", check_proof),
    ("reader", check_reader),
    ("replay", check_replay),
    ("schema", check_schema),
    ("tar", tar),
    ("timestamp", check_timestamp),
    ("zip", zip),
    ("zst", zst),
];

fn check_writer(bytes: &[u8], dialect: Dialect) {
    check_dialect(bytes, dialect);
    check_spelling(bytes, dialect);
}

/// The canonical form of RFC 8785.
pub fn jcs(bytes: &[u8]) {
    check_writer(bytes, Dialect::Jcs);
}

/// The canonical form of job bundles.
pub fn job(bytes: &[u8]) {
    check_writer(bytes, Dialect::Job);
}

/// The canonical form of the context kernel.
pub fn kernel(bytes: &[u8]) {
    check_writer(bytes, Dialect::Kernel);
}

/// An archive of kind .tar.
pub fn tar(bytes: &[u8]) {
    check_archive(Container::Tar, bytes);
}

/// An archive of kind .zip.
pub fn zip(bytes: &[u8]) {
    check_archive(Container::Zip, bytes);
}

/// An archive of kind .tar.gz, and what gzip alone makes of it.
pub fn gz(bytes: &[u8]) {
    check_gzip(bytes);
    check_archive(Container::TarGz, bytes);
}

/// An archive of kind .tar.zst, and what both decoders make of it.
pub fn zst(bytes: &[u8]) {
    check_zstd_decoders(bytes);
    check_archive(Container::TarZst, bytes);
}
