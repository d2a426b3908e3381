//! A redactable bundle with its seed, read once and checked against its commitment.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;

use runseal_core::canon::{JsonString, Value};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::chunks::{LARGE, PiecedFile};
use runseal_core::formats::redacted::commit::{Key, Seed, commit_bytes, commit_value};
use runseal_core::formats::redacted::documents::{
    CommittedFile, FileKind, REDACTED, REDACTION, Redaction, array_index, pointer_steps,
};
use runseal_core::formats::redacted::redactable::{Redactable, redactable, redactable_formats};
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, EntryName, Got, Source, SourceError, Want};

use super::RedactError;
use super::digits::{Digits, digits_in};
use runseal_fs::directory::{DirectorySource, RootLink};

/// A file of the bundle.
#[derive(Debug)]
pub(super) struct OriginalFile {
    /// Its entry in the commitment, with its name in copies.
    pub(super) committed: CommittedFile,
    /// The digest of its bytes.
    pub(super) digest: Digest,
    /// What is kept of its content.
    pub(super) content: Content,
}

/// What is kept of a file.
#[derive(Debug)]
pub(super) enum Content {
    /// The value of a JSON document.
    Document(Value),
    /// The possible digests in its bytes.
    Bytes(Digits),
    /// Its pieces, which are searched on demand.
    Chunks(PiecedFile),
}

/// A redactable bundle whose files match its commitment.
pub struct Original {
    pub(super) source: Box<dyn Source>,
    pub(super) seed: Seed,
    /// REDACTION.json as it appears in copies.
    pub(super) stored: Vec<u8>,
    pub(super) redaction: Redaction,
    pub(super) format: &'static Redactable,
    /// Its files, by their names in the bundle.
    pub(super) files: BTreeMap<String, OriginalFile>,
    /// Its documents, by the same names.
    pub(super) documents: BTreeMap<String, Value>,
}

pub(super) fn safe(path: &str) -> Result<SafePath, RedactError> {
    SafePath::parse(path)
        .map_err(|_| RedactError::Commitment(format!("`{}` is unsafe", path.escape_debug())))
}

/// Reads a file piece by piece.
pub(super) fn read_pieces(
    file: &mut dyn Read,
    path: &str,
    see: impl FnMut(&[u8]),
) -> Result<PiecedFile, SourceError> {
    runseal_core::source::read_pieces(file, see).map_err(|source| SourceError::Io {
        path: path.to_owned(),
        source,
    })
}

/// Reads a file of the bundle. Returns it and whether it is what was sealed.
fn read_file(
    (path, file): (&str, &CommittedFile),
    (format, seed): (&Redactable, &Seed),
    bytes: &[u8],
) -> (Option<OriginalFile>, bool) {
    let key = seed.file_key(path);
    let digest = Digest::of(bytes);
    let (content, is_sealed) = if file.kind.has_values() {
        let Ok(mut value) = file.kind.read(bytes) else {
            return (None, false);
        };
        format.strip(path, &mut value);
        let found = commit_value(&value, &key);
        let is_sealed = found.is_ok_and(|(found, _)| found == file.commitment);
        (Content::Document(value), is_sealed)
    } else {
        let found = commit_bytes(&digest, &key.salt());
        let digits = digits_in(bytes);
        (Content::Bytes(digits), found == file.commitment)
    };
    let read = OriginalFile {
        committed: file.clone(),
        digest,
        content,
    };
    (Some(read), is_sealed)
}

