//! A redactable bundle with its seed: read once, and compared with its commitment.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use runseal_core::canon::{ReadOptions, Value, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::commit::{Seed, commit_bytes, commit_value};
use runseal_core::formats::redacted::documents::{REDACTED, REDACTION, Redaction};
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{Got, Source, SourceError, Want};

use super::RedactError;
use crate::directory::{DirectorySource, RootLink};

/// A redactable bundle whose files are those that were sealed.
#[derive(Debug)]
pub struct Original {
    pub(super) source: DirectorySource,
    pub(super) seed: Seed,
    /// REDACTION.json as it is stored.
    pub(super) stored: Vec<u8>,
    pub(super) redaction: Redaction,
    /// Its JSON documents.
    pub(super) documents: BTreeMap<String, Value>,
    /// The digest of every file.
    pub(super) digests: BTreeMap<String, Digest>,
}

pub(super) fn safe(path: &str) -> Result<SafePath, RedactError> {
    SafePath::parse(path)
        .map_err(|_| RedactError::Commitment(format!("`{}` is unsafe", path.escape_debug())))
}

/// What reading a file gave: its digest, its value where it is JSON, and whether it is what was
/// sealed.
type Read = Result<(Digest, Option<Value>, bool), SourceError>;

impl Original {
    /// Reads the bundle at `path` and compares every file with the commitment.
    ///
    /// # Errors
    /// When it is not redactable, the seed is another's, or a file is not what was sealed.
    pub fn open(path: &Path, seed: Seed) -> Result<Self, RedactError> {
        let source = DirectorySource::open(path, RootLink::Follow)?;
        let limit = JsonLimits::LARGEST_DOCUMENT;
        if source.open_file(&safe(REDACTED)?).is_ok() {
            return Err(RedactError::AlreadyRedacted);
        }
        let stored = match source.read(&safe(REDACTION)?, limit) {
            Ok(stored) => stored,
            Err(SourceError::NotFound { .. }) => return Err(RedactError::NotRedactable),
            Err(error) => return Err(error.into()),
        };
        let redaction = Redaction::parse(&stored).map_err(RedactError::Commitment)?;
        let mut wanted = Vec::new();
        for file in &redaction.files {
            let want = match file.is_json {
                true => Want::Whole(limit),
                false => Want::Fact,
            };
            wanted.push((safe(&file.path)?, want));
        }
        let results: Mutex<Vec<(usize, Read)>> = Mutex::default();
        source.visit(&wanted, &|at, seen| {
            let file = &redaction.files[at];
            let key = seed.file_key(&file.path);
            let read = seen.map(|got| match got {
                Got::Fact(fact) => {
                    let found = commit_bytes(&fact.sha256, &key.salt());
                    (fact.sha256, None, found == file.commitment)
                }
                Got::Whole(bytes) => {
                    let digest = Digest::of(&bytes);
                    let document = parse_document(&bytes, &ReadOptions::default()).ok();
                    let value = document.map(|document| document.root().to_value());
                    let found = value
                        .as_ref()
                        .and_then(|value| commit_value(value, &key).ok());
                    let is_sealed = found.is_some_and(|(found, _)| found == file.commitment);
                    (digest, value, is_sealed)
                }
            });
            let mut results = results.lock().unwrap_or_else(|lock| lock.into_inner());
            results.push((at, read));
        });
        let mut changed = Vec::new();
        let (mut documents, mut digests) = (BTreeMap::new(), BTreeMap::new());
        for (at, read) in results
            .into_inner()
            .unwrap_or_else(|lock| lock.into_inner())
        {
            let path = redaction.files[at].path.clone();
            let (digest, value, is_sealed) = read?;
            if !is_sealed {
                changed.push(path.clone());
            }
            if let Some(value) = value {
                documents.insert(path.clone(), value);
            }
            digests.insert(path, digest);
        }
        changed.sort();
        match changed.first() {
            None => {}
            Some(_) if changed.len() == redaction.files.len() => {
                return Err(RedactError::WrongSeed);
            }
            Some(path) => return Err(RedactError::Changed(path.clone())),
        }
        Ok(Self {
            source,
            seed,
            stored,
            redaction,
            documents,
            digests,
        })
    }
}
