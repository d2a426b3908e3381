//! Builds the bundle of a completed job.
//!
//! The sources are read again and must still match the index, so the same job gives the same bytes,
//! whoever builds it. The bundle is verified strictly before it appears.

mod manifest;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use runseal_core::canon::{CanonError, Dialect, ListWriter, ReadOptions, parse_document};
use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::digest::Digest;
use runseal_core::formats::job_bundle::facts::ArtifactKey;
use runseal_core::formats::job_bundle::hashes::derive_artifact_id;
use runseal_core::formats::job_bundle::op::Op;
use runseal_core::formats::job_bundle::plan::StepBody;
use runseal_core::source::SourceError;
use runseal_core::verify::Level;
use thiserror::Error;

use manifest::{Scratch, write_manifest};

use super::source::{Resolver, SourceTree, cut_slice, section_range};
use super::verify::{Summary, verify_job_bundle};
use crate::store::{
    JobId, JobRecord, JobRunId, SectionRecord, StepId, StoreError, StoreReader, try_visit_steps,
};
use runseal_fs::staging::{Place, Rights, Staging, StagingError, check_place};
use runseal_redact::{KeptSeed, RedactError, SealingSeed};
use runseal_survey::VerifyOptions;

/// Why no bundle was built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The job is not complete (001 §5); lists every reason.
    #[error("the job is not complete")]
    Incomplete(Vec<String>),
    /// Steps of a complete job cannot be bundled; lists every reason, by step.
    #[error("the job cannot be bundled")]
    Unbundled(Vec<String>),
    /// The target exists, or something could not be written.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// What was written does not verify.
    #[error("the bundle that was written does not verify: {0}")]
    Corrupt(String),
    /// The manifest has no canonical form, or its parts could not be stored.
    #[error(transparent)]
    Canon(#[from] CanonError),
    /// The commitment over the bundle could not be made.
    #[error(transparent)]
    Commitment(#[from] RedactError),
    /// The source tree cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Diagnose for BuildError {
    fn diagnosis(&self) -> Diagnosis {
        const LEFT_NOTHING: &str =
            "nothing was left behind; check the folder, its rights and its space";
        let unreadable = |code| Diagnosis::unreadable(self, code);
        let invalid = |code| Diagnosis::invalid(self, code);
        match self {
            Self::Incomplete(_) => {
                invalid("INCOMPLETE").hint("`runseal job work` executes what is pending")
            }
            Self::Unbundled(_) => {
                invalid("UNBUNDLED").hint("index again, post a plan that can be read, and work it")
            }
            Self::Canon(CanonError::Sink(error)) => {
                Diagnosis::unreadable(error, "WRITE").hint(LEFT_NOTHING)
            }
            Self::Canon(_) => invalid("UNBUNDLED"),
            Self::Staging(StagingError::Exists(_)) => {
                unreadable("TAKEN").hint("name a folder that does not exist yet")
            }
            Self::Staging(StagingError::Write(_)) => unreadable("WRITE").hint(LEFT_NOTHING),
            Self::Corrupt(_) => unreadable("WRITE").hint("nothing was left behind; check the disk"),
            Self::Commitment(error) => error.diagnosis(),
            Self::Source(error) => error.diagnosis(),
            Self::Store(error) => error.diagnosis(),
        }
    }
}

/// An artifact: what it is cut from and, once written, what its file contains.
struct Artifact {
    op: Op,
    /// Shared, because many artifacts are cut from one section.
    section: Rc<Section>,
    slice: Box<str>,
    /// The first step that reads it, and how many artifacts are read before it.
    step_id: StepId,
    order: usize,
    written: Option<WrittenFile>,
}

/// A section that steps read, and where its text is.
#[derive(PartialEq, Eq)]
struct Section {
    reference: Box<str>,
    file_path: Box<str>,
    line_start: u64,
    line_end: u64,
    content_hash: Box<str>,
}

/// What the manifest says about an artifact's file.
#[derive(Clone, Copy)]
struct WrittenFile {
    sha256: Digest,
    bytes: u64,
}

/// The artifacts of a job, by id.
type Artifacts = BTreeMap<ArtifactKey, Artifact>;

/// Builds the bundle of a job into `target`.
///
/// A job may have a million steps: they are processed one at a time and stored in a temporary file,
/// in the form that the manifest needs. Only what an artifact needs is kept in memory.
///
/// With `redactable` the manifest gets a commitment, so that parts can be withheld later, and is held in
/// memory. The path of the seed is returned too if a new one was made.
pub fn build_job_bundle(
    store: &dyn StoreReader,
    root: &Path,
    (run_id, job_id): (&JobRunId, &JobId),
    target: &Path,
    redactable: Option<&SealingSeed>,
) -> Result<(Summary, Option<PathBuf>), BuildError> {
    let job = check_complete(store, run_id, job_id)?;
    let tree = SourceTree::open(root)?;
    check_place(target, Place::FreeOrEmptyFolder)?;
    let staging = Staging::begin_beside(target).map_err(StagingError::from)?;
    let mut steps = Scratch::beside(staging.path())?;
    let mut artifacts = read_steps(store, job_id, &mut steps)?;
    write_artifacts(&tree, &mut artifacts, &staging)?;
    let seed = redactable.map(|redactable| &redactable.seed);
    write_manifest(&job, &mut steps, &artifacts, &staging, seed)?;
    // Verification needs memory of its own.
    drop((artifacts, steps));
    let kept = redactable
        .map(|redactable| redactable.keep_beside(target))
        .transpose()
        .map_err(StagingError::from)?;
    let how = (Place::FreeOrEmptyFolder, Rights::AsUmask);
    let summary = staging.publish(target, how, verify_staged)?;
    Ok((summary, kept.and_then(KeptSeed::stays)))
}

/// Verifies the bundle before it is published. What we write has the right form, but what sources
/// contain may not: a slice that ends in blank lines keeps them, and only the rules of form object.
fn verify_staged(folder: &Path) -> Result<Summary, BuildError> {
    let options = VerifyOptions {
        level: Level::Integrity,
        ..VerifyOptions::default()
    };
    let verified = verify_job_bundle(folder, options);
    verified.summary.ok_or_else(|| {
        let first = verified.report.findings().first();
        let message = first.map(|finding| finding.message.clone());
        BuildError::Corrupt(message.unwrap_or_default())
    })
}

/// Checks the completeness gate (001 §5): every step committed, each with one receipt.
fn check_complete(
    store: &dyn StoreReader,
    run_id: &JobRunId,
    job_id: &JobId,
) -> Result<JobRecord, BuildError> {
    let Some(job) = store.job(run_id, job_id)? else {
        let reason = format!("run `{run_id}` has no job `{job_id}`");
        return Err(BuildError::Incomplete(vec![reason]));
    };
    let mut reasons = Vec::new();
    let mut is_empty = true;
    try_visit_steps(store, job_id, |step| {
        is_empty = false;
        let id = &step.step_id;
        if step.status != "COMMITTED" {
            reasons.push(format!(
                "step `{id}`: expected COMMITTED, actual {}",
                step.status
            ));
        } else if step.receipts != 1 {
            reasons.push(format!(
                "step `{id}`: expected one receipt, actual {}",
                step.receipts
            ));
        }
        Ok::<_, BuildError>(())
    })?;
    if is_empty {
        reasons.push(format!("job `{job_id}` has no steps"));
    }
    if reasons.is_empty() {
        Ok(job)
    } else {
        Err(BuildError::Incomplete(reasons))
    }
}

/// Reads the steps: writes each to `scratch` in the manifest's form, and collects what its artifact
/// is cut from.
fn read_steps(
    store: &dyn StoreReader,
    job_id: &JobId,
    scratch: &mut Scratch,
) -> Result<Artifacts, BuildError> {
    let mut artifacts = Artifacts::new();
    let mut sections = Sections::default();
    let mut resolver = Resolver::default();
    let mut reasons = Vec::new();
    let mut steps = ListWriter::begin(io::BufWriter::new(&mut scratch.file), Dialect::Job);
    try_visit_steps(store, job_id, |record| {
        let id = &record.step_id;
        let parsed = parse_document(record.payload_json.as_bytes(), &ReadOptions::default())
            .map_err(|error| format!("step `{id}`: payload_json: {error}"))
            .and_then(|document| {
                let parsed = StepBody::parse(document.root());
                parsed.map_err(|fault| format!("step `{id}`: {fault}"))
            });
        let mut body = match parsed {
            Ok(body) => body,
            Err(reason) => {
                reasons.push(reason);
                return Ok(());
            }
        };
        resolver.look_up(store, iter::once(&body))?;
        let resolved = match resolver.resolve(&body) {
            Ok(resolved) => resolved,
            Err(failure) => {
                reasons.push(format!("step `{id}`: {failure}"));
                return Ok(());
            }
        };
        if body.slice.is_none() {
            body.set_slice(&resolved.slice);
        }
        steps.element(&body.to_step(id.as_str(), record.ordinal))?;
        let section = sections.take(&body.reference, resolved.section);
        let artifact_id = derive_artifact_id(&section.reference, &resolved.slice);
        let artifact = Artifact {
            op: body.op,
            section,
            slice: resolved.slice.into(),
            step_id: id.clone(),
            order: artifacts.len(),
            written: None,
        };
        let Some(key) = ArtifactKey::parse(artifact_id.as_bytes()) else {
            reasons.push(format!(
                "step `{id}`: `{artifact_id}` is not an artifact id"
            ));
            return Ok(());
        };
        match artifacts.entry(key) {
            Entry::Vacant(place) => {
                place.insert(artifact);
            }
            Entry::Occupied(place) => {
                let first = place.get();
                let read = |artifact: &Artifact| {
                    (artifact.section.reference.clone(), artifact.slice.clone())
                };
                if read(first) != read(&artifact) {
                    reasons.push(format!(
                        "step `{id}`: another artifact has the same id, `{artifact_id}`"
                    ));
                }
            }
        }
        Ok::<_, BuildError>(())
    })?;
    steps.end()?;
    if reasons.is_empty() {
        Ok(artifacts)
    } else {
        Err(BuildError::Unbundled(reasons))
    }
}

/// The sections that artifacts are cut from, deduplicated as long as they are few or adjacent.
#[derive(Default)]
struct Sections {
    known: BTreeMap<Box<str>, Rc<Section>>,
}

/// How many sections are remembered for sharing.
const REMEMBERED: usize = 4096;

impl Sections {
    /// Returns the section that is read as `reference`.
    fn take(&mut self, reference: &str, record: SectionRecord) -> Rc<Section> {
        let section = Section {
            reference: reference.into(),
            file_path: record.file_path.into(),
            line_start: record.line_start,
            line_end: record.line_end,
            content_hash: record.content_hash.into(),
        };
        match self.known.get(reference) {
            Some(known) if **known == section => known.clone(),
            _ => {
                if self.known.len() >= REMEMBERED {
                    self.known.clear();
                }
                let section = Rc::new(section);
                self.known.insert(reference.into(), section.clone());
                section
            }
        }
    }
}

/// Writes each artifact once. Every source file is read once, however many steps use it.
fn write_artifacts(
    tree: &SourceTree,
    artifacts: &mut Artifacts,
    staging: &Staging,
) -> Result<(), BuildError> {
    let mut by_file: Vec<(&ArtifactKey, &mut Artifact)> = artifacts.iter_mut().collect();
    by_file.sort_by(|(_, a), (_, b)| {
        let place = |artifact: &Artifact| (artifact.section.line_start, artifact.section.line_end);
        let files = a.section.file_path.cmp(&b.section.file_path);
        files.then_with(|| place(a).cmp(&place(b)))
    });
    let mut reasons = Vec::new();
    let mut file: (Option<Box<str>>, _) = (None, Ok(String::new()));
    // A section that many steps read is checked only once.
    let mut checked: (Option<(u64, u64, Box<str>)>, _) = (None, Ok(0..0));
    for (key, artifact) in by_file {
        let wanted = &artifact.section;
        if file.0.as_ref() != Some(&wanted.file_path) {
            file = (
                Some(wanted.file_path.clone()),
                tree.read_text(&wanted.file_path),
            );
            checked.0 = None;
        }
        let cut = file.1.as_ref().map_err(Clone::clone).and_then(|text| {
            let section = (
                wanted.line_start,
                wanted.line_end,
                wanted.content_hash.clone(),
            );
            if checked.0.as_ref() != Some(&section) {
                let range = section_range(
                    text,
                    &wanted.file_path,
                    wanted.line_start..wanted.line_end,
                    &wanted.content_hash,
                );
                checked = (Some(section), range);
            }
            let range = checked.1.clone()?;
            cut_slice(&text[range], &artifact.slice)
        });
        match cut {
            Ok(cut) => {
                let name = format!("artifacts/{}", key.file_name());
                artifact.written = Some(write_artifact(staging, &name, cut)?);
            }
            Err(failure) => reasons.push((
                artifact.order,
                format!("step `{}`: {failure}", artifact.step_id),
            )),
        }
    }
    if reasons.is_empty() {
        return Ok(());
    }
    reasons.sort();
    let reasons = reasons.into_iter().map(|(_, reason)| reason);
    Err(BuildError::Unbundled(reasons.collect()))
}

/// Writes a slice, and adds a final newline if it lacks one (001 §3.3).
fn write_artifact(staging: &Staging, name: &str, text: &str) -> Result<WrittenFile, StagingError> {
    let ended;
    let content = if text.ends_with('\n') {
        text
    } else {
        ended = format!("{text}\n");
        &ended
    };
    staging.put(name, content.as_bytes())?;
    Ok(WrittenFile {
        sha256: Digest::of(content.as_bytes()),
        bytes: content.len() as u64,
    })
}
