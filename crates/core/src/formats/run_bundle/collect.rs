//! Collects the facts of a run bundle from any source: every file is opened once and read once.
//!
//! Only regular files with safe names are opened. The documents that rules read are kept; of
//! everything else only the digest is kept, so memory does not grow with the size of artifacts.
//! Facts do not depend on the order in which a source visits its files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::facts::{
    Doc, EntryFact, FileFact, RunBundleFacts, RunBundleView, SchemaVerdict, StoredJson,
};
use super::forbidden::ForbiddenKeys;
use super::index::{ArtifactIndex, parse_index, parse_stored_index};
use super::layout::{
    ARTIFACT_INDEX, COUPLING_RULES, INPUT_ARTIFACT_INDEX, INPUT_SCHEMA, MANIFEST, MODEL_IO,
    OUTPUT_SCHEMA, RUN_ENVIRONMENT, RUN_INPUT, RUN_META, RUN_OUTPUT, SUMS, is_json,
    name_among_runs, path_of_exact,
};
use super::reading::RunKind;
use super::rules::verify_run_bundle;
use super::sums::{Sums, parse_sums};
use crate::canon::{
    Dialect, Document, JsonErrorKind, Node, ReadOptions, compare_canonical, parse_document,
};
use crate::digest::Digest;
use crate::formats::definition::SourceFiles;
use crate::formats::model_io::bodies::BodyFacts;
use crate::formats::redacted::documents::{REDACTION, REDACTION_SALT};
use crate::limits::JsonLimits;
use crate::path::SafePath;
use crate::source::{EntryKind, EntryName, Got, Seen, Source, SourceError, Want};
use crate::text_map::{TextMap, TextMapBuilder};
use crate::verify::{Level, Report};

/// Files that are read whole and once: the documents that rules read, whose bytes are kept; and the
/// index and the sums, which grow with the number of files and are kept in parsed form.
pub(super) const READ_ONCE: [&str; 14] = [
    INPUT_SCHEMA,
    MANIFEST,
    OUTPUT_SCHEMA,
    COUPLING_RULES,
    RUN_INPUT,
    RUN_OUTPUT,
    INPUT_ARTIFACT_INDEX,
    RUN_META,
    RUN_ENVIRONMENT,
    MODEL_IO,
    REDACTION,
    REDACTION_SALT,
    ARTIFACT_INDEX,
    SUMS,
];

/// Validates a document against a JSON Schema. Implemented outside of this crate.
pub trait SchemaJudge: Sync {
    /// Validates `document` against `schema`, if both were read.
    fn judge(&self, document: Option<Node<'_>>, schema: Option<Node<'_>>) -> SchemaVerdict;
}

/// What was found: facts, and the bytes of the documents, borrowed if the source keeps them in
/// memory.
#[derive(Debug, Default)]
pub struct CollectedRun<'s> {
    /// The facts.
    pub facts: RunBundleFacts,
    /// The documents that are JSON with a JCS form, as stored.
    pub documents: BTreeMap<&'static str, Cow<'s, [u8]>>,
    /// SHA256SUMS.txt, if it is a file.
    pub sums: Option<Sums>,
    /// ARTIFACT_INDEX.json, if it is JSON with a JCS form.
    pub index: Option<ArtifactIndex>,
    /// The large bodies of model_io.json, if there is one.
    pub bodies: Option<BodyFacts>,
}

/// The number of files that threads read together.
const FILES_AT_ONCE: usize = 16_384;

/// Entries whose facts are known before the other files are read.
type Entries = Vec<(Box<str>, EntryFact)>;

