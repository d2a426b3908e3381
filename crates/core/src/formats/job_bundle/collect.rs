//! Collects what a job bundle's folder holds, through any source: every file opened once.
//!
//! Only regular files with an artifact's name, in the `artifacts` folder, are opened, beside the
//! manifest. No path that a manifest declares is ever opened; it is only compared.

use std::sync::OnceLock;

use super::facts::{ArtifactFact, ArtifactKey, BundleFacts, EntryFact, FolderFact};
use super::manifest::Manifest;
use super::rules::{BundleView, ManifestState, RULES};
use crate::canon::{Document, JsonError, ReadOptions, parse_document};
use crate::limits::JsonLimits;
use crate::path::SafePath;
use crate::source::{Entry, EntryKind, EntryName, Got, Source, SourceError, Want};
use crate::verify::{Level, Report, run_rules};

/// The manifest's name.
const MANIFEST: &str = "bundle.json";

/// A job bundle that was read, as far as it could be.
#[derive(Debug)]
pub struct CollectedJob {
    /// The manifest's bytes, or why there are none.
    manifest: Result<Vec<u8>, String>,
    facts: BundleFacts,
}

/// A bundle that was verified and holds. There is no other way to get one.
#[derive(Debug)]
pub struct VerifiedJob<'a> {
    manifest: &'a Manifest<'a>,
    facts: &'a BundleFacts,
}

impl<'a> VerifiedJob<'a> {
    /// What its manifest says.
    pub fn manifest(&self) -> &'a Manifest<'a> {
        self.manifest
    }

    /// What its artifacts hold.
    pub fn facts(&self) -> &'a BundleFacts {
        self.facts
    }
}

impl CollectedJob {
    /// A bundle that cannot be looked at: only this is known of it.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self {
            manifest: Err(reason.into()),
            facts: BundleFacts::empty(),
        }
    }

    /// Reads the bundle in `source`. What cannot be read is a fact, not an error.
    pub fn collect(source: &dyn Source) -> Self {
        let entries = match source.entries() {
            Ok(entries) => entries,
            Err(error) => return Self::unlisted(source, &error),
        };
        let mut listing = Listing::default();
        for entry in &entries {
            listing.note(entry);
        }
        listing.read(source)
    }

    /// The folder could not be listed, so nothing good is assumed of what is in it.
    fn unlisted(source: &dyn Source, error: &SourceError) -> Self {
        let mut facts = BundleFacts::empty();
        facts.folder = FolderFact::Unreadable(error.to_string());
        facts.others.push((".".to_owned(), EntryFact::Unknown));
        let manifest = match SafePath::parse(MANIFEST) {
            Ok(path) => source.read(&path, JsonLimits::LARGEST_DOCUMENT),
            Err(_) => return Self::absent("there is none"),
        };
        Self {
            manifest: manifest.map_err(|error| reason_of(&error)),
            facts,
        }
    }

    /// The manifest's bytes, where there are any.
    pub fn manifest_bytes(&self) -> Option<&[u8]> {
        self.manifest.as_deref().ok()
    }

    /// What stands below the folder.
    pub fn facts(&self) -> &BundleFacts {
        &self.facts
    }

    /// Judges it and, if it holds, goes on with what was read.
    pub fn judge<T>(
        &self,
        level: Level,
        then: impl FnOnce(&VerifiedJob<'_>) -> T,
    ) -> (Report, Option<T>) {
        let document: Result<Document<'_>, JsonError>;
        let manifest: Manifest<'_>;
        let state = match &self.manifest {
            Err(reason) => ManifestState::Absent(reason),
            Ok(bytes) => {
                document = parse_document(bytes, &ReadOptions::default());
                match &document {
                    Err(error) => ManifestState::Malformed(error),
                    Ok(document) => {
                        manifest = Manifest::read(document);
                        ManifestState::Read(bytes, &manifest)
                    }
                }
            }
        };
        // A bundle without a manifest shows no content of its artifacts.
        let unread;
        let facts = match &state {
            ManifestState::Read(..) => &self.facts,
            _ => {
                unread = self.facts.without_content();
                &unread
            }
        };
        let view = BundleView {
            manifest: state,
            facts,
            form: level == Level::Form,
        };
        let mut report = run_rules(&RULES, &view, level);
        if let ManifestState::Read(bytes, _) = view.manifest
            && let Ok(text) = str::from_utf8(bytes)
        {
            report.locate(Some(MANIFEST), text);
        }
        let verified = match view.manifest {
            ManifestState::Read(_, manifest) if report.is_valid() => {
                Some(VerifiedJob { manifest, facts })
            }
            _ => None,
        };
        let result = verified.as_ref().map(then);
        (report, result)
    }
}

/// Why a manifest that stands there was not read, in the words of the rule that names it.
fn reason_of(error: &SourceError) -> String {
    match error {
        SourceError::NotFound { .. } => "there is none".to_owned(),
        SourceError::NotAFile {
            kind: EntryKind::Symlink,
            ..
        } => "it is a symbolic link".to_owned(),
        SourceError::NotAFile { .. } => "it is no regular file".to_owned(),
        SourceError::TooLarge { limit, .. } => {
            format!("it is longer than {limit} bytes, the most allowed")
        }
        other => match std::error::Error::source(other) {
            Some(source) => source.to_string(),
            None => other.to_string(),
        },
    }
}

