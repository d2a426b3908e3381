//! The job bundle (document 001): a folder with the slices that a job read, and nothing else.
//!
//! Pure: this module judges texts and facts that it is given. Other crates read folders, databases
//! and clocks.

pub mod collect;
pub mod facts;
mod folder;
pub mod hashes;
pub mod manifest;
pub mod op;
pub mod plan;
pub mod redactable;
mod rules;
mod rules_files;
mod rules_strict;
pub mod section;
mod shown;
pub mod slice;

use crate::formats::Format;
use crate::formats::definition::{
    Claim, Coverage, FolderNames, FormatDefinition, Judgement, Judging, ProofScope, ReadName, infos,
};
use crate::formats::detect::{Detected, detect_text};
use crate::formats::pack::has_traces;
use crate::formats::redacted::redactable::Redactable;
use crate::source::{Source, SourceError};
use crate::verify::RuleInfo;
pub use collect::{CollectedJob, JudgedJob, VerifiedJob};
pub use rules::{BundleView, JobBundle, ManifestState, RULES, lowest_check};

/// The definition of the job bundle format.
pub static DEFINITION: JobBundleFormat = JobBundleFormat;

/// A job bundle: a folder with a manifest and artifacts.
pub struct JobBundleFormat;

/// Members that only manifests have. Many documents have `inputs`.
const MEMBERS: [&str; 3] = ["bundle_version", "provenance", "hashes"];

/// Whether a text is, or was meant to be, a job bundle's manifest.
pub fn is_manifest(text: &[u8]) -> bool {
    detect_text(text, "") == Detected::Is(Format::JobBundle)
}

impl FormatDefinition for JobBundleFormat {
    fn format(&self) -> Format {
        Format::JobBundle
    }

    fn proves(&self) -> ProofScope {
        ProofScope {
            shows: &[
                "That these are the texts that the job's plan refers to, byte for byte.",
                "That nothing was added or left out: the ids and hashes cover every file.",
            ],
            does_not: &[
                "That the texts are true, or that the sources still say so.",
                "What was done with what was read.",
            ],
        }
    }

    fn rules(&self) -> Vec<&'static RuleInfo> {
        infos(&RULES)
    }

    fn redactable(&self) -> Option<&'static Redactable> {
        Some(&redactable::REDACTABLE)
    }

    fn members(&self) -> &'static [&'static str] {
        &MEMBERS
    }

    fn recognizes_name(&self, name: &str) -> bool {
        matches!(name, "bundle.json" | "artifacts")
    }

    fn covers(&self) -> Coverage {
        Coverage::Named {
            files: Some(&["bundle.json"]),
            folders: &["artifacts"],
        }
    }

    fn sealed_names(&self) -> &'static [&'static str] {
        &["bundle.json", "artifacts"]
    }

    fn claims(&self, names: &FolderNames, read: ReadName<'_>) -> Claim {
        let artifacts = names.has("artifacts");
        if !names.has("bundle.json") {
            return if artifacts { Claim::Weak } else { Claim::No };
        }
        let is_manifest = || read("bundle.json").is_some_and(|text| is_manifest(&text));
        if (artifacts && !has_traces(names)) || is_manifest() {
            return Claim::Strong;
        }
        Claim::No
    }

    fn judge_folder(
        &self,
        source: &dyn Source,
        judging: &Judging<'_>,
    ) -> Option<Result<Judgement, SourceError>> {
        let collected = CollectedJob::collect(source, judging.threads);
        let judged = collected.judge(judging.level, |_| ());
        Some(Ok(Judgement {
            report: judged.report,
            identity: judged.identity,
        }))
    }
}
