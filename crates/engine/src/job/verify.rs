//! Verifies a job bundle: collects the facts, lets the rules judge them.

use std::io;
use std::path::Path;
use std::thread;

use runseal_core::canon::{Document, JsonError, ReadOptions, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::job_bundle::facts::BundleFacts;
use runseal_core::formats::job_bundle::manifest::Manifest;
use runseal_core::formats::job_bundle::{BundleView, ManifestState, RULES, lowest_check};
use runseal_core::limits::JsonLimits;
use runseal_core::verify::{Level, Outcome, Report, run_rules};

use super::archived::collect_archived;
use super::collect::{BundleFolder, ManifestFile};
use super::reading::{Go, list_only, read_beside};
use crate::archive::Archive;

/// A manifest below this size lists fewer than about 64 artifacts.
const FEW_ARTIFACTS: u64 = 32 << 10;

/// A manifest below this size lists fewer than about 1,000 artifacts.
const SOME_ARTIFACTS: u64 = 512 << 10;

/// How to verify.
#[derive(Clone, Copy, Debug, Default)]
pub struct VerifyOptions {
    /// Which rules must hold.
    pub level: Level,
    /// How many threads read artifacts; as many as there are processors where not said.
    pub threads: Option<usize>,
}

/// What verifying a job bundle gave.
#[derive(Clone, Debug)]
pub struct Verification {
    /// Every rule and finding.
    pub report: Report,
    /// The ids of a bundle that holds.
    pub summary: Option<Summary>,
}

/// The ids of a bundle that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its id.
    pub bundle_id: Digest,
    /// The root hash of its artifacts.
    pub root_hash: Digest,
    /// How many artifacts it has.
    pub artifact_count: usize,
}

impl Verification {
    /// The number of the lowest check that failed.
    pub fn check(&self) -> Option<u32> {
        lowest_check(self.report.findings())
    }

    /// How it ended, for the exit code (001 §9).
    pub fn outcome(&self) -> Outcome {
        match (self.report.is_valid(), self.check()) {
            (true, _) => Outcome::Valid,
            (false, Some(1 | 2) | None) => Outcome::Malformed,
            (false, Some(_)) => Outcome::Invalid,
        }
    }
}

/// A bundle that was verified and holds. There is no other way to get one.
#[derive(Debug)]
pub struct VerifiedBundle<'a> {
    manifest: &'a Manifest<'a>,
    facts: &'a BundleFacts,
}

impl<'a> VerifiedBundle<'a> {
    /// What its manifest says.
    pub fn manifest(&self) -> &'a Manifest<'a> {
        self.manifest
    }

    /// What its artifacts hold.
    pub fn facts(&self) -> &'a BundleFacts {
        self.facts
    }
}

/// Verifies the bundle at `path`: its folder, or its `bundle.json`.
pub fn verify_job_bundle(path: &Path, options: VerifyOptions) -> Verification {
    verify_job_bundle_then(path, options, |_| ()).0
}

