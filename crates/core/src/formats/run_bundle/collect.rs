//! Collects the facts of a run bundle through any source: every file opened once, read once.
//!
//! Only regular files with safe names are opened. The documents that rules read are kept; of
//! everything else only the digest stays, so memory does not grow with the artifacts. Facts are
//! the same in whatever order a source shows its files.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::facts::{Doc, EntryFact, FileFact, RunBundleFacts, RunBundleView, SchemaVerdict};
use super::forbidden::ForbiddenKeys;
use super::index::parse_index;
use super::layout::{
    ARTIFACT_INDEX, COUPLING_RULES, INPUT_ARTIFACT_INDEX, INPUT_SCHEMA, MANIFEST, OUTPUT_SCHEMA,
    RUN_ENVIRONMENT, RUN_INPUT, RUN_META, RUN_OUTPUT, SUMS, is_json, path_of_exact,
};
use super::recorded::is_recorded;
use super::rules::verify_run_bundle;
use super::sums::{Sums, parse_sums};
use crate::canon::{Dialect, Document, Node, ReadOptions, canonical_bytes, parse_document};
use crate::digest::Digest;
use crate::limits::JsonLimits;
use crate::path::SafePath;
use crate::source::{EntryKind, EntryName, Got, Seen, Source, SourceError, Want};
use crate::verify::{Level, Report};

/// The documents that rules read, so that their bytes are kept.
pub const DOCUMENTS: [&str; 10] = [
    INPUT_SCHEMA,
    MANIFEST,
    OUTPUT_SCHEMA,
    COUPLING_RULES,
    RUN_INPUT,
    RUN_OUTPUT,
    ARTIFACT_INDEX,
    INPUT_ARTIFACT_INDEX,
    RUN_META,
    RUN_ENVIRONMENT,
];

/// Validates a document against a JSON Schema. What does so is not part of this crate.
pub trait SchemaJudge: Sync {
    /// What validating `document` against `schema` gives, where both were read.
    fn judge(&self, document: Option<Node<'_>>, schema: Option<Node<'_>>) -> SchemaVerdict;
}

/// What was found: facts, and the bytes of the documents.
#[derive(Debug, Default)]
pub struct CollectedRun {
    /// The facts.
    pub facts: RunBundleFacts,
    /// The documents that are JSON with a JCS form, as they are stored.
    pub documents: BTreeMap<&'static str, Vec<u8>>,
    /// SHA256SUMS.txt, where it is a file.
    pub sums: Option<Sums>,
}

impl CollectedRun {
    /// Collects the facts of the bundle in `source`.
    ///
    /// # Errors
    /// When the source cannot be listed, or a file that is there cannot be read: then nothing can
    /// be said about the bundle.
    pub fn collect(source: &dyn Source) -> Result<Self, SourceError> {
        let mut collected = Self::default();
        let mut files = Vec::new();
        for entry in source.entries()? {
            let shown = entry.name.shown().to_owned();
            let fact = match (entry.name, entry.kind) {
                (EntryName::Unsafe { fault, .. }, _) => EntryFact::UnsafeName(
                    fault.map_or("it is no UTF-8".to_owned(), |fault| fault.to_string()),
                ),
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
        // A recorded command's artifacts are whatever its user's files are.
        let manifest = collected.documents.get(MANIFEST);
        let is_recorded = manifest.is_some_and(|bytes| {
            parse_document(bytes, &ReadOptions::default())
                .is_ok_and(|manifest| is_recorded(manifest.root()))
        });
        collected.read_others(source, (!is_recorded).then_some(&keys), files)?;
        Ok(collected)
    }

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
            let fact = match whole(source.read(&path, JsonLimits::LARGEST_DOCUMENT))? {
                Err(fact) => fact,
                Ok(bytes) if name == SUMS => {
                    self.sums = Some(parse_sums(&bytes));
                    EntryFact::File(FileFact::Bytes(Digest::of(&bytes)))
                }
                Ok(bytes) => match parse_canonical(&bytes) {
                    Err(fault) => EntryFact::File(FileFact::BrokenJson(fault)),
                    Ok((document, sha256, canonical)) => {
                        if name == INPUT_SCHEMA {
                            keys = ForbiddenKeys::of_schema(document.root());
                        }
                        drop(document);
                        self.documents.insert(name, bytes);
                        let forbidden = Vec::new();
                        EntryFact::File(FileFact::Json {
                            sha256,
                            canonical,
                            forbidden,
                        })
                    }
                },
            };
            self.facts.entries.insert(name.to_owned(), fact);
        }
        Ok(keys)
    }

