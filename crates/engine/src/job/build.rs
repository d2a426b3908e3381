//! Builds the bundle of a completed job.
//!
//! The sources are read again, and only if they still are what was indexed; so the same job
//! gives the same bytes whoever builds it. The bundle is verified strictly before it appears.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use runseal_core::canon::{
    Dialect, NoCanonicalForm, ReadOptions, Value, canonical_bytes, canonical_digest, parse_document,
};
use runseal_core::digest::Digest;
use runseal_core::formats::job_bundle::facts::ArtifactKey;
use runseal_core::formats::job_bundle::hashes::{compute_root_hash, derive_artifact_id};
use runseal_core::formats::job_bundle::op::Op;
use runseal_core::formats::job_bundle::plan::StepBody;
use runseal_core::source::SourceError;
use runseal_core::verify::Level;
use thiserror::Error;

use super::source::{Resolved, SourceTree, cut_slice, resolve_step, section_range};
use super::verify::{Summary, VerifyOptions, verify_job_bundle};
use crate::staging::{Place, Rights, Staging, StagingError, check_place};
use crate::store::{JobRecord, StepRecord, StoreError, StoreReader};

/// The version of the protocol that is written.
const BUNDLE_VERSION: &str = "5.0.0";

/// Why there is no bundle.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The job is not complete (001 §5); every reason.
    #[error("the job is not complete")]
    Incomplete(Vec<String>),
    /// Steps of a complete job cannot be bundled; every reason, by step.
    #[error("the job cannot be bundled")]
    Unbundled(Vec<String>),
    /// The target is taken, or something could not be written.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// What was written does not verify.
    #[error("the bundle that was written does not verify: {0}")]
    Corrupt(String),
    /// The manifest has no canonical form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
    /// The tree of sources cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A step with what its read needs.
struct Read {
    step: Value,
    op: Op,
    reference: String,
    resolved: Resolved,
    artifact_id: String,
}

/// What the manifest says of an artifact's file.
struct Written {
    sha256: Digest,
    bytes: u64,
}

/// Builds the bundle of a job into `target`.
pub fn build_job_bundle(
    store: &StoreReader,
    root: &Path,
    run_id: &str,
    job_id: &str,
    target: &Path,
) -> Result<Summary, BuildError> {
    let (job, steps) = check_complete(store, run_id, job_id)?;
    let reads = prepare_reads(store, &steps)?;
    let tree = SourceTree::open(root)?;
    check_place(target, Place::FreeOrEmptyFolder)?;
    let mut staging = Staging::begin_beside(target).map_err(StagingError::from)?;
    let written = write_artifacts(&tree, &reads, &mut staging)?;
    let manifest = make_manifest(&job, &reads, &written)?;
    let mut bytes = canonical_bytes(&manifest, Dialect::Job)?;
    bytes.push(b'\n');
    staging
        .put("bundle.json", &bytes)
        .map_err(StagingError::from)?;
    // Verifying takes as much memory again.
    drop((bytes, manifest, written, reads, steps));
    let how = (Place::FreeOrEmptyFolder, Rights::AsUmask);
    staging.publish(target, how, verify_staged)
}

/// Judges the bundle that is about to be published as strictly as anybody may.
fn verify_staged(folder: &Path) -> Result<Summary, BuildError> {
    let options = VerifyOptions {
        level: Level::Form,
        ..VerifyOptions::default()
    };
    let verified = verify_job_bundle(folder, options);
    verified.summary.ok_or_else(|| {
        let first = verified.report.findings().first();
        let message = first.map(|finding| finding.message.clone());
        BuildError::Corrupt(message.unwrap_or_default())
    })
}

/// The completeness gate (001 §5): every step committed, each with one receipt.
fn check_complete(
    store: &StoreReader,
    run_id: &str,
    job_id: &str,
) -> Result<(JobRecord, Vec<StepRecord>), BuildError> {
    let Some(job) = store.job(run_id, job_id)? else {
        let reason = format!("run `{run_id}` has no job `{job_id}`");
        return Err(BuildError::Incomplete(vec![reason]));
    };
    let steps = store.job_steps(job_id)?;
    let mut reasons = Vec::new();
    if steps.is_empty() {
        reasons.push(format!("job `{job_id}` has no steps"));
    }
    for step in &steps {
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
    }
    if reasons.is_empty() {
        Ok((job, steps))
    } else {
        Err(BuildError::Incomplete(reasons))
    }
}

fn prepare_reads(store: &StoreReader, steps: &[StepRecord]) -> Result<Vec<Read>, BuildError> {
    let mut reads = Vec::with_capacity(steps.len());
    let mut reasons = Vec::new();
    for record in steps {
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
                continue;
            }
        };
        match resolve_step(store, &body)? {
            Ok(resolved) => {
                if body.slice.is_none() {
                    body.set_slice(&resolved.slice);
                }
                reads.push(Read {
                    step: body.to_step(id, record.ordinal),
                    op: body.op,
                    artifact_id: derive_artifact_id(&body.reference, &resolved.slice),
                    reference: body.reference,
                    resolved,
                });
            }
            Err(failure) => reasons.push(format!("step `{id}`: {failure}")),
        }
    }
    if reasons.is_empty() {
        Ok(reads)
    } else {
        Err(BuildError::Unbundled(reasons))
    }
}

