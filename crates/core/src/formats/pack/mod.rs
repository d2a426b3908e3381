//! A pack: the folder in which a run is handed over. PK1-PK12 are document 002's; at the integrity
//! level PK13-PK17 check whether its records agree, and RS1-RS8, PL1-PL3, EV1-EV7 and LD1-LD4 are
//! the rules of its content.
//!
//! Invariants: every file is opened once, without following links, and all rules see those bytes; a
//! link, folder, pipe or device in place of a file is never opened and its contents cause no
//! findings. Findings name files of the pack.

mod agreement;
mod companions;
mod completeness;
mod contents;
mod included;
mod proposal;
pub mod redactable;
mod rules;
mod sealed;
mod shown;
mod structure;

use crate::formats::definition::{
    ACCEPTED, Claim, Ended, FolderNames, FormatDefinition, Identity, Judgement, Judging, Outcome,
    ProofScope, ReadName, infos,
};
use crate::formats::job_bundle::is_manifest;
use crate::verify::RuleInfo;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::canon::{Dialect, Document, JsonError, Node, ReadOptions, Value, canonical_digest};
use crate::canon::{Kind, parse_document};
use crate::digest::ContentHash;
use crate::formats::Format;
use crate::formats::ledger::{Line, parse_lines};
use crate::formats::model_io::asked::Volatile;
use crate::formats::redacted::redactable::Redactable;
use crate::formats::run::{ResultKind, parse_result_kind};
use crate::limits::JsonLimits;
use crate::path::SafePath;
use crate::source::{EntryKind, Source, SourceError};
use crate::verify::{Level, Report, Subject, run_rules};

pub use completeness::derive_sandbox_id;
pub use proposal::APPROVED;
pub use rules::RULES;
pub use sealed::{FILES, SELF_HASH, cover_files};

/// The files a pack may contain (002 §3.1), sorted.
pub const MANIFEST: [&str; 9] = [
    "bundle.json",
    "evidence.json",
    "ledger.jsonl",
    "meta.json",
    "model_io.json",
    "patch.json",
    "policy.json",
    "run.json",
    "runner.json",
];

/// The bytes of a pack, as they were read.
pub struct PackFiles {
    entries: Vec<(String, EntryKind)>,
    bytes: BTreeMap<&'static str, Vec<u8>>,
}

impl PackFiles {
    /// Lists a source and reads every regular file of the manifest.
    ///
    /// # Errors
    /// If the source cannot be listed or a file in it cannot be read: then nothing can be said
    /// about the pack.
    pub fn read(source: &dyn Source) -> Result<Self, SourceError> {
        let mut entries = Vec::new();
        let mut bytes = BTreeMap::new();
        for entry in source.entries()? {
            let name = entry.name.exact();
            // What is in a folder is not reported separately.
            if name.contains('/') {
                continue;
            }
            let known = MANIFEST.iter().find(|known| **known == name);
            if let (Some(known), EntryKind::File) = (known, entry.kind)
                && let Ok(path) = SafePath::parse(known)
            {
                bytes.insert(*known, source.read(&path, JsonLimits::LARGEST_DOCUMENT)?);
            }
            entries.push((name.to_owned(), entry.kind));
        }
        Ok(Self { entries, bytes })
    }

    /// The regular files of the manifest, sorted.
    pub fn names(&self) -> Vec<&'static str> {
        self.bytes.keys().copied().collect()
    }

    /// The bytes of a file of the manifest.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.bytes.get(name).map(Vec::as_slice)
    }
}

/// A pack as the rules see it.
pub struct PackView<'a> {
    /// The path as given.
    pack_path: &'a str,
    files: &'a PackFiles,
    documents: BTreeMap<&'static str, Result<Document<'a>, JsonError>>,
    ledger: Vec<Line<'a>>,
    /// The reports on evidence and ledger, made once and used by several rules.
    evidence_report: OnceLock<Report>,
    ledger_report: OnceLock<Report>,
    level: Level,
}

