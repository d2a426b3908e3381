//! The ten checks of document 001 §8 as rules, and their input.

use super::facts::BundleFacts;
use super::manifest::{Artifact, INPUT_LISTS, Manifest, Step, Text};
use super::slice::is_unbounded;
use super::{rules_files as files, rules_strict as strict};
use crate::canon::JsonError;
use crate::canon::JsonPath;
use crate::formats::Format;
use crate::verify::{Finding, Findings, Gate, Level, Rule, RuleInfo, Subject};

/// A job bundle, as a subject of rules.
#[derive(Debug)]
pub struct JobBundle;

impl Subject for JobBundle {
    type View<'a> = BundleView<'a>;
    const FORMAT: Format = Format::JobBundle;
    const NAMES_FILES: bool = true;
}

/// The state of the manifest.
#[derive(Debug)]
pub enum ManifestState<'a> {
    /// It could not be read, for this reason.
    Absent(&'a str),
    /// It is not a JSON document.
    Malformed(&'a JsonError),
    /// It was parsed.
    Read(&'a Manifest<'a>),
}

/// A bundle as the rules see it.
#[derive(Debug)]
pub struct BundleView<'a> {
    /// The manifest.
    pub manifest: ManifestState<'a>,
    /// The folder.
    pub facts: &'a BundleFacts,
    /// Whether rules of the form level apply.
    pub form: bool,
}

impl<'a> BundleView<'a> {
    pub(super) fn read(&self) -> Option<&'a Manifest<'a>> {
        match self.manifest {
            ManifestState::Read(manifest) => Some(manifest),
            _ => None,
        }
    }
}

const fn info(
    id: &'static str,
    title: &'static str,
    section: &'static str,
    level: Level,
    explanation: &'static str,
) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::JobBundle,
        title,
        section,
        level,
        explanation,
    }
}

pub(super) const NO_MANIFEST: &str = "the manifest could not be read";

fn always(_: &BundleView<'_>) -> Gate {
    Gate::Ready
}

pub(super) fn with_manifest(view: &BundleView<'_>) -> Gate {
    if view.read().is_some() {
        Gate::Ready
    } else {
        Gate::NotRun(NO_MANIFEST)
    }
}

