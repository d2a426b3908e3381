//! Seeds, and the commitment that is made when sealing.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use runseal_core::canon::Value;
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::chunks::{LARGE, read_pieces};
use runseal_core::formats::redacted::commit::{Seed, commit_bytes, commit_value, has_marker};
use runseal_core::formats::redacted::documents::{
    CommittedFile, FileKind, REDACTION_SALT, Redaction,
};
use runseal_core::formats::redacted::redactable::Redactable;
use runseal_core::formats::run_bundle::layout::is_json;
use runseal_core::formats::run_bundle::outputs::find_changed_integer;
use runseal_core::limits::JsonLimits;
use runseal_core::source::{SourceError, read_bounded};

use super::RedactError;
use runseal_fs::atomic::{Readers, WriteError, write_new};
use runseal_fs::input::read_file;

/// Larger files of lines are committed to as bytes.
const LONGEST_LINES: u64 = 16 << 20;

/// The seed that a bundle is sealed with.
#[derive(Debug, Clone)]
pub struct SealingSeed {
    /// The seed from which every salt is derived.
    pub seed: Seed,
    /// Whether it was made for this bundle and must be stored next to it.
    pub is_new: bool,
}

impl SealingSeed {
    /// Stores a new seed next to the bundle that is about to be published at `target`, so that it
    /// is on disk before the bundle appears.
    ///
    /// # Errors
    /// When it cannot be written, or already exists.
    pub fn keep_beside(&self, target: &Path) -> Result<KeptSeed, WriteError> {
        if !self.is_new {
            return Ok(KeptSeed(None));
        }
        let path = seed_beside(target);
        keep_seed(&path, &self.seed)?;
        Ok(KeptSeed(Some(path)))
    }
}

/// A seed on disk, deleted when dropped unless the bundle was published.
#[derive(Debug)]
pub struct KeptSeed(Option<PathBuf>);

impl KeptSeed {
    /// Keeps the seed, because the bundle was published. Returns its path.
    pub fn stays(mut self) -> Option<PathBuf> {
        self.0.take()
    }
}

impl Drop for KeptSeed {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// Makes a new seed.
///
/// # Errors
/// When the system provides no random bytes.
pub fn new_seed() -> Result<Seed, RedactError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| RedactError::Random(error.to_string()))?;
    Ok(Seed::from_bytes(bytes))
}

/// Reads a seed file: 64 hex digits, with or without a newline.
///
/// # Errors
/// When it cannot be read or is not a seed.
pub fn read_seed(path: &Path) -> Result<Seed, RedactError> {
    let bytes = match read_file(path, 4096) {
        Err(SourceError::TooLarge { .. }) => return Err(RedactError::NoSeed(path.to_owned())),
        other => other?,
    };
    parse_seed(bytes).ok_or_else(|| RedactError::NoSeed(path.to_owned()))
}

/// Returns whether an open file contains a seed and nothing else.
pub fn holds_seed(file: fs::File) -> bool {
    let bytes = read_bounded(file, "seed", 0, 4096);
    bytes.ok().and_then(parse_seed).is_some()
}

fn parse_seed(bytes: Vec<u8>) -> Option<Seed> {
    let text = String::from_utf8(bytes).ok()?;
    Seed::parse(text.strip_suffix('\n').unwrap_or(&text))
}

/// Returns the path of a bundle's seed.
pub fn seed_beside(bundle: &Path) -> PathBuf {
    let mut name = OsString::from(bundle.components().as_path());
    name.push(".seed");
    PathBuf::from(name)
}

/// Stores a new seed durably: readable only by its owner, and never over an existing file.
///
/// # Errors
/// When it cannot be written, or the file exists.
pub fn keep_seed(path: &Path, seed: &Seed) -> Result<(), WriteError> {
    write_private(path, format!("{}\n", seed.to_hex()).as_bytes())
}

/// Writes a new file that only its owner can read.
///
/// # Errors
/// When it cannot be written, or the file exists.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_new(path, bytes, Readers::Owner)
}

/// Commits to the files of one bundle.
pub struct Committing<'a> {
    format: &'static Redactable,
    seed: &'a Seed,
    files: Vec<CommittedFile>,
}

impl<'a> Committing<'a> {
    /// Begins a commitment that covers nothing yet.
    pub fn begin(format: &'static Redactable, seed: &'a Seed) -> Self {
        Self {
            format,
            seed,
            files: Vec::new(),
        }
    }