impl<'s> CollectedRun<'s> {
    /// Collects the facts of the bundle in `source`.
    ///
    /// # Errors
    /// If the source cannot be listed, or a file in it cannot be read: then nothing can be said
    /// about the bundle.
    pub fn collect(source: &'s dyn Source) -> Result<Self, SourceError> {
        let mut collected = Self::default();
        let entries = source.entries()?;
        let mut files = Vec::with_capacity(entries.len());
        let mut others = Entries::new();
        for entry in entries {
            let (name, fact) = match (entry.name, entry.kind) {
                (EntryName::Safe(path), EntryKind::File) => {
                    files.push(path);
                    continue;
                }
                (name @ EntryName::Safe(_), EntryKind::Directory) => (name, EntryFact::Folder),
                (name @ EntryName::Safe(_), kind) => (name, EntryFact::NotAFile(kind)),
                (EntryName::Unsafe(name), _) => {
                    let fact = EntryFact::UnsafeName(name.reason());
                    (EntryName::Unsafe(name), fact)
                }
            };
            others.push((Box::from(name.shown()), fact));
        }
        let (keys, documents) = collected.read_documents(source, &mut files)?;
        // The artifacts of a recorded command are arbitrary files of its user.
        let manifest = collected.documents.get(MANIFEST);
        let is_recorded = manifest.is_some_and(|bytes| {
            parse_document(bytes, &ReadOptions::default())
                .is_ok_and(|manifest| RunKind::of_manifest(manifest.root()) == RunKind::Recorded)
        });
        collected.bodies = collected.read_bodies(source);
        let mut known = documents;
        known.append(&mut others);
        // Stable: a file comes before an unsafe name that is displayed the same.
        known.sort_by(|a, b| a.0.cmp(&b.0));
        let keys = (!is_recorded).then_some(&keys);
        collected.facts.entries = read_others(source, keys, files, known)?;
        Ok(collected)
    }