/// The rules of the job bundle, in the order of the document's checks.
pub static RULES: [Rule<JobBundle>; 15] = [
    Rule {
        info: info(
            "JB1",
            "The manifest is one JSON document",
            "001 §8 check 1",
            Level::Document,
            "bundle.json is a regular file with one UTF-8 JSON document: no duplicate keys, no \
             NaN, no text after it, no more than 512 brackets open. Without it nothing else can \
             be checked.",
        ),
        gate: always,
        check: check_manifest,
    },
    Rule {
        info: info(
            "JB2",
            "Every field of the schema is there, with its type",
            "001 §2, §8 check 2",
            Level::Document,
            "All fields of the manifest, its steps and its artifacts are present with the right \
             type; kinds and ops are known; hashes are lower-case hex of their length; the \
             version is 5.N.N.",
        ),
        gate: with_manifest,
        check: |view, findings| {
            for problem in view
                .read()
                .into_iter()
                .flat_map(|manifest| &manifest.problems)
            {
                findings.add(problem.path.clone(), problem.message.clone());
            }
        },
    },
    Rule {
        info: info(
            "JB3",
            "Steps, artifacts and inputs are in order",
            "001 §2.3, §2.4, §8 check 3",
            Level::Document,
            "Steps ascend by (ordinal, step_id), artifacts by artifact_id, each list of inputs \
             by code point; none of them has the same entry twice.",
        ),
        gate: with_manifest,
        check: check_order,
    },
    Rule {
        info: info(
            "JB4",
            "Every artifact has the content it declares",
            "001 §3.2, §8 check 4",
            Level::Document,
            "The file of each artifact is there, is a regular file of UTF-8 text, and its bytes \
             have the declared SHA-256. Compare with `sha256sum`; a file touched by a tool that \
             changes line ends fails here.",
        ),
        gate: with_manifest,
        check: files::check_contents,
    },
    Rule {
        info: info(
            "JB5",
            "Every artifact has the size it declares",
            "001 §8 check 5",
            Level::Document,
            "The number of bytes of each artifact's file is the declared one.",
        ),
        gate: with_manifest,
        check: files::check_sizes,
    },
    Rule {
        info: info(
            "JB6",
            "Every artifact ends with a newline",
            "001 §3.3, §8 check 6",
            Level::Document,
            "The last byte of each artifact's file is LF. In strict mode more than one LF at the \
             end is also a finding.",
        ),
        gate: with_manifest,
        check: files::check_newlines,
    },
    Rule {
        info: info(
            "JB7",
            "The root hash is that of the artifacts",
            "001 §4.1, §8 check 7",
            Level::Document,
            "hashes.root_hash is SHA-256 over one line `<artifact_id>:<sha256>` for each \
             artifact, sorted by id.",
        ),
        gate: gate_root_hash,
        check: check_root_hash,
    },
    Rule {
        info: info(
            "JB8",
            "The bundle id is that of the manifest",
            "001 §4.2, §8 check 8",
            Level::Document,
            "bundle_id is SHA-256 over the canonical manifest with bundle_id and root_hash \
             emptied. Any edit of the manifest shows here. A number that has no canonical form \
             (1e400) is also a finding.",
        ),
        gate: gate_bundle_id,
        check: check_bundle_id,
    },
    Rule {
        info: info(
            "JB9",
            "Every read is bounded and has its artifact",
            "001 §3.1, §8 check 9",
            Level::Document,
            "No slice is ALL or blank, every artifact is referenced by a step and every step has \
             an artifact, compared by ref and slice as written.",
        ),
        gate: with_manifest,
        check: check_bounds,
    },
    Rule {
        info: info(
            "JB10",
            "No forbidden field, no path out of the bundle",
            "001 §7, §8 check 10",
            Level::Document,
            "The manifest has none of timestamp, created_at, updated_at, cwd, os, locale at its \
             top; each artifact's path is artifacts/<artifact_id>.txt; there is no symbolic link \
             anywhere below the folder.",
        ),
        gate: always,
        check: files::check_forbidden,
    },
    Rule {
        info: info(
            "JB11",
            "The plan hash is that of the steps",
            "001 §4.3, rulings",
            Level::Integrity,
            "plan_hash is SHA-256 over the canonical run id and steps.",
        ),
        gate: strict::gate_plan_hash,
        check: strict::check_plan_hash,
    },
    Rule {
        info: info(
            "JB12",
            "The manifest is stored canonically",
            "001 §6, rulings",
            Level::Form,
            "bundle.json is its own canonical text (job dialect) and one LF, byte by byte.",
        ),
        gate: with_manifest,
        check: strict::check_stored_form,
    },
    Rule {
        info: info(
            "JB13",
            "Nothing unknown is in the bundle",
            "001 §2, rulings",
            Level::Form,
            "The folder contains only bundle.json, artifacts/ and the listed artifacts; the \
             manifest, its steps and artifacts have the documented fields only; provenance is {} or \
             has only the commitment of a redactable bundle.",
        ),
        gate: with_manifest,
        check: strict::check_unknown,
    },
    Rule {
        info: info(
            "JB14",
            "Artifacts and inputs follow from the steps",
            "001 §2.2, §2.4, rulings",
            Level::Integrity,
            "artifact_id is derived from ref and slice, kind agrees with the op of every step \
             that reads it, and inputs lists exactly the symbols, files and slices of the steps. \
             provenance.redaction, if given, is a commitment that covers the files of the \
             bundle, and a salt.",
        ),
        gate: with_manifest,
        check: strict::check_derived,
    },
    Rule {
        info: info(
            "JB15",
            "Every slice is well formed",
            "001 §2.3, rulings",
            Level::Form,
            "Each slice is lines[a:b], chars[a:b], head(n) or tail(n), with a below b and n \
             above 0.",
        ),
        gate: with_manifest,
        check: strict::check_slices,
    },
];

/// The number of the lowest failed check: JB7 is 7. `None` if there are no findings.
pub fn lowest_check(findings: &[Finding]) -> Option<u32> {
    findings
        .iter()
        .filter_map(|f| f.rule_id.strip_prefix("JB")?.parse().ok())
        .min()
}

fn check_manifest(view: &BundleView<'_>, findings: &mut Findings) {
    match view.manifest {
        ManifestState::Absent(reason) => {
            findings.add("bundle.json", format!("no manifest: {reason}"))
        }
        ManifestState::Malformed(error) => {
            findings.add("bundle.json", format!("not a JSON document: {error}"));
        }
        ManifestState::Read(..) => {}
    }
}

fn check_order(view: &BundleView<'_>, findings: &mut Findings) {
    let Some(manifest) = view.read() else { return };
    findings.need((manifest.has_steps() && manifest.has_artifacts()).then_some(()));
    let mut before = None;
    for (at, step) in manifest.steps().enumerate() {
        let Some(order) = findings.need(step.order()) else {
            continue;
        };
        if let Some(before) = before.replace(order.clone())
            && before >= order
        {
            let relation = if before == order {
                "repeats"
            } else {
                "sorts before"
            };
            findings.add(
                JsonPath::ROOT.then("steps").then(at),
                format!(
                    "step `{}` {relation} step `{}` by (ordinal, step_id)",
                    order.1.to_lossy(),
                    before.1.to_lossy()
                ),
            );
        }
    }
    let ids = manifest.artifacts().map(Artifact::artifact_id);
    check_ascending(JsonPath::ROOT.then("artifacts"), ids, findings);
    for (list, name) in INPUT_LISTS.into_iter().enumerate() {
        findings.need(manifest.has_input_texts(list).then_some(()));
        check_ascending(
            JsonPath::ROOT.then("inputs").then(name),
            manifest.input_texts(list).map(Some),
            findings,
        );
    }
}

