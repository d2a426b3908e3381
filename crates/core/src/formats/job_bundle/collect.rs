//! Collects a job bundle from any source and judges it: its manifest, which is streamed, and at the
//! same time its folder.

use std::io::Read;
use std::sync::OnceLock;

use super::facts::BundleFacts;
use super::folder::{Folder, MANIFEST};
use super::manifest::{Manifest, StreamedManifest};
use super::rules::{BundleView, ManifestState, RULES};
use crate::formats::definition::Identity;
use crate::limits::JsonLimits;
use crate::path::SafePath;
use crate::source::{EntryKind, Source, SourceError, Threads};
use crate::verify::{Level, Report, run_rules};

/// A job bundle whose artifacts were read, as far as possible, and whose manifest is at hand.
pub struct CollectedJob<'s> {
    /// The source of the manifest, or why there is none.
    manifest: Result<&'s dyn Source, String>,
    /// What was kept of the manifest while streaming; `None` if it must be read whole.
    streamed: Option<StreamedManifest>,
    facts: BundleFacts,
}

/// The result of judging a job bundle.
#[derive(Debug)]
pub struct JudgedJob<T> {
    /// Every rule and finding.
    pub report: Report,
    /// What the manifest calls the bundle.
    pub identity: Identity,
    /// What the caller made of a valid bundle.
    pub verified: Option<T>,
}

/// A bundle that was verified and is valid. There is no other way to get one.
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

    /// What is in its artifacts.
    pub fn facts(&self) -> &'a BundleFacts {
        self.facts
    }
}

impl<'s> CollectedJob<'s> {
    /// A bundle that cannot be read, for this reason.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self {
            manifest: Err(reason.into()),
            streamed: None,
            facts: BundleFacts::empty(),
        }
    }

    /// Reads the bundle in `source`: its manifest and, on another of `threads` if that pays, its folder
    /// and artifacts. What cannot be read is a fact, not an error.
    pub fn collect(source: &'s dyn Source, threads: &dyn Threads) -> Self {
        let mut opened = OpenedManifest::open(source);
        let is_short = opened.as_ref().is_none_or(|opened| opened.is_whole);
        let folder: OnceLock<Folder> = OnceLock::new();
        let mut streamed = None;
        let mut stream = || streamed = opened.take().and_then(OpenedManifest::stream);
        // The first thread to get here lists the folder while others wait; then all of them read.
        let read = |with_help: bool| {
            let folder = folder.get_or_init(|| Folder::list(source));
            let files = if with_help { folder.artifacts() } else { 0 };
            threads.together(files, &|count| folder.read_artifacts(source, count));
        };
        if is_short {
            // Starting a thread would take longer than reading the manifest.
            stream();
            read(true);
        } else {
            // The thread that read the manifest continues with the artifacts.
            threads.do_both(
                &mut || {
                    stream();
                    read(false);
                },
                &mut || read(true),
            );
        }
        let (manifest, facts) = folder.into_inner().unwrap_or_default().into_facts();
        Self {
            streamed: streamed.filter(|_| manifest.is_ok()),
            manifest: match manifest {
                Ok(()) => Ok(source),
                Err(reason) => Err(reason.to_owned()),
            },
            facts,
        }
    }

    /// What is below the folder.
    pub fn facts(&self) -> &BundleFacts {
        &self.facts
    }

    /// Judges the bundle and, if it is valid, calls `then` with what was read.
    ///
    /// A manifest without faults is judged while it is streamed, and its text is never in memory.
    /// Any other manifest is read again, whole; then only that second reading counts, because its
    /// findings have lines and columns.
    pub fn judge<T>(&self, level: Level, then: impl FnOnce(&VerifiedJob<'_>) -> T) -> JudgedJob<T> {
        let source = match &self.manifest {
            Ok(source) => *source,
            Err(reason) => return self.judge_state(ManifestState::Absent(reason), level, then),
        };
        let Ok(path) = SafePath::parse(MANIFEST) else {
            return self.judge_state(ManifestState::Absent("there is none"), level, then);
        };
        let then = match self.judge_streamed(level, then) {
            Ok(judged) => return judged,
            Err(then) => then,
        };
        let text = source.read(&path, JsonLimits::LARGEST_DOCUMENT);
        self.judge_whole(text, level, then)
    }

    /// Judges the bundle by what was kept of its manifest; returns `then` if the manifest must be
    /// read whole.
    fn judge_streamed<T, F: FnOnce(&VerifiedJob<'_>) -> T>(
        &self,
        level: Level,
        then: F,
    ) -> Result<JudgedJob<T>, F> {
        let Some(manifest) = self.streamed.as_ref().and_then(StreamedManifest::manifest) else {
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
        // A bundle without a manifest reveals no content of its artifacts.
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
        let valid = read.filter(|_| report.is_valid());
        JudgedJob {
            identity: read.map(identify).unwrap_or_default(),
            verified: valid.map(|manifest| then(&VerifiedJob { manifest, facts })),
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

/// Why a manifest was not read, in the words of the rule that reports it.
fn reason_of(error: &SourceError) -> String {
    match error {
        SourceError::NotFound { .. } => "there is none".to_owned(),
        SourceError::NotAFile {
            kind: EntryKind::Symlink,
            ..
        } => "it is a symbolic link".to_owned(),
        SourceError::NotAFile { .. } => "it is not a regular file".to_owned(),
        SourceError::TooLarge { limit, .. } => {
            format!("it is longer than {limit} bytes, the most allowed")
        }
        other => match std::error::Error::source(other) {
            Some(source) => source.to_string(),
            None => other.to_string(),
        },
    }
}

/// A manifest whose beginning was read, to see how long it is.
struct OpenedManifest<'s> {
    beginning: Vec<u8>,
    /// Whether that is all of it.
    is_whole: bool,
    rest: Box<dyn Read + Send + 's>,
}

impl<'s> OpenedManifest<'s> {
    /// A manifest below this size has fewer than a hundred artifacts, and is read before them, not
    /// in parallel.
    const SHORT: u64 = 32 << 10;

    /// Returns `None` if there is no manifest that can be opened.
    fn open(source: &'s dyn Source) -> Option<Self> {
        let path = SafePath::parse(MANIFEST).ok()?;
        let mut rest = source.open(&path).ok()?;
        let mut beginning = Vec::new();
        let read = (&mut rest).take(Self::SHORT).read_to_end(&mut beginning);
        Some(Self {
            is_whole: (read.ok()? as u64) < Self::SHORT,
            beginning,
            rest,
        })
    }

    /// Streams the manifest, keeping what rules need; `None` if it must be read whole.
    fn stream(self) -> Option<StreamedManifest> {
        StreamedManifest::read(&mut self.beginning.chain(self.rest))
    }
}
