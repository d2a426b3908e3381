//! Collects what a job bundle's folder holds, through any source: every artifact opened once.
//!
//! Only regular files with an artifact's name, in the `artifacts` folder, are opened, beside the
//! manifest. No path that a manifest declares is ever opened; it is only compared.

use std::sync::OnceLock;

use super::facts::{ArtifactFact, ArtifactKey, BundleFacts, EntryFact, FolderFact};
use super::manifest::{Manifest, PassedManifest};
use super::rules::{BundleView, ManifestState, RULES};
use crate::formats::definition::Identity;
use crate::limits::JsonLimits;
use crate::path::SafePath;
use crate::source::{Entry, EntryKind, EntryName, Got, Source, SourceError, Want};
use crate::verify::{Level, Report, run_rules};

/// The manifest's name.
const MANIFEST: &str = "bundle.json";

/// A job bundle whose artifacts were read, as far as they could be, and whose manifest is at hand.
pub struct CollectedJob<'s> {
    /// Where the manifest is, or why there is none.
    manifest: Result<&'s dyn Source, String>,
    /// What was kept of it as it passed by; nothing where it has to be read whole.
    passed: Option<PassedManifest>,
    facts: BundleFacts,
}

/// What judging a job bundle gave.
#[derive(Debug)]
pub struct JudgedJob<T> {
    /// Every rule and finding.
    pub report: Report,
    /// What the manifest calls the bundle.
    pub identity: Identity,
    /// What came of a bundle that holds.
    pub verified: Option<T>,
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

impl<'s> CollectedJob<'s> {
    /// A bundle that cannot be looked at: only this is known of it.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self {
            manifest: Err(reason.into()),
            passed: None,
            facts: BundleFacts::empty(),
        }
    }

    /// Reads the artifacts of the bundle in `source`. What cannot be read is a fact, not an error.
    pub fn collect(source: &'s dyn Source) -> Self {
        let mut listing = Listing::default();
        match source.entries() {
            Ok(entries) => entries.iter().for_each(|entry| listing.note(entry)),
            Err(error) => return Self::unlisted(source, &error),
        }
        listing.read(source)
    }

    /// The folder could not be listed, so nothing good is assumed of what is in it.
    fn unlisted(source: &'s dyn Source, error: &SourceError) -> Self {
        let mut facts = BundleFacts::empty();
        facts.folder = FolderFact::Unreadable(error.to_string());
        facts.others.push((".".to_owned(), EntryFact::Unknown));
        Self {
            manifest: Ok(source),
            passed: pass_manifest(source),
            facts,
        }
    }

    /// What stands below the folder.
    pub fn facts(&self) -> &BundleFacts {
        &self.facts
    }

    /// Judges it and, if it holds, goes on with what was read.
    ///
    /// A manifest without a fault is judged as it passes by, and its text never held. Any other one is read again,
    /// whole, and then only that second reading counts: its findings have lines and columns.
    pub fn judge<T>(&self, level: Level, then: impl FnOnce(&VerifiedJob<'_>) -> T) -> JudgedJob<T> {
        let source = match &self.manifest {
            Ok(source) => *source,
            Err(reason) => return self.judge_state(ManifestState::Absent(reason), level, then),
        };
        let Ok(path) = SafePath::parse(MANIFEST) else {
            return self.judge_state(ManifestState::Absent("there is none"), level, then);
        };
        let then = match self.judge_passing(level, then) {
            Ok(judged) => return judged,
            Err(then) => then,
        };
        let text = source.read(&path, JsonLimits::LARGEST_DOCUMENT);
        self.judge_whole(text, level, then)
    }

    /// Judges the bundle by what was kept of its manifest; gives `then` back where the manifest has to be read whole.
    fn judge_passing<T, F: FnOnce(&VerifiedJob<'_>) -> T>(
        &self,
        level: Level,
        then: F,
    ) -> Result<JudgedJob<T>, F> {
        let Some(manifest) = self.passed.as_ref().and_then(PassedManifest::manifest) else {
            return Err(then);
        };
        let judged = self.judge_state(ManifestState::Read(&manifest), level, |_| ());
        if judged.verified.is_none() {
            return Err(then);
        }
        let job = VerifiedJob {
            manifest: &manifest,
            facts: &self.facts,
        };
        Ok(JudgedJob {
            report: judged.report,
            identity: judged.identity,
            verified: Some(then(&job)),
        })
    }

    /// Judges the bundle by its manifest's whole text.
    fn judge_whole<T>(
        &self,
        text: Result<Vec<u8>, SourceError>,
        level: Level,
        then: impl FnOnce(&VerifiedJob<'_>) -> T,
    ) -> JudgedJob<T> {
        let bytes = match text {
            Ok(bytes) => bytes,
            Err(error) => {
                let reason = reason_of(&error);
                return self.judge_state(ManifestState::Absent(&reason), level, then);
            }
        };
        let mut judged = match Manifest::parse(&bytes) {
            Ok(manifest) => self.judge_state(ManifestState::Read(&manifest), level, then),
            Err(error) => self.judge_state(ManifestState::Malformed(&error), level, then),
        };
        if let Ok(text) = str::from_utf8(&bytes) {
            judged.report.locate(Some(MANIFEST), text);
        }
        judged
    }

    fn judge_state<T>(
        &self,
        manifest: ManifestState<'_>,
        level: Level,
        then: impl FnOnce(&VerifiedJob<'_>) -> T,
    ) -> JudgedJob<T> {
        // A bundle without a manifest shows no content of its artifacts.
        let unread;
        let facts = match &manifest {
            ManifestState::Read(_) => &self.facts,
            _ => {
                unread = self.facts.without_content();
                &unread
            }
        };
        let view = BundleView {
            manifest,
            facts,
            form: level == Level::Form,
        };
        let report = run_rules(&RULES, &view, level);
        let read = view.read();
        let holding = read.filter(|_| report.is_valid());
        JudgedJob {
            identity: read.map(identify).unwrap_or_default(),
            verified: holding.map(|manifest| then(&VerifiedJob { manifest, facts })),
            report,
        }
    }
}

/// What a manifest calls the bundle.
fn identify(manifest: &Manifest<'_>) -> Identity {
    let text = |name| Some(manifest.text(name)?.to_lossy().into_owned());
    let ids = ["bundle_id", "run_id", "job_id"].into_iter();
    Identity {
        ids: ids.filter_map(text).collect(),
        ..Identity::default()
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

    fn read<'s>(mut self, source: &'s dyn Source) -> CollectedJob<'s> {
        self.artifacts.sort_unstable_by_key(|(key, _)| *key);
        self.others.sort();
        let mut artifacts = Vec::with_capacity(self.artifacts.len());
        let mut passed = None;
        let is_manifest = self.manifest_kind == Some(EntryKind::File);
        let mut pass = || passed = is_manifest.then(|| pass_manifest(source)).flatten();
        let mut look = || {
            for block in self.artifacts.chunks(FILES_AT_ONCE) {
                read_block(source, block, &mut artifacts);
            }
        };
        match self.artifacts.len() < FEW {
            // A thread would take longer to begin than they take to read.
            true => {
                pass();
                look();
            }
            false => source.do_both(&mut pass, &mut look),
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
        let manifest = match self.manifest_kind {
            Some(EntryKind::File) => Ok(source),
            Some(EntryKind::Symlink) => Err("it is a symbolic link".to_owned()),
            Some(_) => Err("it is no regular file".to_owned()),
            None => Err("there is none".to_owned()),
        };
        CollectedJob {
            manifest,
            passed,
            facts,
        }
    }
}

/// Keeps what rules ask for of the manifest, as it passes by.
fn pass_manifest(source: &dyn Source) -> Option<PassedManifest> {
    let path = SafePath::parse(MANIFEST).ok()?;
    PassedManifest::read(&mut source.open(&path).ok()?)
}

/// Fewer artifacts than this are read after the manifest, not beside it.
const FEW: usize = 64;

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
            Ok(Got::Whole(_) | Got::Digests(_)) => return,
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