    /// Copies what is borrowed from the source.
    pub fn into_owned(self) -> CollectedRun<'static> {
        let documents = self.documents.into_iter();
        CollectedRun {
            documents: documents
                .map(|(name, bytes)| (name, Cow::Owned(bytes.into_owned())))
                .collect(),
            facts: self.facts,
            sums: self.sums,
            index: self.index,
            bodies: self.bodies,
        }
    }

    /// Reads the documents and SHA256SUMS.txt, removes them from `files`, and returns the keys that
    /// INPUT_SCHEMA.json forbids and the facts of the documents.
    fn read_documents(
        &mut self,
        source: &'s dyn Source,
        files: &mut Vec<SafePath>,
    ) -> Result<(ForbiddenKeys, Entries), SourceError> {
        let mut keys = ForbiddenKeys::always();
        let mut entries = Entries::new();
        // Rules see all documents at once, so they share one limit.
        let mut options = ReadOptions::default();
        for name in READ_ONCE {
            let Ok(at) = files.binary_search_by(|path| path.as_str().cmp(name)) else {
                continue;
            };
            let path = files.remove(at);
            let fact = match whole(source.view(&path, JsonLimits::LARGEST_DOCUMENT))? {
                Err(fact) => fact,
                Ok(bytes) if name == SUMS => {
                    self.sums = Some(parse_sums(&bytes));
                    EntryFact::File(FileFact::Bytes {
                        sha256: Digest::of(&bytes),
                        bytes: bytes.len() as u64,
                    })
                }
                Ok(bytes) if name == ARTIFACT_INDEX => self.read_index(&bytes),
                Ok(bytes) => match parse_within(&bytes, &options) {
                    Err(fault) => EntryFact::File(FileFact::BrokenJson(fault)),
                    Ok((document, sha256, canonical)) => {
                        options.share_with(&document);
                        if name == INPUT_SCHEMA {
                            keys = ForbiddenKeys::of_schema(document.root());
                        }
                        let stored = StoredJson::of(document.root(), canonical);
                        drop(document);
                        let fact = FileFact::Json {
                            sha256,
                            bytes: bytes.len() as u64,
                            stored,
                            forbidden: Box::default(),
                        };
                        self.documents.insert(name, bytes);
                        EntryFact::File(fact)
                    }
                },
            };
            entries.push((name.into(), fact));
        }
        Ok((keys, entries))
    }

    /// Reads the large bodies that model_io.json names.
    fn read_bodies(&self, source: &dyn Source) -> Option<BodyFacts> {
        let document = parse_document(self.documents.get(MODEL_IO)?, &ReadOptions::default());
        let root = document.as_ref().ok()?.root();
        Some(BodyFacts::collect(root, &SourceFiles(source), MODEL_IO))
    }

    /// Parses ARTIFACT_INDEX.json, and returns its fact as a file.
    fn read_index(&mut self, bytes: &[u8]) -> EntryFact {
        let read = match parse_stored_index(bytes) {
            Ok(Some(index)) => Ok((index, Digest::of(bytes), StoredJson::Canonically)),
            Ok(None) => parse_canonical(bytes).map(|(document, sha256, canonical)| {
                let root = document.root();
                (parse_index(root), sha256, StoredJson::of(root, canonical))
            }),
            Err(error) => Err(error.to_string()),
        };
        EntryFact::File(match read {
            Err(fault) => FileFact::BrokenJson(fault),
            Ok((index, sha256, stored)) => {
                self.index = Some(index);
                FileFact::Json {
                    sha256,
                    bytes: bytes.len() as u64,
                    stored,
                    forbidden: Box::default(),
                }
            }
        })
    }

    /// Why a document is broken, if it is.
    pub fn broken(&self, name: &str) -> Option<&str> {
        match self.facts.file(name) {
            Some(FileFact::BrokenJson(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Runs the rules up to `level` on what was collected, wherever it is.
    pub fn judge(&self, level: Level, schemas: &dyn SchemaJudge) -> Report {
        self.judge_at("", level, schemas)
    }

    /// The same for a bundle at `path`, as given or found.
    pub fn judge_at(&self, path: &str, level: Level, schemas: &dyn SchemaJudge) -> Report {
        let options = ReadOptions::default();
        let parsed: BTreeMap<&str, Document<'_>> = self
            .documents
            .iter()
            .filter_map(|(name, bytes)| Some((*name, parse_document(bytes, &options).ok()?)))
            .collect();
        let root = |name: &str| parsed.get(name).map(|document| document.root());
        let doc = |name: &str| match root(name) {
            Some(root) => Doc::Read(root),
            None => self.broken(name).map_or(Doc::Absent, Doc::Broken),
        };
        let view = RunBundleView {
            facts: &self.facts,
            name: name_among_runs(path),
            sums: self.sums.as_ref(),
            listed: self.index.as_ref(),
            index_fault: self.broken(ARTIFACT_INDEX),
            manifest: doc(MANIFEST),
            input_schema: doc(INPUT_SCHEMA),
            output_schema: doc(OUTPUT_SCHEMA),
            coupling: doc(COUPLING_RULES),
            input: doc(RUN_INPUT),
            output: doc(RUN_OUTPUT),
            input_index: doc(INPUT_ARTIFACT_INDEX),
            meta: doc(RUN_META),
            environment: doc(RUN_ENVIRONMENT),
            model_io: doc(MODEL_IO),
            redaction: doc(REDACTION),
            redaction_salt: doc(REDACTION_SALT),
            bodies: self.bodies.as_ref(),
            input_verdict: &schemas.judge(root(RUN_INPUT), root(INPUT_SCHEMA)),
            output_verdict: &schemas.judge(root(RUN_OUTPUT), root(OUTPUT_SCHEMA)),
            withheld: None,
        };
        let mut report = verify_run_bundle(&view, level);
        for (name, document) in &parsed {
            report.locate(Some(name), document.text());
        }
        report
    }
}

/// Reads the files that are not documents, and merges them with what is known. Both are ordered by
/// name.
fn read_others(
    source: &dyn Source,
    keys: Option<&ForbiddenKeys>,
    files: Vec<SafePath>,
    known: Entries,
) -> Result<TextMap<EntryFact>, SourceError> {
    let is_text = |path: &str| is_json(path) || path_of_exact(path).is_some();
    let want = |path: &SafePath| {
        if is_text(path.as_str()) {
            Want::Whole(JsonLimits::LARGEST_DOCUMENT)
        } else {
            Want::Fact
        }
    };
    let mut entries = TextMapBuilder::with_capacity(files.len() + known.len());
    let mut known = known.into_iter().peekable();
    let mut files = files.into_iter();
    // In blocks: reading a file takes more memory than keeping its fact.
    while files.len() > 0 {
        let block = files.by_ref().take(FILES_AT_ONCE);
        let wanted: Vec<(SafePath, Want)> = block
            .map(|path| {
                let want = want(&path);
                (path, want)
            })
            .collect();
        let slots: Vec<OnceLock<Result<EntryFact, SourceError>>> =
            wanted.iter().map(|_| OnceLock::new()).collect();
        source.visit(&wanted, &|at, seen| {
            // Each file is visited once, so its slot is still empty.
            let _ = slots[at].set(fact_of(&wanted[at].0, seen, keys));
        });
        for ((path, _), slot) in wanted.into_iter().zip(slots) {
            // A file that was not visited counts as unreadable.
            let fact = slot.into_inner().unwrap_or_else(|| {
                Err(SourceError::Io {
                    path: path.to_string(),
                    source: std::io::Error::other("it was not read"),
                })
            })?;
            while let Some((name, fact)) = known.next_if(|(name, _)| **name < *path.as_str()) {
                entries.push(&name, fact);
            }
            entries.push(path.as_str(), fact);
        }
    }
    for (name, fact) in known {
        entries.push(&name, fact);
    }
    Ok(entries.finish(|_, _| ()))
}

fn fact_of(
    path: &SafePath,
    seen: Seen,
    keys: Option<&ForbiddenKeys>,
) -> Result<EntryFact, SourceError> {
    let plain = |sha256, bytes| Ok(EntryFact::File(FileFact::Bytes { sha256, bytes }));
    let bytes = match seen {
        Ok(Got::Fact(content)) => return plain(content.sha256, content.bytes),
        Ok(Got::Digests(digests)) => return plain(digests.sha256, digests.bytes),
        Ok(Got::Whole(bytes)) => Ok(bytes),
        Err(error) => Err(error),
    };
    let bytes = match whole(bytes)? {
        Ok(bytes) => bytes,
        Err(fact) => return Ok(fact),
    };
    if path_of_exact(path.as_str()).is_some() {
        let canonical = parse_canonical(&bytes).ok();
        return Ok(EntryFact::File(FileFact::Exact {
            sha256: Digest::of(&bytes),
            bytes: bytes.len() as u64,
            canonical: canonical.map(|(_, digest, _)| Box::new(digest)),
        }));
    }
    let fact = match parse_canonical(&bytes) {
        Ok((document, sha256, canonical)) => FileFact::Json {
            sha256,
            bytes: bytes.len() as u64,
            stored: StoredJson::of(document.root(), canonical),
            forbidden: match keys {
                Some(keys) if path.as_str().starts_with("artifacts/") => {
                    keys.find(document.root()).into()
                }
                _ => Box::default(),
            },
        },
        Err(fault) => FileFact::BrokenJson(fault),
    };
    Ok(EntryFact::File(fact))
}

/// The whole file, or the fact if it is not a file that fits in memory.
fn whole<T>(read: Result<T, SourceError>) -> Result<Result<T, EntryFact>, SourceError> {
    match read {
        Ok(bytes) => Ok(Ok(bytes)),
        // Swapped after it was listed.
        Err(SourceError::NotAFile { kind, .. }) => Ok(Err(EntryFact::NotAFile(kind))),
        Err(error @ SourceError::TooLarge { .. }) => Ok(Err(EntryFact::File(
            FileFact::BrokenJson(error.to_string()),
        ))),
        Err(error) => Err(error),
    }
}

/// Parses a JSON text; returns it with its JCS digest and whether it is stored as its JCS bytes.
///
/// # Errors
/// Says why it is not JSON with a JCS form.
pub fn parse_canonical(bytes: &[u8]) -> Result<(Document<'_>, Digest, bool), String> {
    parse_within(bytes, &ReadOptions::default())
}

fn parse_within<'a>(
    bytes: &'a [u8],
    options: &ReadOptions,
) -> Result<(Document<'a>, Digest, bool), String> {
    let document = parse_document(bytes, options).map_err(|error| match error.kind {
        JsonErrorKind::TooManyValues { .. } if options.limits != JsonLimits::DOCUMENT => {
            format!("{error}, together with the documents that were read before it")
        }
        _ => error.to_string(),
    })?;
    let (digest, differs_at) =
        compare_canonical(document.root(), Dialect::Jcs, bytes).map_err(|e| e.to_string())?;
    Ok((document, digest, differs_at.is_none()))
}