    /// Commits to a file. `open` is called if its digest is not enough.
    ///
    /// # Errors
    /// When it cannot be read, or is JSON that cannot be committed to.
    pub fn add<R: Read>(
        &mut self,
        path: &str,
        (digest, size): (Digest, u64),
        open: impl FnOnce() -> Result<R, RedactError>,
    ) -> Result<(), RedactError> {
        let fail = |source| SourceError::Io {
            path: path.to_owned(),
            source,
        };
        if is_json(path) {
            let limit = JsonLimits::LARGEST_DOCUMENT;
            let bytes = read_bounded(open()?, path, size, limit)?;
            let value = FileKind::Json.read(&bytes).map_err(|fault| {
                RedactError::NoCommitment(format!("`{path}` is not JSON: {fault}"))
            })?;
            return self.add_document(path, FileKind::Json, value);
        }
        let key = self.seed.file_key(path);
        let (kind, values, commitment);
        if path.ends_with(".jsonl") && size <= LONGEST_LINES {
            let bytes = read_bounded(open()?, path, size, LONGEST_LINES)?;
            if let Some(value) = read_lines(&bytes) {
                return self.add_document(path, FileKind::Lines, value);
            }
            let chunked = read_pieces(&mut bytes.as_slice(), |_| ()).map_err(fail)?;
            (kind, values, commitment) = if size > LARGE {
                (
                    FileKind::Chunks,
                    chunked.pieces.len() as u64,
                    chunked.commit(&key),
                )
            } else {
                (FileKind::Bytes, 1, commit_bytes(&digest, &key.salt()))
            };
        } else if size > LARGE {
            let chunked = read_pieces(&mut open()?, |_| ()).map_err(fail)?;
            kind = FileKind::Chunks;
            values = chunked.pieces.len() as u64;
            commitment = chunked.commit(&key);
        } else {
            kind = FileKind::Bytes;
            values = 1;
            commitment = commit_bytes(&digest, &key.salt());
        }
        self.put(path, kind, values, commitment);
        Ok(())
    }

    /// Commits to a document, without the members that copies omit.
    ///
    /// # Errors
    /// When it cannot be committed to.
    pub fn add_document(
        &mut self,
        path: &str,
        kind: FileKind,
        mut value: Value,
    ) -> Result<(), RedactError> {
        self.format.strip(path, &mut value);
        if has_marker(&value) {
            return Err(RedactError::LooksRedacted(path.to_owned()));
        }
        if let Some(pointer) = find_changed_integer(&value) {
            return Err(RedactError::NoCommitment(format!(
                "`{path}` contains an integer that canonical JSON (RFC 8785) would change: {pointer}"
            )));
        }
        let (commitment, values) = commit_value(&value, &self.seed.file_key(path))
            .map_err(|error| RedactError::NoCommitment(format!("`{path}`: {error}")))?;
        self.put(path, kind, values, commitment);
        Ok(())
    }

    fn put(&mut self, path: &str, kind: FileKind, values: u64, commitment: Digest) {
        self.files.push(CommittedFile {
            path: self.format.name_in_copies(path, self.seed),
            kind,
            values,
            commitment,
        });
    }

    /// Returns the commitment, and the random bytes that accompany it in the bundle.
    pub fn end(mut self) -> (Redaction, String) {
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        let redaction = Redaction {
            format: self.format.format.name().to_owned(),
            files: self.files,
        };
        (
            redaction,
            self.seed.file_key(REDACTION_SALT).salt().to_hex(),
        )
    }

    /// Commits to the main document, and inserts the commitment into it.
    ///
    /// # Errors
    /// When it cannot be committed to.
    pub fn end_in(mut self, path: &str, document: &mut Value) -> Result<(), RedactError> {
        self.add_document(path, FileKind::Json, document.clone())?;
        let steps = self.format.member().map_or(&[][..], |(_, steps)| steps);
        let (redaction, salt) = self.end();
        let redaction = redaction
            .to_value()
            .map_err(|error| RedactError::NoCommitment(error.to_string()))?;
        let member = Redactable::member_value(redaction, salt);
        put_at(document, steps, member);
        Ok(())
    }
}

fn put_at(value: &mut Value, steps: &[&str], member: Value) {
    match steps {
        [] => {}
        [name] => value.insert(name, member),
        [name, rest @ ..] => {
            let mut below = value
                .get(name)
                .cloned()
                .unwrap_or(Value::object::<Value>([]));
            put_at(&mut below, rest, member);
            value.insert(name, below);
        }
    }
}

/// Reads lines of JSON in stored form as an array; `None` if they are not.
fn read_lines(bytes: &[u8]) -> Option<Value> {
    let value = FileKind::Lines.read(bytes).ok()?;
    let is_stored_form = FileKind::Lines.write(&value).ok()? == bytes;
    let is_usable = is_stored_form && !has_marker(&value) && find_changed_integer(&value).is_none();
    is_usable.then_some(value)
}