/// Compares each entry with the one before it; what is not there is passed over.
fn check_ascending<'a>(
    place: JsonPath,
    entries: impl Iterator<Item = Option<Text<'a>>>,
    findings: &mut Findings,
) {
    let mut before: Option<Text<'_>> = None;
    for (at, entry) in entries.enumerate() {
        let Some(entry) = findings.need(entry) else {
            continue;
        };
        if let Some(before) = &before
            && *before >= entry
        {
            let relation = if *before == entry {
                "repeats"
            } else {
                "sorts before"
            };
            let (entry, before) = (entry.to_lossy(), before.to_lossy());
            findings.add(place.then(at), format!("`{entry}` {relation} `{before}`"));
        }
        before = Some(entry);
    }
}

fn gate_root_hash(view: &BundleView<'_>) -> Gate {
    match view.read() {
        None => Gate::NotRun(NO_MANIFEST),
        Some(manifest) if manifest.root_hash.is_none() => {
            Gate::NotRun("there is no root_hash to compare with")
        }
        Some(manifest) if manifest.computed_root.is_none() => {
            Gate::NotRun("there is no list of artifacts, or one has no artifact_id or sha256")
        }
        Some(_) => Gate::Ready,
    }
}

fn check_root_hash(view: &BundleView<'_>, findings: &mut Findings) {
    let Some(manifest) = view.read() else { return };
    let (Some(computed), Some(declared)) = (manifest.computed_root, manifest.root_hash) else {
        return;
    };
    if declared != computed {
        findings.add_difference(
            JsonPath::ROOT.then("hashes").then("root_hash"),
            "the root hash is not that of the artifacts",
            computed.to_string(),
            declared.to_string(),
        );
    }
}

fn gate_bundle_id(view: &BundleView<'_>) -> Gate {
    match view.read() {
        None => Gate::NotRun(NO_MANIFEST),
        Some(manifest)
            if manifest.bundle_id.is_none()
                || manifest.root_hash.is_none()
                || manifest.computed_id.is_none() =>
        {
            Gate::NotRun("bundle_id or hashes.root_hash is missing or not a digest")
        }
        Some(_) => Gate::Ready,
    }
}

fn check_bundle_id(view: &BundleView<'_>, findings: &mut Findings) {
    let Some(manifest) = view.read() else { return };
    match &manifest.computed_id {
        Some(Ok(computed)) if Some(*computed) == manifest.bundle_id => {}
        Some(Ok(computed)) => {
            let declared = manifest.text("bundle_id");
            findings.add_difference(
                JsonPath::ROOT.then("bundle_id"),
                "the bundle id is not that of the manifest",
                computed.to_string(),
                declared
                    .map(|text| text.to_lossy().into_owned())
                    .unwrap_or_default(),
            );
        }
        Some(Err(error)) => {
            findings.add(
                JsonPath::ROOT.then("bundle_id"),
                format!("the manifest has no canonical form: {error}"),
            );
        }
        None => {}
    }
}

fn check_bounds(view: &BundleView<'_>, findings: &mut Findings) {
    let Some(manifest) = view.read() else { return };
    let unbounded = |slice: &Text<'_>| slice.as_str().is_some_and(is_unbounded);
    let message =
        |slice: &Text<'_>| format!("expected a bounded slice, actual `{}`", slice.to_lossy());
    for (at, step) in manifest.steps().enumerate() {
        if let Some(slice) = step.slice().filter(unbounded) {
            findings.add(
                JsonPath::ROOT
                    .then("steps")
                    .then(at)
                    .then("constraints")
                    .then("slice"),
                message(&slice),
            );
        }
    }
    for (at, artifact) in manifest.artifacts().enumerate() {
        if let Some(slice) = artifact.slice().filter(unbounded) {
            findings.add(
                JsonPath::ROOT.then("artifacts").then(at).then("slice"),
                message(&slice),
            );
        }
    }
    if manifest.matching.is_some() {
        return;
    }
    // What a step or an artifact lacks may be what the other side has.
    let is_readable = manifest.has_steps() && manifest.steps().all(|it| it.pair().is_some());
    let is_listed = manifest.has_artifacts() && manifest.artifacts().all(|it| it.pair().is_some());
    findings.need((is_readable && is_listed).then_some(()));
    let mut read: Vec<_> = manifest.steps().filter_map(Step::pair).collect();
    let mut held: Vec<_> = manifest.artifacts().filter_map(Artifact::pair).collect();
    read.sort_unstable();
    held.sort_unstable();
    for (at, artifact) in manifest.artifacts().enumerate().filter(|_| is_readable) {
        if let Some(pair) = artifact.pair()
            && read.binary_search(&pair).is_err()
        {
            findings.add(
                JsonPath::ROOT.then("artifacts").then(at),
                format!(
                    "no step reads `{}` of `{}`",
                    pair.1.to_lossy(),
                    pair.0.to_lossy()
                ),
            );
        }
    }
    for (at, step) in manifest.steps().enumerate().filter(|_| is_listed) {
        if let Some(pair) = step.pair()
            && held.binary_search(&pair).is_err()
        {
            findings.add(
                JsonPath::ROOT.then("steps").then(at),
                format!(
                    "no artifact has `{}` of `{}`",
                    pair.1.to_lossy(),
                    pair.0.to_lossy()
                ),
            );
        }
    }
}
