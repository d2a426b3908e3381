//! The fuzz targets: one function per target, named like the file in `fuzz/fuzz_targets`.
//!
//! The test of the seeds runs the same functions on stable Rust, so input that once broke a law is tried on every
//! machine.

use runseal_archive::Container;
use runseal_core::canon::Dialect;

use crate::archives::{check_archive, check_gzip, check_zstd_decoders};
use crate::messages::{check_http, check_mcp};
use crate::replay::check_replay;
use crate::schemas::check_schema;
use crate::trust::{check_policy, check_proof, check_signature_file, check_timestamp};
use crate::{check_dialect, check_reader, check_spelling};

/// A target's name and function.
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

/// A .tar archive.
pub fn tar(bytes: &[u8]) {
    check_archive(Container::Tar, bytes);
}

/// A .zip archive.
pub fn zip(bytes: &[u8]) {
    check_archive(Container::Zip, bytes);
}

/// A .tar.gz archive, and gzip alone.
pub fn gz(bytes: &[u8]) {
    check_gzip(bytes);
    check_archive(Container::TarGz, bytes);
}

/// A .tar.zst archive, and both decoders alone.
pub fn zst(bytes: &[u8]) {
    check_zstd_decoders(bytes);
    check_archive(Container::TarZst, bytes);
}