/// What stands below the folder, before any artifact is opened.
#[derive(Default)]
struct Listing {
    has_manifest: bool,
    manifest_kind: Option<EntryKind>,
    folder: Option<EntryFact>,
    artifacts: Vec<(ArtifactKey, EntryFact)>,
    others: Vec<(String, EntryFact)>,
}

impl Listing {
    fn note(&mut self, entry: &Entry) {
        let kind = fact_of(entry.kind);
        let name = entry.name.exact();
        let mut also = |name: &str| self.others.push((name.to_owned(), kind));
        if name == MANIFEST {
            self.has_manifest = entry.kind == EntryKind::File;
            self.manifest_kind = Some(entry.kind);
            if kind == EntryFact::Link {
                also(name);
            }
        } else if name.starts_with("bundle.json/") {
            // What lies in a folder of that name is that folder's fault.
        } else if name == "artifacts" {
            self.folder = Some(kind);
            if kind != EntryFact::Folder {
                also(name);
            }
        } else if let Some(key) = artifact_key(&entry.name) {
            self.artifacts.push((key, kind));
            // A folder may hide a link, and a link is a finding of its own.
            if matches!(kind, EntryFact::Link | EntryFact::Folder) {
                also(name);
            }
        } else {
            also(name);
        }
    }

    fn read(mut self, source: &dyn Source) -> CollectedJob {
        self.artifacts.sort_unstable_by_key(|(key, _)| *key);
        self.others.sort();
        let mut wanted = Vec::new();
        if self.has_manifest
            && let Ok(path) = SafePath::parse(MANIFEST)
        {
            wanted.push((path, Want::Whole(JsonLimits::LARGEST_DOCUMENT)));
        }
        let first = wanted.len();
        let is_file = |(_, kind): &&(ArtifactKey, EntryFact)| *kind == EntryFact::File;
        for (key, _) in self.artifacts.iter().filter(is_file) {
            if let Ok(path) = SafePath::parse(&format!("artifacts/{}", key.file_name())) {
                wanted.push((path, Want::Fact));
            }
        }
        let manifest: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
        let slots: Vec<OnceLock<ArtifactFact>> = wanted.iter().map(|_| OnceLock::new()).collect();
        source.visit(&wanted, &|at, seen| {
            // Each file is shown once, so every slot is still empty.
            let _ = match seen {
                Ok(Got::Whole(bytes)) => manifest.set(Ok(bytes)).is_ok(),
                Ok(Got::Fact(content)) => slots[at].set(ArtifactFact::Content(content)).is_ok(),
                Err(error) if at < first => manifest.set(Err(reason_of(&error))).is_ok(),
                Err(error) => slots[at].set(unread(&error)).is_ok(),
            };
        });
        let mut read = slots.into_iter().skip(first).map(OnceLock::into_inner);
        let artifacts = self.artifacts.into_iter().map(|(key, kind)| {
            let fact = match kind {
                EntryFact::File => read.next().flatten(),
                _ => None,
            };
            (key, fact.unwrap_or(ArtifactFact::NotRegular(kind)))
        });
        let facts = BundleFacts {
            folder: match self.folder {
                Some(EntryFact::Folder) => FolderFact::Listed,
                Some(kind) => FolderFact::NotFolder(kind),
                None => FolderFact::Missing,
            },
            artifacts: artifacts.collect(),
            others: self.others,
        };
        let manifest = manifest
            .into_inner()
            .unwrap_or_else(|| match self.manifest_kind {
                Some(EntryKind::Symlink) => Err("it is a symbolic link".to_owned()),
                Some(EntryKind::File) => Err("it was not read".to_owned()),
                Some(_) => Err("it is no regular file".to_owned()),
                None => Err("there is none".to_owned()),
            });
        CollectedJob { manifest, facts }
    }
}

/// What is known of an artifact that could not be read.
fn unread(error: &SourceError) -> ArtifactFact {
    match error {
        // Swapped after it was listed.
        SourceError::NotAFile { kind, .. } => ArtifactFact::NotRegular(fact_of(*kind)),
        other => ArtifactFact::Unreadable(match std::error::Error::source(other) {
            Some(source) => source.to_string(),
            None => other.to_string(),
        }),
    }
}

fn artifact_key(name: &EntryName) -> Option<ArtifactKey> {
    let EntryName::Safe(path) = name else {
        return None;
    };
    let name = path.as_str().strip_prefix("artifacts/")?;
    ArtifactKey::parse_file_name(name.as_bytes())
}

fn fact_of(kind: EntryKind) -> EntryFact {
    match kind {
        EntryKind::File => EntryFact::File,
        EntryKind::Directory => EntryFact::Folder,
        EntryKind::Symlink => EntryFact::Link,
        EntryKind::Fifo | EntryKind::Special => EntryFact::Special,
    }
}
