//! Collects what a job bundle's folder holds, through any source: every file opened once.
//!
//! Only regular files with an artifact's name, in the `artifacts` folder, are opened, beside the
//! manifest. No path that a manifest declares is ever opened; it is only compared.

use std::sync::OnceLock;

use super::facts::{ArtifactFact, ArtifactKey, BundleFacts, EntryFact, FolderFact};
use super::manifest::Manifest;
use super::rules::{BundleView, ManifestState, RULES};
use crate::canon::JsonError;
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
        let manifest: Result<Manifest<'_>, JsonError>;
        let state = match &self.manifest {
            Err(reason) => ManifestState::Absent(reason),
            Ok(bytes) => {
                manifest = Manifest::parse(bytes);
                match &manifest {
                    Err(error) => ManifestState::Malformed(error),
                    Ok(manifest) => ManifestState::Read(bytes, manifest),
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
        let manifest = match SafePath::parse(MANIFEST) {
            Ok(path) if self.has_manifest => Some(
                source
                    .read(&path, JsonLimits::LARGEST_DOCUMENT)
                    .map_err(|error| reason_of(&error)),
            ),
            _ => None,
        };
        let mut artifacts = Vec::with_capacity(self.artifacts.len());
        for block in self.artifacts.chunks(FILES_AT_ONCE) {
            read_block(source, block, &mut artifacts);
        }
        let facts = BundleFacts {
            folder: match self.folder {
                Some(EntryFact::Folder) => FolderFact::Listed,
                Some(kind) => FolderFact::NotFolder(kind),
                None => FolderFact::Missing,
            },
            artifacts,
            others: self.others,
        };
        let manifest = manifest.unwrap_or_else(|| match self.manifest_kind {
            Some(EntryKind::Symlink) => Err("it is a symbolic link".to_owned()),
            Some(EntryKind::File) => Err("it was not read".to_owned()),
            Some(_) => Err("it is no regular file".to_owned()),
            None => Err("there is none".to_owned()),
        });
        CollectedJob { manifest, facts }
    }
}

/// Artifacts that are looked at together, on several threads.
const FILES_AT_ONCE: usize = 16_384;

/// Reads artifacts that were listed, and adds what is known of them.
fn read_block(
    source: &dyn Source,
    block: &[(ArtifactKey, EntryFact)],
    artifacts: &mut Vec<(ArtifactKey, ArtifactFact)>,
) {
    let is_file = |(_, kind): &&(ArtifactKey, EntryFact)| *kind == EntryFact::File;
    let path = |(key, _): &(ArtifactKey, EntryFact)| {
        let path = SafePath::parse(&format!("artifacts/{}", key.file_name()));
        path.ok().map(|path| (path, Want::Fact))
    };
    let wanted: Vec<(SafePath, Want)> = block.iter().filter(is_file).filter_map(path).collect();
    let slots: Vec<OnceLock<ArtifactFact>> = wanted.iter().map(|_| OnceLock::new()).collect();
    source.visit(&wanted, &|at, seen| {
        let fact = match seen {
            Ok(Got::Fact(content)) => ArtifactFact::Content(content),
            Ok(Got::Whole(_)) => return,
            Err(error) => unread(&error),
        };
        // Each file is shown once, so every slot is still empty.
        let _ = slots[at].set(fact);
    });
    let mut read = slots.into_iter().map(OnceLock::into_inner);
    artifacts.extend(block.iter().map(|(key, kind)| {
        let fact = match kind {
            EntryFact::File => read.next().flatten(),
            _ => None,
        };
        (*key, fact.unwrap_or(ArtifactFact::NotRegular(*kind)))
    }));
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