/// Verifies the bundle and, if it holds, goes on with what was read.
pub fn verify_job_bundle_then<T>(
    path: &Path,
    options: VerifyOptions,
    then: impl FnOnce(&VerifiedBundle<'_>) -> T,
) -> (Verification, Option<T>) {
    let nothing = BundleFacts::empty();
    let folder = match BundleFolder::open(path) {
        Ok(folder) => folder,
        Err(error) => {
            let why = match error.kind() {
                io::ErrorKind::NotFound => "the path does not exist".to_owned(),
                _ => error.to_string(),
            };
            return judge(ManifestState::Absent(&why), &nothing, options, then);
        }
    };
    if folder.manifest_name() != "bundle.json" {
        let why = "the path is neither a folder nor a bundle.json";
        return judge(ManifestState::Absent(why), &nothing, options, then);
    }
    let manifest = match folder.open_manifest(JsonLimits::LARGEST_DOCUMENT) {
        Ok(manifest) => manifest,
        Err(why) => {
            let facts = list_only(&folder);
            return judge(ManifestState::Absent(&why), &facts, options, then);
        }
    };
    let threads = threads_for(manifest.size(), options.threads);
    let (mut bytes, mut document) = (None, None);
    let (state, facts) = read_beside(&folder, threads, || {
        match read_document(manifest, &mut bytes, &mut document) {
            Ok(read) => (Ok(read), Go::On),
            Err(lost) => (Err(lost), Go::Stop),
        }
    });
    match &state {
        Ok((bytes, manifest)) => judge(ManifestState::Read(bytes, manifest), &facts, options, then),
        Err(Lost::Malformed(error)) => {
            judge(ManifestState::Malformed(error), &facts, options, then)
        }
        Err(Lost::Unreadable(why)) => judge(ManifestState::Absent(why), &facts, options, then),
    }
}

/// How many threads a bundle with a manifest of this size is worth, the manifest's own included:
/// as many as were asked for, else as many as there are processors. With few artifacts a second
/// one has hardly begun when the first is done, and asking for the number of processors reads
/// several files of its own.
fn threads_for(manifest_bytes: u64, asked_for: Option<usize>) -> usize {
    match asked_for {
        _ if manifest_bytes < FEW_ARTIFACTS => 1,
        Some(threads) => threads,
        None if manifest_bytes < SOME_ARTIFACTS => 2,
        None => thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Why there is no manifest to go on with.
enum Lost<'a> {
    Unreadable(String),
    Malformed(&'a JsonError),
}

/// Reads the manifest, into places that live as long as what points into them.
fn read_document<'a>(
    manifest: ManifestFile,
    bytes: &'a mut Option<Vec<u8>>,
    document: &'a mut Option<Result<Document<'a>, JsonError>>,
) -> Result<(&'a [u8], Manifest<'a>), Lost<'a>> {
    let bytes = &*bytes.insert(manifest.read().map_err(Lost::Unreadable)?);
    match document.insert(parse_document(bytes, &ReadOptions::default())) {
        Ok(document) => Ok((bytes, Manifest::read(document))),
        Err(error) => Err(Lost::Malformed(error)),
    }
}

/// Verifies the bundle in `folder` of an archive; the archive itself where that is empty.
pub fn verify_archived_job_bundle(
    archive: &Archive,
    folder: &str,
    options: VerifyOptions,
) -> Verification {
    let (text, facts) = collect_archived(archive, folder);
    let bytes = match text {
        Ok(bytes) => bytes,
        Err(why) => return judge(ManifestState::Absent(why), &facts, options, |_| ()).0,
    };
    match parse_document(bytes, &ReadOptions::default()) {
        Ok(document) => {
            let manifest = Manifest::read(&document);
            let state = ManifestState::Read(bytes, &manifest);
            judge(state, &facts, options, |_| ()).0
        }
        Err(error) => judge(ManifestState::Malformed(&error), &facts, options, |_| ()).0,
    }
}

fn judge<T>(
    manifest: ManifestState<'_>,
    facts: &BundleFacts,
    options: VerifyOptions,
    then: impl FnOnce(&VerifiedBundle<'_>) -> T,
) -> (Verification, Option<T>) {
    let strict = options.level == Level::Form;
    let view = BundleView {
        manifest,
        facts,
        strict,
    };
    let report = run_rules(&RULES, &view, options.level);
    let verified = match view.manifest {
        ManifestState::Read(_, manifest) if report.is_valid() => {
            Some(VerifiedBundle { manifest, facts })
        }
        _ => None,
    };
    let summary = verified.as_ref().and_then(|bundle| {
        Some(Summary {
            bundle_id: bundle.manifest.bundle_id?,
            root_hash: bundle.manifest.root_hash?,
            artifact_count: bundle.manifest.artifacts.len(),
        })
    });
    let result = verified.as_ref().map(then);
    (Verification { report, summary }, result)
}
