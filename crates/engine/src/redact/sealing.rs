//! Seeds, and the commitment that is made when sealing.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::commit::{Seed, commit_bytes, commit_value, has_marker};
use runseal_core::formats::redacted::documents::CommittedFile;
use runseal_core::formats::run_bundle::layout::is_json;

use super::RedactError;
use crate::atomic::{WriteError, folder_of, sync_folder};
use crate::input::read_file;

/// The seed that a bundle is sealed with.
#[derive(Debug, Clone)]
pub struct SealingSeed {
    /// The seed.
    pub seed: Seed,
    /// Whether it was made for this bundle, and is to be kept beside it.
    pub is_new: bool,
}

/// Makes a seed.
///
/// # Errors
/// When the system gives no random bytes.
pub fn new_seed() -> Result<Seed, RedactError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| RedactError::Random(error.to_string()))?;
    Ok(Seed::from_bytes(bytes))
}

/// Reads a seed file: 64 hex digits, with or without a newline.
///
/// # Errors
/// When it cannot be read or is none.
pub fn read_seed(path: &Path) -> Result<Seed, RedactError> {
    let bytes = read_file(path, 4096)?;
    let text = String::from_utf8(bytes).ok();
    let seed = text.and_then(|text| Seed::parse(text.strip_suffix('\n').unwrap_or(&text)));
    seed.ok_or_else(|| RedactError::NoSeed(path.to_owned()))
}

/// Where the seed of a bundle is kept.
pub fn seed_beside(bundle: &Path) -> PathBuf {
    let mut name = OsString::from(bundle.components().as_path());
    name.push(".seed");
    PathBuf::from(name)
}

/// Keeps a new seed: readable by its owner alone, on disk, never over another one.
///
/// # Errors
/// When it cannot be written, or one is there.
pub fn keep_seed(path: &Path, seed: &Seed) -> Result<(), WriteError> {
    write_private(path, format!("{}\n", seed.to_hex()).as_bytes())
}

/// Writes a new file that its owner alone can read.
///
/// # Errors
/// When it cannot be written, or one is there.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let fail = WriteError::at(path);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(fail)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let written = written.and_then(|()| sync_folder(folder_of(path)));
    written.map_err(|error| {
        let _ = fs::remove_file(path);
        fail(error)
    })
}

/// The commitment of a file that is being sealed. `read` gives its bytes where it is JSON.
///
/// # Errors
/// When it is JSON and cannot be committed to.
pub fn commit_file(
    seed: &Seed,
    path: &str,
    digest: Digest,
    read: impl FnOnce() -> Result<Vec<u8>, RedactError>,
) -> Result<CommittedFile, RedactError> {
    let key = seed.file_key(path);
    if !is_json(path) {
        return Ok(CommittedFile {
            path: path.to_owned(),
            is_json: false,
            values: 1,
            commitment: commit_bytes(&digest, &key.salt()),
        });
    }
    let bytes = read()?;
    let fail = |fault: String| RedactError::Commitment(format!("{path}: {fault}"));
    let document = parse_document(&bytes, &ReadOptions::default());
    let document = document.map_err(|error| fail(error.to_string()))?;
    let value = document.root().to_value();
    if has_marker(&value) {
        return Err(RedactError::LooksRedacted(path.to_owned()));
    }
    let (commitment, values) =
        commit_value(&value, &key).map_err(|error| fail(error.to_string()))?;
    Ok(CommittedFile {
        path: path.to_owned(),
        is_json: true,
        values,
        commitment,
    })
}