/// The outcome of a pack, by what run.json says.
fn outcome_of(kind: Option<ResultKind>, accepted: Option<bool>) -> Ended {
    let (word, outcome) = match (kind, accepted) {
        (None, _) => (None, Outcome::Unknown),
        (Some(ResultKind::Bundle), Some(true)) => (Some(ACCEPTED), Outcome::Accepted),
        (Some(ResultKind::Bundle), Some(false)) => (Some("not accepted"), Outcome::NotAccepted),
        (Some(kind @ ResultKind::Bundle), None) => (Some(kind.name()), Outcome::Unknown),
        (Some(kind), _) => (Some(kind.name()), Outcome::Refused),
    };
    Ended {
        word,
        outcome: Some(outcome),
    }
}

impl<'a> PackView<'a> {
    /// Parses the files.
    pub fn new(pack_path: &'a str, files: &'a PackFiles, level: Level) -> Self {
        let mut documents = BTreeMap::new();
        let mut ledger = Vec::new();
        // The documents are in memory together, so they share one limit.
        let mut options = ReadOptions::default();
        for (name, bytes) in &files.bytes {
            if *name == "ledger.jsonl" {
                ledger = parse_lines(bytes);
            } else {
                let parsed = parse_document(bytes, &options);
                if let Ok(document) = &parsed {
                    options.share_with(document);
                }
                documents.insert(*name, parsed);
            }
        }
        Self {
            pack_path,
            files,
            documents,
            ledger,
            evidence_report: OnceLock::new(),
            ledger_report: OnceLock::new(),
            level,
        }
    }

    /// The document in a file, if present and valid JSON.
    fn document(&self, name: &str) -> Option<Node<'_>> {
        let parsed = self.documents.get(name)?.as_ref().ok()?;
        Some(parsed.root())
    }

    /// What the run calls itself, and whether it was accepted.
    pub fn identity(&self) -> Identity {
        let Some(run) = self.document("run.json") else {
            return Identity::default().with_result(Outcome::Unknown);
        };
        let accepted = run
            .get("decision")
            .and_then(|decision| decision.get("accepted")?.as_bool());
        let ended = outcome_of(self.outcome(), accepted);
        let mut identity =
            Identity::of_members(run, &["run_id", "bundle.bundle_id"]).ended(ended.word);
        identity.result = ended.outcome;
        if !self.lists_files() {
            let caveat = "run.json lists no hashes of its files; what no other file repeats could \
                          have been changed (docs/not-repeated.md)";
            identity.caveats.push(caveat.to_owned());
        }
        if let Some(recording) = self.document("model_io.json") {
            let volatile = Volatile::of_recording(recording).unwrap_or_default();
            identity.caveats.extend(volatile.tell());
        }
        identity
    }

    /// Whether run.json lists the pack's files, as packs of our harness do.
    fn lists_files(&self) -> bool {
        let run = self.document("run.json");
        run.is_some_and(|run| run.get(FILES).is_some() || run.get(SELF_HASH).is_some())
    }

    fn kind_of(&self, name: &str) -> Option<EntryKind> {
        let found = self.files.entries.iter().find(|(entry, _)| entry == name);
        found.map(|(_, kind)| *kind)
    }

    fn outcome(&self) -> Option<ResultKind> {
        parse_result_kind(self.document("run.json")?)
    }

    /// The reference from run.json to the bundle, if it is an object.
    fn bundle_reference(&self) -> Option<Node<'_>> {
        let reference = self.document("run.json")?.get("bundle")?;
        (reference.kind() == Kind::Object).then_some(reference)
    }

    /// The canonical hash of bundle.json, if it has one.
    fn bundle_hash(&self) -> Option<ContentHash> {
        let digest = canonical_digest(self.document("bundle.json")?, Dialect::Kernel).ok()?;
        Some(digest.into())
    }
}

/// Names the pack as the subject of its rules.
pub struct Pack;

impl Subject for Pack {
    type View<'a> = PackView<'a>;
    const FORMAT: Format = Format::Pack;
    const NAMES_FILES: bool = true;
}

