//! bundle.json: written element by element, with a commitment if parts may be withheld later.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;

use runseal_core::canon::{CanonError, Dialect, ObjectWriter, Value};
use runseal_core::digest::{Digest, Hasher};
use runseal_core::formats::job_bundle::facts::ArtifactKey;
use runseal_core::formats::job_bundle::hashes::compute_root_hash;
use runseal_core::formats::job_bundle::redactable::REDACTABLE;
use runseal_core::formats::redacted::commit::Seed;
use runseal_core::formats::redacted::documents::FileKind;
use runseal_core::source::SourceError;

use super::{Artifact, Artifacts, BuildError};
use crate::store::JobRecord;
use runseal_fs::atomic::{WriteError, folder_of};
use runseal_fs::staging::{Staging, StagingError};
use runseal_redact::{Committing, RedactError};

/// The protocol version that is written.
const BUNDLE_VERSION: &str = "5.0.0";
const MANIFEST: &str = "bundle.json";

/// Writes bundle.json: canonical JSON and one LF (001 §2).
pub(super) fn write_manifest(
    job: &JobRecord,
    steps: &mut Scratch,
    artifacts: &Artifacts,
    staging: &Staging,
    seed: Option<&Seed>,
) -> Result<(), BuildError> {
    let plan_hash = compute_plan_hash(job, steps)?;
    let written = artifacts
        .iter()
        .filter_map(|(key, artifact)| Some((*key, artifact.written?.sha256)));
    let root_hash = compute_root_hash(written).to_string();
    let mut manifest = Manifest {
        job,
        artifacts,
        plan_hash: plan_hash.to_string(),
        provenance: Value::object::<Value>([]),
    };
    if let Some(seed) = seed {
        manifest.provenance = manifest.commit(seed, &root_hash, steps, &staging.reading_path())?;
    }
    // The bundle's id is the hash of the manifest in which both hashes are still empty.
    let mut hasher = Hasher::new();
    manifest.write(&mut hasher, "", "", steps)?;
    let bundle_id = hasher.finish().to_string();
    let (file, place) = staging.create(MANIFEST).map_err(StagingError::from)?;
    let mut file = io::BufWriter::new(file);
    manifest.write(&mut file, &bundle_id, &root_hash, steps)?;
    let ended = file.write_all(b"\n").and_then(|()| file.flush());
    ended.map_err(|error| StagingError::from(WriteError::at(&place)(error)))?;
    Ok(())
}

/// Computes the plan's hash over the run and its steps in the manifest's form.
fn compute_plan_hash(job: &JobRecord, steps: &mut Scratch) -> Result<Digest, BuildError> {
    let mut hasher = Hasher::new();
    let mut plan = ObjectWriter::begin(&mut hasher, Dialect::Job)?;
    plan.member("run_id", &Value::from(job.run_id.as_str()))?;
    plan.list("steps", |list| list.append(steps.rewound()?))?;
    plan.end()?;
    Ok(hasher.finish())
}

/// The content of bundle.json, without the two hashes that depend on it.
struct Manifest<'a> {
    job: &'a JobRecord,
    artifacts: &'a Artifacts,
    plan_hash: String,
    provenance: Value,
}

impl Manifest<'_> {
    /// Returns the value of `provenance`: the commitment to the artifacts and to the rest of the
    /// manifest.
    fn commit(
        &self,
        seed: &Seed,
        root_hash: &str,
        steps: &mut Scratch,
        folder: &Path,
    ) -> Result<Value, BuildError> {
        let mut committing = Committing::begin(&REDACTABLE, seed);
        for (key, artifact) in self.artifacts {
            let Some(written) = artifact.written else {
                continue;
            };
            let path = format!("artifacts/{}", key.file_name());
            let file = folder.join(&path);
            committing.add(&path, (written.sha256, written.bytes), || {
                File::open(&file).map_err(|source| {
                    let path = path.clone();
                    RedactError::Source(SourceError::Io { path, source })
                })
            })?;
        }
        let mut text = Vec::new();
        self.write(&mut text, "", root_hash, steps)?;
        let fail = |fault| RedactError::NoCommitment(format!("the manifest: {fault}"));
        let mut document = FileKind::Json.read(&text).map_err(fail)?;
        committing.end_in(MANIFEST, &mut document)?;
        let provenance = document.get("provenance").cloned();
        Ok(provenance.unwrap_or(Value::Null))
    }

    fn write(
        &self,
        sink: &mut dyn Write,
        bundle_id: &str,
        root_hash: &str,
        steps: &mut Scratch,
    ) -> Result<(), CanonError> {
        let text = |text: &str| Value::from(text);
        let mut manifest = ObjectWriter::begin(sink, Dialect::Job)?;
        manifest.list("artifacts", |list| {
            for (key, artifact) in self.artifacts {
                if let Some(value) = artifact.to_value(*key) {
                    list.element(&value)?;
                }
            }
            Ok::<_, CanonError>(())
        })?;
        manifest.member("bundle_id", &text(bundle_id))?;
        manifest.member("bundle_version", &text(BUNDLE_VERSION))?;
        manifest.member("hashes", &Value::object([("root_hash", root_hash)]))?;
        manifest.member("inputs", &self.inputs())?;
        manifest.member("job_id", &text(self.job.job_id.as_str()))?;
        manifest.member("message_id", &text(self.job.message_id.as_str()))?;
        manifest.member("plan_hash", &text(&self.plan_hash))?;
        manifest.member("provenance", &self.provenance)?;
        manifest.member("run_id", &text(self.job.run_id.as_str()))?;
        manifest.list("steps", |list| list.append(steps.rewound()?))?;
        manifest.end()?;
        Ok(())
    }

    /// Everything that is read, sorted and deduplicated.
    fn inputs(&self) -> Value {
        let artifacts = || self.artifacts.values();
        let references = |are_symbols: bool| {
            let references = artifacts().map(|artifact| &*artifact.section.reference);
            let wanted = references.filter(|text| text.starts_with('@') == are_symbols);
            Value::array(wanted.collect::<BTreeSet<_>>())
        };
        let slices: BTreeSet<_> = artifacts().map(|artifact| &*artifact.slice).collect();
        Value::object([
            ("files", references(false)),
            ("slices", Value::array(slices)),
            ("symbols", references(true)),
        ])
    }
}

impl Artifact {
    /// Returns the artifact's entry in the manifest, once it is written.
    fn to_value(&self, key: ArtifactKey) -> Option<Value> {
        let written = self.written?;
        let mut value = Value::object([
            ("artifact_id", key.to_string().as_str()),
            ("kind", self.op.kind()),
            ("ref", &*self.section.reference),
            ("slice", &*self.slice),
            ("path", format!("artifacts/{}", key.file_name()).as_str()),
            ("sha256", written.sha256.to_string().as_str()),
        ]);
        value.insert("bytes", written.bytes);
        Some(value)
    }
}

/// An unnamed temporary file, for what is too long for memory.
pub(super) struct Scratch {
    pub(super) file: File,
}

impl Scratch {
    /// Creates one on the disk of the future bundle.
    pub(super) fn beside(folder: &Path) -> Result<Self, StagingError> {
        let file = tempfile::tempfile_in(folder_of(folder)).map_err(WriteError::at(folder))?;
        Ok(Self { file })
    }

    /// Returns the file, positioned at its beginning.
    fn rewound(&mut self) -> io::Result<&mut File> {
        self.file.rewind()?;
        Ok(&mut self.file)
    }
}
