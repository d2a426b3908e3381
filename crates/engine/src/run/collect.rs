//! Collects the facts of a run bundle: every file opened once, read once, on several threads.
//!
//! Only regular files with safe names are opened. The documents that rules read are kept; of
//! everything else only the digest stays, so memory does not grow with the artifacts. Facts are
//! the same whatever the number of threads.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::thread;

use runseal_core::canon::{Dialect, Document, ReadOptions, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::facts::{EntryFact, FileFact, RunBundleFacts};
use runseal_core::formats::run_bundle::forbidden::ForbiddenKeys;
use runseal_core::formats::run_bundle::layout::{
    ARTIFACT_INDEX, COUPLING_RULES, INPUT_ARTIFACT_INDEX, INPUT_SCHEMA, MANIFEST, OUTPUT_SCHEMA,
    RUN_INPUT, RUN_META, RUN_OUTPUT, SUMS, is_json,
};
use runseal_core::formats::run_bundle::sums::{Sums, parse_sums};
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, EntryName, Source, SourceError};

/// The documents that rules read, so that their bytes are kept.
pub const DOCUMENTS: [&str; 9] = [
    INPUT_SCHEMA,
    MANIFEST,
    OUTPUT_SCHEMA,
    COUPLING_RULES,
    RUN_INPUT,
    RUN_OUTPUT,
    ARTIFACT_INDEX,
    INPUT_ARTIFACT_INDEX,
    RUN_META,
];

/// Files a thread takes at a time.
const SHARE: usize = 32;

/// What was found: facts, and the bytes of the documents.
#[derive(Debug, Default)]
pub struct Collected {
    /// The facts.
    pub facts: RunBundleFacts,
    /// The documents that are JSON with a JCS form, as they are stored.
    pub documents: BTreeMap<&'static str, Vec<u8>>,
    /// SHA256SUMS.txt, where it is a file.
    pub sums: Option<Sums>,
}

/// Collects the facts of the bundle in `source` on up to `threads` threads.
pub fn collect(source: &dyn Source, threads: usize) -> Result<Collected, SourceError> {
    let mut collected = Collected::default();
    let mut files = Vec::new();
    for entry in source.entries()? {
        let shown = entry.name.shown().to_owned();
        let fact = match (entry.name, entry.kind) {
            (EntryName::Unsafe { fault, .. }, _) => {
                EntryFact::UnsafeName(fault.map_or("it is no UTF-8".to_owned(), |f| f.to_string()))
            }
            (EntryName::Safe(_), EntryKind::Directory) => EntryFact::Folder,
            (EntryName::Safe(path), EntryKind::File) => {
                files.push(path);
                continue;
            }
            (EntryName::Safe(_), kind) => EntryFact::NotAFile(kind),
        };
        collected.facts.entries.insert(shown, fact);
    }
    let keys = collected.read_documents(source, &mut files)?;
    let mut read: Vec<(SafePath, Option<Reading>)> =
        files.into_iter().map(|path| (path, None)).collect();
    let threads = threads.clamp(1, read.len().div_ceil(SHARE).max(1));
    {
        let shares = Mutex::new(read.chunks_mut(SHARE));
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| read_shares(source, &keys, &shares));
            }
            read_shares(source, &keys, &shares);
        });
    }
    for (path, reading) in read {
        // A share that a thread did not come to is one that broke; nothing good is assumed.
        let reading = reading.unwrap_or_else(|| {
            Err(SourceError::Io {
                path: path.to_string(),
                source: io::Error::other("it was not read"),
            })
        })?;
        collected.facts.entries.insert(path.to_string(), reading);
    }
    Ok(collected)
}

type Reading = Result<EntryFact, SourceError>;
type Shares<'a> = Mutex<std::slice::ChunksMut<'a, (SafePath, Option<Reading>)>>;

