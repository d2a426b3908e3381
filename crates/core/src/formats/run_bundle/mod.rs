//! Run bundles (document 004): the folder of one engine run, RB1-RB21.
//!
//! - [`layout`]: the files, their roles, content types and ids.
//! - [`forbidden`]: the context keys that never get into a bundle.
//! - [`sums`], [`index`]: the two lists of files, parsed leniently so that every fault is reported.
//! - [`outputs`]: what the two hashes of an output cover.
//! - [`reading`]: the kind of a run, its command, its ending and the roles of its files.
//! - [`recorded`]: what a recorded command read and wrote, as its documents list it.
//! - [`redactable`]: what redaction needs to know about them.
//! - [`facts`]: what was found on disk, and the documents, as the rules see them.
//! - [`rules`]: the table.
//!
//! Paths in findings are paths of files in the bundle; JSON Pointers are in the messages.

pub mod collect;
pub mod facts;
pub mod forbidden;
pub mod index;
pub mod layout;
pub mod outputs;
pub mod pointer;
pub mod reading;
pub mod recorded;
pub mod redactable;
pub mod replay_rules;
pub mod rules;
mod rules_agreement;
mod rules_documents;
mod rules_environment;
mod rules_files;
mod rules_meta;
mod rules_models;
mod rules_recorded;
mod rules_shape;
mod shown;
pub mod sums;
pub mod time;

use crate::canon::{ReadOptions, parse_document};
use crate::formats::Format;
use crate::formats::definition::{
    Claim, FolderNames, FormatDefinition, Identity, Judgement, Judging, ProofScope, ReadName, infos,
};
use crate::formats::model_io::asked::Volatile;
use crate::formats::redacted::documents::REDACTION;
use crate::formats::redacted::redactable::Redactable;
use crate::source::{Source, SourceError};
use crate::verify::RuleInfo;
pub use collect::{CollectedRun, SchemaJudge};
pub use facts::{Doc, EntryFact, FileFact, RunBundleFacts, RunBundleView, SchemaVerdict};
use reading::RunReading;
pub use rules::{RULES, RunBundle, verify_run_bundle};
pub use rules_shape::find_unknown_members;

/// The definition of the run bundle format.
pub static DEFINITION: RunBundleFormat = RunBundleFormat;

/// A run bundle: a folder of contracts, inputs, outputs and artifacts.
pub struct RunBundleFormat;

/// Whether a file of this name makes its folder a run bundle, whatever else is missing.
fn is_trace(name: &str) -> bool {
    name.starts_with("RUN_")
        || matches!(name, layout::ARTIFACT_INDEX | layout::INPUT_ARTIFACT_INDEX)
}

/// Whether these names are traces of a run bundle.
pub(crate) fn has_trace(names: &FolderNames) -> bool {
    // Contracts alone are an engine's; an engine's own folder has nothing that a run produced.
    let has_contents = names.has(layout::SUMS) || names.has_folder("artifacts");
    names.any_file(is_trace) || (names.has(layout::MANIFEST) && has_contents)
}

impl FormatDefinition for RunBundleFormat {
    fn format(&self) -> Format {
        Format::RunBundle
    }

    fn proves(&self) -> ProofScope {
        ProofScope {
            shows: &[
                "That input, output, contracts and every artifact are those that were sealed together.",
                "That input and output satisfy the schemas that came with them.",
            ],
            does_not: &[
                "That the engine computes what it should, or that its input was true.",
                "That the run happened at the time it names: that is its maker's clock.",
            ],
        }
    }

    fn rules(&self) -> Vec<&'static RuleInfo> {
        infos(&RULES)
    }

    fn redactable(&self) -> Option<&'static Redactable> {
        Some(&redactable::REDACTABLE)
    }

    fn recognizes_name(&self, name: &str) -> bool {
        is_trace(name) || matches!(name, layout::SUMS | layout::MANIFEST)
    }

    fn sealed_names(&self) -> &'static [&'static str] {
        &[layout::RUN_META, layout::SUMS]
    }

    fn read_once(&self) -> &'static [&'static str] {
        &collect::READ_ONCE
    }

    fn claims(&self, names: &FolderNames, _: ReadName<'_>) -> Claim {
        if has_trace(names) {
            Claim::Strong
        } else {
            Claim::No
        }
    }

    fn judge_folder(
        &self,
        source: &dyn Source,
        judging: &Judging<'_>,
    ) -> Option<Result<Judgement, SourceError>> {
        let collected = match CollectedRun::collect(source) {
            Ok(collected) => collected,
            Err(error) => return Some(Err(error)),
        };
        let report = collected.judge_at(judging.path, judging.level, judging.tools);
        let identity = collected.identity();
        Some(Ok(Judgement { report, identity }))
    }
}

impl CollectedRun<'_> {
    /// What the run calls itself, how it ended, and what was not captured.
    pub fn identity(&self) -> Identity {
        let parse = |name: &str| {
            let bytes = self.documents.get(name)?;
            parse_document(bytes, &ReadOptions::default()).ok()
        };
        let names = [layout::MANIFEST, layout::RUN_OUTPUT];
        let documents = names.map(|name| (name, parse(name)));
        let run = RunReading::new(|name| {
            let (_, document) = documents.iter().find(|(known, _)| *known == name)?;
            Some(document.as_ref()?.root())
        });
        let identity = parse(layout::RUN_META)
            .map(|document| Identity::of_members(document.root(), &["run_id"]))
            .unwrap_or_default();
        let ended = run.ending().ended();
        let mut identity = identity.ended(ended.word);
        identity.result = ended.outcome;
        if let Some(environment) = parse(layout::RUN_ENVIRONMENT) {
            identity.not_captured = recorded::describe_gaps(environment.root());
        }
        // Most recordings declare nothing volatile, and are long: they are not read again for that.
        let declares = |bytes: &[u8]| {
            let list = br#""volatile":[""#;
            bytes.windows(list.len()).any(|window| window == list)
        };
        let recording = self.documents.get(layout::MODEL_IO);
        if recording.is_some_and(|bytes| declares(bytes))
            && let Some(recording) = parse(layout::MODEL_IO)
        {
            let volatile = Volatile::of_recording(recording.root()).unwrap_or_default();
            identity.caveats.extend(volatile.tell());
        }
        if self.facts.file(REDACTION).is_some() {
            let caveat = "what its redacted copies will show is its sealer's word: the commitment in \
                          REDACTION.json can be checked only with the seed";
            identity.caveats.push(caveat.to_owned());
        }
        identity
    }
}
