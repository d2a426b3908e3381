//! A redactable bundle with its seed: read once, and compared with its commitment.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use runseal_core::canon::{JsonString, ReadOptions, Value, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::commit::{Key, Seed, commit_bytes, commit_value};
use runseal_core::formats::redacted::documents::{CommittedFile, REDACTED, REDACTION, Redaction};
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{Got, Source, SourceError, Want};

use super::RedactError;
use super::hunt::{Digits, digits_in};
use super::select::SEARCHED;
use crate::directory::{DirectorySource, RootLink};

/// A redactable bundle whose files are those that were sealed.
pub struct Original {
    pub(super) source: Box<dyn Source>,
    pub(super) seed: Seed,
    /// REDACTION.json as it is stored.
    pub(super) stored: Vec<u8>,
    pub(super) redaction: Redaction,
    /// Its JSON documents.
    pub(super) documents: BTreeMap<String, Value>,
    /// The digest of every file.
    pub(super) digests: BTreeMap<String, Digest>,
    /// What could be digests in files that are no JSON; none of files too long to be searched.
    pub(super) digits: BTreeMap<String, Digits>,
}

pub(super) fn safe(path: &str) -> Result<SafePath, RedactError> {
    SafePath::parse(path)
        .map_err(|_| RedactError::Commitment(format!("`{}` is unsafe", path.escape_debug())))
}

/// What reading a file gave.
struct FileRead {
    digest: Digest,
    /// Its value, where it is JSON.
    value: Option<Value>,
    /// What could be digests in it, where it is no JSON and was searched.
    digits: Option<Digits>,
    is_sealed: bool,
}

fn read_file(file: &CommittedFile, seed: &Seed, got: Got) -> FileRead {
    let key = seed.file_key(&file.path);
    let of_bytes = |digest: Digest, digits| FileRead {
        digest,
        value: None,
        digits,
        is_sealed: commit_bytes(&digest, &key.salt()) == file.commitment,
    };
    match got {
        Got::Fact(fact) => of_bytes(fact.sha256, None),
        Got::Whole(bytes) if !file.is_json => of_bytes(Digest::of(&bytes), Some(digits_in(&bytes))),
        Got::Whole(bytes) => {
            let document = parse_document(&bytes, &ReadOptions::default()).ok();
            let value = document.map(|document| document.root().to_value());
            let found = value
                .as_ref()
                .and_then(|value| commit_value(value, &key).ok());
            FileRead {
                digest: Digest::of(&bytes),
                value,
                digits: None,
                is_sealed: found.is_some_and(|(found, _)| found == file.commitment),
            }
        }
    }
}

/// Steps of a JSON Pointer, unescaped.
pub(super) fn pointer_steps(pointer: &str) -> Vec<String> {
    let parts = pointer.split('/').skip(1);
    parts
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect()
}

impl Original {
    /// The document at `path`, where it is JSON.
    pub fn document(&self, path: &str) -> Option<&Value> {
        self.documents.get(path)
    }

    /// The root of the commitment.
    pub fn root(&self) -> Digest {
        self.redaction.root()
    }

    /// The key of a value, which opens it and what is below it.
    pub(super) fn key_at(&self, path: &str, pointer: &str) -> Option<Key> {
        let mut key = self.seed.file_key(path);
        let mut at = self.documents.get(path)?;
        for step in pointer_steps(pointer) {
            let name = JsonString::from(step.as_str());
            (key, at) = match at {
                Value::Object(members) => (key.member(&name), members.get(&name)?),
                Value::Array(elements) => {
                    let index: usize = step.parse().ok()?;
                    (key.element(index), elements.get(index)?)
                }
                _ => return None,
            };
        }
        Some(key)
    }

    /// Reads the bundle at `path` and compares every file with the commitment.
    ///
    /// # Errors
    /// When it is not redactable, the seed is another's, or a file is not what was sealed.
    pub fn open(path: &Path, seed: Seed) -> Result<Self, RedactError> {
        let source = DirectorySource::open(path, RootLink::Follow)?;
        Self::read(Box::new(source), seed)
    }

    /// The same of a bundle in any source.
    ///
    /// # Errors
    /// As of [`Self::open`].
    pub fn read(source: Box<dyn Source>, seed: Seed) -> Result<Self, RedactError> {
        let limit = JsonLimits::LARGEST_DOCUMENT;
        if source.open(&safe(REDACTED)?).is_ok() {
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
            let limit = match file.is_json {
                true => limit,
                false => SEARCHED,
            };
            wanted.push((safe(&file.path)?, Want::Whole(limit)));
        }
        let results: Mutex<Vec<(usize, Result<FileRead, SourceError>)>> = Mutex::default();
        source.visit(&wanted, &|at, seen| {
            let file = &redaction.files[at];
            let seen = match seen {
                // Hashed as it streams by.
                Err(SourceError::TooLarge { .. }) if !file.is_json => {
                    source.content(&wanted[at].0).map(Got::Fact)
                }
                other => other,
            };
            let read = seen.map(|got| read_file(file, &seed, got));
            let mut results = results.lock().unwrap_or_else(|lock| lock.into_inner());
            results.push((at, read));
        });
        let mut changed = Vec::new();
        let (mut documents, mut digests) = (BTreeMap::new(), BTreeMap::new());
        let mut digits = BTreeMap::new();
        for (at, read) in results
            .into_inner()
            .unwrap_or_else(|lock| lock.into_inner())
        {
            let path = redaction.files[at].path.clone();
            let read = read?;
            if !read.is_sealed {
                changed.push(path.clone());
            }
            documents.extend(read.value.map(|value| (path.clone(), value)));
            digits.extend(read.digits.map(|digits| (path.clone(), digits)));
            digests.insert(path, read.digest);
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
            digits,
        })
    }
}