/// Returns the commitment of the bundle in `source`, wherever its format keeps it.
fn find_commitment(source: &dyn Source) -> Result<Option<Vec<u8>>, RedactError> {
    let limit = JsonLimits::LARGEST_DOCUMENT;
    let read = |name: &str| match source.read(&safe(name)?, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(SourceError::NotFound { .. }) => Ok(None),
        Err(error) => Err(RedactError::from(error)),
    };
    if let Some(stored) = read(REDACTION)? {
        return Ok(Some(stored));
    }
    for format in redactable_formats() {
        let Some((file, _)) = format.member() else {
            continue;
        };
        let document = read(file)?.and_then(|bytes| FileKind::Json.read(&bytes).ok());
        let found = document.and_then(|document| format.commitment_in(&document));
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns whether the bundle at `path` was sealed so that parts can be withheld.
///
/// # Errors
/// When it cannot be read.
pub fn is_redactable(path: &Path) -> Result<bool, RedactError> {
    let source = DirectorySource::open(path, RootLink::Follow)?;
    Ok(find_commitment(&source)?.is_some())
}

/// A file of the original, if it could be read, and whether it is what was sealed.
type ReadFile = Result<(Option<OriginalFile>, bool), SourceError>;

impl Original {
    /// Returns the document at `path`, if it is JSON.
    pub fn document(&self, path: &str) -> Option<&Value> {
        self.documents.get(path)
    }

    /// Returns the root of the commitment.
    pub(super) fn root(&self) -> Result<Digest, RedactError> {
        let root = self.redaction.root();
        root.map_err(|error| RedactError::Commitment(error.to_string()))
    }

    /// Returns the name of a file in copies.
    pub(super) fn name_in_copies<'a>(&'a self, path: &'a str) -> &'a str {
        let file = self.files.get(path);
        file.map_or(path, |file| file.committed.path.as_str())
    }

    /// Returns the key of a value, which opens it and everything below it.
    pub(super) fn key_at(&self, path: &str, pointer: &str) -> Option<Key> {
        let mut key = self.seed.file_key(path);
        let mut at = self.documents.get(path)?;
        for step in pointer_steps(pointer)? {
            let name = JsonString::from(step.as_str());
            (key, at) = match at {
                Value::Object(members) => (key.member(&name), members.get(&name)?),
                Value::Array(elements) => {
                    let index = array_index(&step)?;
                    (key.element(index), elements.get(index)?)
                }
                _ => return None,
            };
        }
        Some(key)
    }

    /// Reads the bundle at `path` and checks every file against the commitment.
    ///
    /// # Errors
    /// When it is not redactable, the seed belongs to another bundle, or a file has changed.
    pub fn open(path: &Path, seed: Seed) -> Result<Self, RedactError> {
        let source = DirectorySource::open(path, RootLink::Follow)?;
        Self::read(Box::new(source), seed)
    }

    /// Like [`Self::open`], for a bundle in any source.
    ///
    /// # Errors
    /// Like [`Self::open`].
    pub fn read(source: Box<dyn Source>, seed: Seed) -> Result<Self, RedactError> {
        if source.open(&safe(REDACTED)?).is_ok() {
            return Err(RedactError::AlreadyRedacted);
        }
        let stored = find_commitment(&*source)?.ok_or(RedactError::NotRedactable)?;
        let redaction = Redaction::parse(&stored).map_err(RedactError::Commitment)?;
        let unknown = || RedactError::Commitment("its format is unknown".to_owned());
        let format = redactable(&redaction.format).ok_or_else(unknown)?;
        let wanted = list_files(&*source, format, &redaction, &seed)?;
        let results: Mutex<Vec<(usize, ReadFile)>> = Mutex::default();
        let visited: Vec<_> = wanted
            .iter()
            .map(|(path, file)| (path.clone(), want(file)))
            .collect();
        source.visit(&visited, &|at, seen| {
            let (path, file) = (wanted[at].0.as_str(), wanted[at].1);
            let read = match (file.kind, seen) {
                (FileKind::Chunks, _) => read_large(&*source, &wanted[at].0, file, &seed),
                (_, Ok(Got::Whole(bytes))) => Ok(read_file((path, file), (format, &seed), &bytes)),
                (_, Ok(Got::Fact(_) | Got::Digests(_))) => Ok((None, false)),
                // No file sealed this way is that long.
                (FileKind::Bytes, Err(SourceError::TooLarge { .. })) => Ok((None, false)),
                (_, Err(error)) => Err(error),
            };
            let mut results = results.lock().unwrap_or_else(|lock| lock.into_inner());
            results.push((at, read));
        });
        let results = results.into_inner();
        let results = results.unwrap_or_else(|lock| lock.into_inner());
        let mut changed = Vec::new();
        let (mut files, mut documents) = (BTreeMap::new(), BTreeMap::new());
        for (at, read) in results {
            let path = wanted[at].0.to_string();
            let (file, is_sealed) = read?;
            if !is_sealed {
                changed.push(path.clone());
            }
            let Some(mut file) = file else {
                continue;
            };
            if let Content::Document(value) = &mut file.content {
                documents.insert(path.clone(), std::mem::replace(value, Value::Null));
            }
            files.insert(path, file);
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
            format,
            files,
            documents,
        })
    }
}

fn want(file: &CommittedFile) -> Want {
    match file.kind {
        FileKind::Json | FileKind::Lines => Want::Whole(JsonLimits::LARGEST_DOCUMENT),
        FileKind::Bytes => Want::Whole(LARGE),
        // These are read piece by piece.
        FileKind::Chunks => Want::Whole(0),
    }
}

fn read_large(
    source: &dyn Source,
    path: &SafePath,
    file: &CommittedFile,
    seed: &Seed,
) -> Result<(Option<OriginalFile>, bool), SourceError> {
    let chunked = read_pieces(&mut *source.open(path)?, path.as_str(), |_| ())?;
    let is_sealed = chunked.commit(&seed.file_key(path.as_str())) == file.commitment;
    let read = OriginalFile {
        committed: file.clone(),
        digest: chunked.sha256,
        content: Content::Chunks(chunked),
    };
    Ok((Some(read), is_sealed))
}

/// Returns the files of the bundle that the commitment covers, each with its commitment.
fn list_files<'a>(
    source: &dyn Source,
    format: &Redactable,
    redaction: &'a Redaction,
    seed: &Seed,
) -> Result<Vec<(SafePath, &'a CommittedFile)>, RedactError> {
    let mut found = Vec::with_capacity(redaction.files.len());
    let mut names = std::collections::BTreeSet::new();
    for entry in source.entries()? {
        let (EntryKind::File, EntryName::Safe(path)) = (entry.kind, entry.name) else {
            continue;
        };
        if format.leaves_out(path.as_str()) {
            continue;
        }
        let name = format.name_in_copies(path.as_str(), seed);
        // Bundles of older versions show names that are hidden today.
        let file = redaction.file(&name);
        if let Some(file) = file.or_else(|| redaction.file(path.as_str())) {
            names.insert(file.path.clone());
            found.push((path, file));
        }
    }
    let missing = redaction
        .files
        .iter()
        .find(|file| !names.contains(&file.path));
    match missing {
        None => Ok(found),
        // No file has this name: another seed derives other names.
        Some(file) if (format.hides_name)(&file.path) => Err(RedactError::WrongSeed),
        Some(file) => Err(RedactError::Changed(file.path.clone())),
    }
}
