//! Verifies a job bundle in a local folder.

use std::path::Path;

use runseal_core::digest::Digest;
use runseal_core::formats::job_bundle::{CollectedJob, VerifiedJob, lowest_check};
use runseal_core::source::SourceError;
use runseal_core::verify::{Outcome, Report};

use runseal_survey::VerifyOptions;

use runseal_fs::directory::{DirectorySource, RootLink};

/// The result of verifying a job bundle.
#[derive(Clone, Debug)]
pub struct Verification {
    /// Every rule and finding.
    pub report: Report,
    /// The bundle's ids, if it is valid.
    pub summary: Option<Summary>,
}

/// The ids of a valid bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The bundle's id, computed from the manifest.
    pub bundle_id: Digest,
    /// The root hash of its artifacts.
    pub root_hash: Digest,
    /// The number of artifacts.
    pub artifact_count: usize,
}

impl Verification {
    /// Returns the number of the lowest check that failed.
    pub fn check(&self) -> Option<u32> {
        lowest_check(self.report.findings())
    }

    /// Returns the outcome, which determines the exit code (001 §9).
    pub fn outcome(&self) -> Outcome {
        match (self.report.is_valid(), self.check()) {
            (true, _) => Outcome::Valid,
            (false, Some(1 | 2) | None) => Outcome::Malformed,
            (false, Some(_)) => Outcome::Invalid,
        }
    }
}

/// Verifies the bundle at `path`: its folder, or its `bundle.json`.
pub fn verify_job_bundle(path: &Path, options: VerifyOptions) -> Verification {
    verify_job_bundle_then(path, options, |_| ()).0
}

/// Verifies the bundle and, if it is valid, calls `then` with what was read.
pub fn verify_job_bundle_then<T>(
    path: &Path,
    options: VerifyOptions,
    then: impl FnOnce(&VerifiedJob<'_>) -> T,
) -> (Verification, Option<T>) {
    let source = open_bundle(path).map(|source| source.with_threads(options.threads));
    let collected = match &source {
        Ok(source) => CollectedJob::collect(source, source.threads()),
        Err(reason) => CollectedJob::absent(reason),
    };
    let judged = collected.judge(options.level, |bundle| {
        let manifest = bundle.manifest();
        let summary = manifest.bundle_id.zip(manifest.root_hash);
        let summary = summary.map(|(bundle_id, root_hash)| Summary {
            bundle_id,
            root_hash,
            artifact_count: manifest.artifacts().len(),
        });
        (summary, then(bundle))
    });
    let (summary, result) = judged.verified.unzip();
    let verification = Verification {
        report: judged.report,
        summary: summary.flatten(),
    };
    (verification, result)
}

/// Opens the bundle's folder, which may be reached through a link or named by its manifest.
fn open_bundle(path: &Path) -> Result<DirectorySource, String> {
    let open = |folder: &Path| {
        DirectorySource::open(folder, RootLink::Follow).map_err(|error| match error {
            SourceError::NotFound { .. } => "the path does not exist".to_owned(),
            other => other.to_string(),
        })
    };
    if path.is_dir() || !path.exists() {
        return open(path);
    }
    if path.file_name().is_none_or(|name| name != "bundle.json") {
        return Err("the path is neither a folder nor a bundle.json".to_owned());
    }
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => open(parent),
        _ => open(Path::new(".")),
    }
}