impl Collected {
    /// Reads the documents and SHA256SUMS.txt, takes them out of `files`, and gives the keys
    /// that INPUT_SCHEMA.json forbids.
    fn read_documents(
        &mut self,
        source: &dyn Source,
        files: &mut Vec<SafePath>,
    ) -> Result<ForbiddenKeys, SourceError> {
        let mut keys = ForbiddenKeys::always();
        for name in DOCUMENTS.into_iter().chain([SUMS]) {
            let Ok(at) = files.binary_search_by(|path| path.as_str().cmp(name)) else {
                continue;
            };
            let path = files.remove(at);
            let fact = match read_whole(source, &path)? {
                Err(fact) => fact,
                Ok(bytes) if name == SUMS => {
                    self.sums = Some(parse_sums(&bytes));
                    EntryFact::File(FileFact::Bytes(Digest::of(&bytes)))
                }
                Ok(bytes) => {
                    let fact = match parse_canonical(&bytes) {
                        Ok((document, sha256, canonical)) => {
                            if name == INPUT_SCHEMA {
                                keys = ForbiddenKeys::of_schema(document.root());
                            }
                            Some(FileFact::Json {
                                sha256,
                                canonical,
                                forbidden: Vec::new(),
                            })
                        }
                        Err(why) => {
                            let broken = FileFact::BrokenJson(why);
                            self.facts
                                .entries
                                .insert(name.to_owned(), EntryFact::File(broken));
                            None
                        }
                    };
                    let Some(fact) = fact else { continue };
                    self.documents.insert(name, bytes);
                    EntryFact::File(fact)
                }
            };
            self.facts.entries.insert(name.to_owned(), fact);
        }
        Ok(keys)
    }

    /// Why a document is broken, if it is.
    pub fn broken(&self, name: &str) -> Option<&str> {
        match self.facts.file(name) {
            Some(FileFact::BrokenJson(why)) => Some(why),
            _ => None,
        }
    }
}

fn read_shares(source: &dyn Source, keys: &ForbiddenKeys, shares: &Shares<'_>) {
    loop {
        let share = match shares.lock() {
            Ok(mut shares) => shares.next(),
            Err(_) => None,
        };
        let Some(share) = share else { return };
        for (path, reading) in share {
            *reading = Some(read_file(source, path, keys));
        }
    }
}

fn read_file(source: &dyn Source, path: &SafePath, keys: &ForbiddenKeys) -> Reading {
    if is_json(path.as_str()) {
        let bytes = match read_whole(source, path)? {
            Ok(bytes) => bytes,
            Err(fact) => return Ok(fact),
        };
        let fact = match parse_canonical(&bytes) {
            Ok((document, sha256, canonical)) => FileFact::Json {
                sha256,
                canonical,
                forbidden: if path.as_str().starts_with("artifacts/") {
                    keys.find(document.root())
                } else {
                    Vec::new()
                },
            },
            Err(why) => FileFact::BrokenJson(why),
        };
        return Ok(EntryFact::File(fact));
    }
    let (_, digest) = match source.digest(path) {
        Ok(digest) => digest,
        Err(SourceError::NotAFile { kind, .. }) => return Ok(EntryFact::NotAFile(kind)),
        Err(error) => return Err(error),
    };
    Ok(EntryFact::File(FileFact::Bytes(digest)))
}

/// The whole file, or what it is instead of a file that can be held.
fn read_whole(
    source: &dyn Source,
    path: &SafePath,
) -> Result<Result<Vec<u8>, EntryFact>, SourceError> {
    match source.read(path, JsonLimits::LARGEST_DOCUMENT) {
        Ok(bytes) => Ok(Ok(bytes)),
        // Swapped after it was listed.
        Err(SourceError::NotAFile { kind, .. }) => Ok(Err(EntryFact::NotAFile(kind))),
        Err(error @ SourceError::TooLarge { .. }) => Ok(Err(EntryFact::File(
            FileFact::BrokenJson(error.to_string()),
        ))),
        Err(error) => Err(error),
    }
}

/// A JSON text with its digest in JCS, and whether it is stored as that.
pub(super) fn parse_canonical(bytes: &[u8]) -> Result<(Document<'_>, Digest, bool), String> {
    let document = parse_document(bytes, &ReadOptions::default()).map_err(|e| e.to_string())?;
    let canonical = canonical_bytes(document.root(), Dialect::Jcs).map_err(|e| e.to_string())?;
    let digest = Digest::of(&canonical);
    let stored = canonical == bytes;
    Ok((document, digest, stored))
}