/// Verifies a pack.
pub fn verify_pack(view: &PackView<'_>) -> Report {
    let mut report = run_rules(&RULES, view, view.level);
    for (name, document) in &view.documents {
        if let Ok(document) = document {
            report.locate(Some(name), document.text());
        }
    }
    report
}

/// The verdict in the form of 002 §7.
pub fn render_verdict(view: &PackView<'_>, report: &Report) -> Value {
    let mut verdict = crate::verify::render_json(report);
    verdict.insert("pack_path", view.pack_path);
    if report.is_valid() {
        verdict.insert("files_verified", Value::array(view.files.names()));
        verdict.insert("reference_checks", Value::array(reference_check(view)));
    }
    verdict
}

fn reference_check(view: &PackView<'_>) -> Option<Value> {
    let expected = view.bundle_reference()?.get("sha256")?.as_lossy_str()?;
    let computed = view.bundle_hash()?.to_string();
    Some(Value::object([
        ("source", Value::from("run.json")),
        ("target", Value::from("bundle.json")),
        ("field", Value::from("bundle.sha256")),
        ("match", Value::from(expected == computed)),
        ("expected", Value::from(expected.into_owned())),
        ("computed", Value::from(computed)),
    ]))
}

/// The verdict on a pack that could not be read at all (002 §7.2, rulings: rule id IO).
pub fn render_unreadable(pack_path: &str, message: &str) -> Value {
    let violation = Value::object([("rule_id", "IO"), ("path", pack_path), ("message", message)]);
    Value::object([
        ("ok", Value::from(false)),
        ("pack_path", Value::from(pack_path)),
        ("violations", Value::array([violation])),
    ])
}

/// The definition of the pack format.
pub static DEFINITION: PackFormat = PackFormat;

/// A pack: a flat folder.
pub struct PackFormat;

/// Files that packs have and other folders seldom do. Ledgers, recordings and bundles are also kept
/// with other things.
const TELLING: [&str; 4] = ["evidence.json", "patch.json", "policy.json", "runner.json"];

/// The number of files that packs have and other folders seldom do.
fn count_telling(names: &FolderNames) -> usize {
    TELLING.iter().filter(|name| names.has(name)).count()
}

/// Whether anything besides bundle.json suggests that a folder was meant to be a pack.
pub(super) fn has_traces(names: &FolderNames) -> bool {
    names.has("run.json") || names.has("meta.json") || count_telling(names) > 0
}

impl FormatDefinition for PackFormat {
    fn format(&self) -> Format {
        Format::Pack
    }

    fn proves(&self) -> ProofScope {
        ProofScope {
            shows: &[
                "That the records agree with each other: the decision with the evidence, the evidence with \
             the proposal, the run with its ledger line.",
                "That the run was decided under the policy it names.",
            ],
            does_not: &[
                "That the execution happened: evidence is the executor's word. `runseal replay` does it again.",
                "That the actions were a good idea.",
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
        MANIFEST.contains(&name)
    }

    fn sealed_names(&self) -> &'static [&'static str] {
        &["run.json", "policy.json"]
    }

    fn claims(&self, names: &FolderNames, read: ReadName<'_>) -> Claim {
        if names.has("run.json") {
            return Claim::Strong;
        }
        let is_job = || read("bundle.json").is_some_and(|text| is_manifest(&text));
        let has_bundle = names.has("bundle.json") && has_traces(names);
        if count_telling(names) > 1 || (has_bundle && !is_job()) {
            return Claim::Strong;
        }
        Claim::No
    }

    fn judge_folder(
        &self,
        source: &dyn Source,
        judging: &Judging<'_>,
    ) -> Option<Result<Judgement, SourceError>> {
        let files = match PackFiles::read(source) {
            Ok(files) => files,
            Err(error) => return Some(Err(error)),
        };
        let view = PackView::new(judging.path, &files, judging.level);
        let report = verify_pack(&view);
        let identity = view.identity();
        Some(Ok(Judgement { report, identity }))
    }

    fn follows_root_link(&self) -> bool {
        false
    }
}
