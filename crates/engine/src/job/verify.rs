//! Verifies a job bundle: collects the facts, lets the rules judge them.

use std::io;
use std::path::Path;
use std::thread;

use runseal_core::canon::{JsonError, ReadOptions, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::job_bundle::facts::BundleFacts;
use runseal_core::formats::job_bundle::manifest::Manifest;
use runseal_core::formats::job_bundle::{BundleView, ManifestState, RULES, lowest_check};
use runseal_core::limits::JsonLimits;
use runseal_core::verify::{Outcome, Report, Strictness, run_rules};

use super::archived::collect_archived;
use super::collect::{BundleFolder, Go, ManifestText};
use crate::archive::Archive;

/// Artifacts that one thread reads before a second one has begun.
const FEW_ARTIFACTS: usize = 64;

/// Artifacts for which two threads do, however many processors there are.
const SOME_ARTIFACTS: usize = 1024;

/// How to verify.
#[derive(Clone, Copy, Debug, Default)]
pub struct VerifyOptions {
    /// Which rules must hold.
    pub strictness: Strictness,
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
    let listing = folder.list();
    // Asking for the number of processors reads several files of its own: a small bundle would
    // pay more for the question than for the answer.
    let threads = match options.threads {
        Some(threads) => threads,
        None if listing.artifact_count() <= FEW_ARTIFACTS => 1,
        None if listing.artifact_count() <= SOME_ARTIFACTS => 2,
        None => thread::available_parallelism().map_or(1, usize::from),
    };
    // The other threads read artifacts while this one reads the manifest.
    let (mut text, mut document) = (None, None);
    let (manifest, facts) = listing.collect(threads, || {
        let text = text.insert(folder.read_manifest(JsonLimits::LARGEST_DOCUMENT));
        let bytes = match &*text {
            ManifestText::Bytes(bytes) => bytes,
            ManifestText::Absent(why) => return (Found::Absent(why), Go::Stop),
        };
        match document.insert(parse_document(bytes, &ReadOptions::default())) {
            Ok(document) => (
                Found::Read(bytes, Box::new(Manifest::read(document))),
                Go::On,
            ),
            Err(error) => (Found::Malformed(error), Go::Stop),
        }
    });
    match &manifest {
        Found::Read(bytes, manifest) => {
            judge(ManifestState::Read(bytes, manifest), &facts, options, then)
        }
        Found::Malformed(error) => judge(ManifestState::Malformed(error), &facts, options, then),
        // What the threads had read by then must not show.
        Found::Absent(why) => {
            let facts = folder.list().without_contents();
            judge(ManifestState::Absent(why), &facts, options, then)
        }
    }
}

/// What became of the manifest.
enum Found<'a> {
    Read(&'a [u8], Box<Manifest<'a>>),
    Malformed(&'a JsonError),
    Absent(&'a str),
}

/// Verifies the bundle in `folder` of an archive; the archive itself where that is empty.
pub fn verify_archived_job_bundle(
    archive: &Archive,
    folder: &str,
    options: VerifyOptions,
) -> Verification {
    let (text, facts) = collect_archived(archive, folder);
    let bytes = match &text {
        ManifestText::Bytes(bytes) => bytes,
        ManifestText::Absent(why) => {
            return judge(ManifestState::Absent(why), &facts, options, |_| ()).0;
        }
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
    let strict = options.strictness == Strictness::Strict;
    let view = BundleView {
        manifest,
        facts,
        strict,
    };
    let report = run_rules(&RULES, &view, options.strictness);
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