    fn read_others(
        &mut self,
        source: &dyn Source,
        keys: Option<&ForbiddenKeys>,
        files: Vec<SafePath>,
    ) -> Result<(), SourceError> {
        let is_text = |path: &str| is_json(path) || path_of_exact(path).is_some();
        let want = |path: &SafePath| match is_text(path.as_str()) {
            true => Want::Whole(JsonLimits::LARGEST_DOCUMENT),
            false => Want::Fact,
        };
        let wanted: Vec<(SafePath, Want)> = files
            .into_iter()
            .map(|path| {
                let want = want(&path);
                (path, want)
            })
            .collect();
        let slots: Vec<OnceLock<Result<EntryFact, SourceError>>> =
            wanted.iter().map(|_| OnceLock::new()).collect();
        source.visit(&wanted, &|at, seen| {
            // Each file is shown once, so its slot is still empty.
            let _ = slots[at].set(fact_of(&wanted[at].0, seen, keys));
        });
        for ((path, _), slot) in wanted.into_iter().zip(slots) {
            // A file that was not shown is one that something broke at; nothing good is assumed.
            let fact = slot.into_inner().unwrap_or_else(|| {
                Err(SourceError::Io {
                    path: path.to_string(),
                    source: std::io::Error::other("it was not read"),
                })
            })?;
            self.facts.entries.insert(path.to_string(), fact);
        }
        Ok(())
    }

    /// Why a document is broken, if it is.
    pub fn broken(&self, name: &str) -> Option<&str> {
        match self.facts.file(name) {
            Some(FileFact::BrokenJson(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Judges it.
    pub fn judge(&self, level: Level, schemas: &dyn SchemaJudge) -> Report {
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
        let listed = root(ARTIFACT_INDEX).map(parse_index);
        let view = RunBundleView {
            facts: &self.facts,
            sums: self.sums.as_ref(),
            listed: listed.as_ref(),
            manifest: doc(MANIFEST),
            input_schema: doc(INPUT_SCHEMA),
            output_schema: doc(OUTPUT_SCHEMA),
            coupling: doc(COUPLING_RULES),
            input: doc(RUN_INPUT),
            output: doc(RUN_OUTPUT),
            index: doc(ARTIFACT_INDEX),
            input_index: doc(INPUT_ARTIFACT_INDEX),
            meta: doc(RUN_META),
            environment: doc(RUN_ENVIRONMENT),
            input_verdict: &schemas.judge(root(RUN_INPUT), root(INPUT_SCHEMA)),
            output_verdict: &schemas.judge(root(RUN_OUTPUT), root(OUTPUT_SCHEMA)),
        };
        let mut report = verify_run_bundle(&view, level);
        for (name, document) in &parsed {
            report.locate(Some(name), document.text());
        }
        report
    }
}

fn fact_of(
    path: &SafePath,
    seen: Seen,
    keys: Option<&ForbiddenKeys>,
) -> Result<EntryFact, SourceError> {
    let bytes = match seen {
        Ok(Got::Fact(content)) => return Ok(EntryFact::File(FileFact::Bytes(content.sha256))),
        Ok(Got::Whole(bytes)) => Ok(bytes),
        Err(error) => Err(error),
    };
    let bytes = match whole(bytes)? {
        Ok(bytes) => bytes,
        Err(fact) => return Ok(fact),
    };
    if path_of_exact(path.as_str()).is_some() {
        let canonical = parse_canonical(&bytes).ok().map(|(_, digest, _)| digest);
        let sha256 = Digest::of(&bytes);
        return Ok(EntryFact::File(FileFact::Exact { sha256, canonical }));
    }
    let fact = match parse_canonical(&bytes) {
        Ok((document, sha256, canonical)) => FileFact::Json {
            sha256,
            canonical,
            forbidden: match keys {
                Some(keys) if path.as_str().starts_with("artifacts/") => keys.find(document.root()),
                _ => Vec::new(),
            },
        },
        Err(fault) => FileFact::BrokenJson(fault),
    };
    Ok(EntryFact::File(fact))
}

/// The whole file, or what it is instead of a file that can be held.
fn whole(read: Result<Vec<u8>, SourceError>) -> Result<Result<Vec<u8>, EntryFact>, SourceError> {
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

/// A JSON text with its digest in JCS, and whether it is stored as that.
///
/// # Errors
/// What keeps it from being JSON with a JCS form.
pub fn parse_canonical(bytes: &[u8]) -> Result<(Document<'_>, Digest, bool), String> {
    let document = parse_document(bytes, &ReadOptions::default()).map_err(|e| e.to_string())?;
    let canonical = canonical_bytes(document.root(), Dialect::Jcs).map_err(|e| e.to_string())?;
    let digest = Digest::of(&canonical);
    let stored = canonical == bytes;
    Ok((document, digest, stored))
}
