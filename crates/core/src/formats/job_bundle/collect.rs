//! Collects what a job bundle consists of, through any source, and judges it: its manifest, which is
//! read as it passes by, and beside that its folder.

use std::io::Read;
use std::sync::OnceLock;

use super::facts::BundleFacts;
use super::folder::{Folder, MANIFEST};
use super::manifest::{Manifest, PassedManifest};
use super::rules::{BundleView, ManifestState, RULES};
use crate::formats::definition::Identity;
use crate::limits::JsonLimits;
use crate::path::SafePath;
use crate::source::{EntryKind, Source, SourceError};
use crate::verify::{Level, Report, run_rules};

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

    /// Reads the bundle in `source`: its manifest, and beside that its folder and artifacts where both are worthwhile.
    /// What cannot be read is a fact, not an error.
    pub fn collect(source: &'s dyn Source) -> Self {
        let mut begun = BegunManifest::begin(source);
        let is_short = begun.as_ref().is_none_or(|begun| begun.is_whole);
        let folder: OnceLock<Folder> = OnceLock::new();
        let mut passed = None;
        let mut pass = || passed = begun.take().and_then(BegunManifest::pass);
        // Whoever comes first lists the folder, while anyone else waits for that; then all read.
        let read = |with_help: bool| {
            let folder = folder.get_or_init(|| Folder::list(source));
            let files = if with_help { folder.artifacts() } else { 0 };
            source.together(files, &|count| folder.read_artifacts(source, count));
        };
        match is_short {
            // A thread would take longer to begin than the manifest takes to read.
            true => {
                pass();
                read(true);
            }
            // The thread that read the manifest goes on with the artifacts.
            false => source.do_both(
                &mut || {
                    pass();
                    read(false);
                },
                &mut || read(true),
            ),
        }
        let (manifest, facts) = folder.into_inner().unwrap_or_default().into_facts();
        Self {
            passed: passed.filter(|_| manifest.is_ok()),
            manifest: match manifest {
                Ok(()) => Ok(source),
                Err(reason) => Err(reason.to_owned()),
            },
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

/// A manifest whose beginning was read, to see how much there is of it.
struct BegunManifest<'s> {
    beginning: Vec<u8>,
    /// Whether that is all of it.
    is_whole: bool,
    rest: Box<dyn Read + Send + 's>,
}

impl<'s> BegunManifest<'s> {
    /// A manifest up to this size is read before the artifacts, not beside them: it has less than a hundred.
    const SHORT: u64 = 32 << 10;

    /// `None` where there is none that can be opened.
    fn begin(source: &'s dyn Source) -> Option<Self> {
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

    /// Keeps what rules ask for of it as it passes by; `None` where it has to be read whole.
    fn pass(self) -> Option<PassedManifest> {
        PassedManifest::read(&mut self.beginning.chain(self.rest))
    }
}