/// Writes each artifact once. Every source file is read once, whatever reads from it.
fn write_artifacts(
    tree: &SourceTree,
    reads: &[Read],
    staging: &mut Staging,
) -> Result<BTreeMap<String, Written>, BuildError> {
    let mut by_file: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, read) in reads.iter().enumerate() {
        by_file
            .entry(&read.resolved.section.file_path)
            .or_default()
            .push(at);
    }
    let mut written: BTreeMap<String, Written> = BTreeMap::new();
    let mut reasons: BTreeMap<usize, String> = BTreeMap::new();
    for (path, readers) in by_file {
        let text = tree.read_text(path);
        // A section that many steps read is checked once.
        let mut section = (String::new(), Ok(0..0));
        for at in readers {
            let read = &reads[at];
            if written.contains_key(&read.artifact_id) {
                continue;
            }
            let wanted = &read.resolved.section;
            let cut = text.as_ref().map_err(Clone::clone).and_then(|text| {
                if section.0 != wanted.section_id {
                    section = (wanted.section_id.clone(), section_range(text, wanted));
                }
                let range = section.1.clone()?;
                cut_slice(&text[range], &read.resolved.slice)
            });
            match cut {
                Ok(cut) => {
                    let name = format!("artifacts/{}.txt", read.artifact_id);
                    let result = write_artifact(staging, &name, cut)?;
                    written.insert(read.artifact_id.clone(), result);
                }
                Err(failure) => {
                    let step_id = read.step.get("step_id").and_then(Value::as_str);
                    let step_id = step_id.unwrap_or_default();
                    reasons.insert(at, format!("step `{step_id}`: {failure}"));
                }
            }
        }
    }
    if reasons.is_empty() {
        Ok(written)
    } else {
        Err(BuildError::Unbundled(reasons.into_values().collect()))
    }
}

/// Writes a slice, with a newline where it has none at its end (001 §3.3).
fn write_artifact(staging: &mut Staging, name: &str, text: &str) -> Result<Written, StagingError> {
    let ended;
    let content = if text.ends_with('\n') {
        text
    } else {
        ended = format!("{text}\n");
        &ended
    };
    staging.put(name, content.as_bytes())?;
    Ok(Written {
        sha256: Digest::of(content.as_bytes()),
        bytes: content.len() as u64,
    })
}

fn make_manifest(
    job: &JobRecord,
    reads: &[Read],
    written: &BTreeMap<String, Written>,
) -> Result<Value, NoCanonicalForm> {
    let steps = Value::array(reads.iter().map(|read| read.step.clone()));
    let mut plan = Value::object([("run_id", job.run_id.as_str())]);
    plan.insert("steps", steps.clone());
    let plan_hash = canonical_digest(&plan, Dialect::Job)?;
    let mut artifacts: BTreeMap<&str, Value> = BTreeMap::new();
    for read in reads {
        let Some(file) = written.get(&read.artifact_id) else {
            continue;
        };
        artifacts.entry(&read.artifact_id).or_insert_with(|| {
            let mut artifact = Value::object([
                ("artifact_id", read.artifact_id.as_str()),
                ("kind", read.op.kind()),
                ("ref", read.reference.as_str()),
                ("slice", read.resolved.slice.as_str()),
                (
                    "path",
                    format!("artifacts/{}.txt", read.artifact_id).as_str(),
                ),
                ("sha256", file.sha256.to_string().as_str()),
            ]);
            artifact.insert("bytes", file.bytes);
            artifact
        });
    }
    let root_hash =
        compute_root_hash(written.iter().filter_map(|(id, file)| {
            ArtifactKey::parse(id.as_bytes()).map(|key| (key, file.sha256))
        }));
    let refs = || reads.iter().map(|read| read.reference.as_str());
    let sorted = |texts: BTreeSet<&str>| Value::array(texts);
    let inputs = Value::object([
        (
            "symbols",
            sorted(refs().filter(|text| text.starts_with('@')).collect()),
        ),
        (
            "files",
            sorted(refs().filter(|text| !text.starts_with('@')).collect()),
        ),
        (
            "slices",
            sorted(
                reads
                    .iter()
                    .map(|read| read.resolved.slice.as_str())
                    .collect(),
            ),
        ),
    ]);
    let mut manifest = Value::object([
        ("bundle_version", BUNDLE_VERSION),
        ("bundle_id", ""),
        ("run_id", job.run_id.as_str()),
        ("job_id", job.job_id.as_str()),
        ("message_id", job.message_id.as_str()),
        ("plan_hash", plan_hash.to_string().as_str()),
    ]);
    manifest.insert("steps", steps);
    manifest.insert("inputs", inputs);
    manifest.insert("artifacts", Value::Array(artifacts.into_values().collect()));
    manifest.insert("hashes", Value::object([("root_hash", "")]));
    manifest.insert("provenance", Value::Object(BTreeMap::new()));
    let bundle_id = canonical_digest(&manifest, Dialect::Job)?;
    manifest.insert("bundle_id", bundle_id.to_string().as_str());
    manifest.insert(
        "hashes",
        Value::object([("root_hash", root_hash.to_string().as_str())]),
    );
    Ok(manifest)
}
