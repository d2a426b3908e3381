//! What strict mode adds: JB11 to JB15.

use super::facts::ArtifactKey;
use super::hashes::{PlanHasher, STEP_FIELDS, derive_artifact_id};
use super::manifest::{ARTIFACT_FIELDS, Artifact, INPUT_LISTS, Manifest, Step, Text};
use super::op::Op;
use super::redactable::{REDACTABLE, REDACTION_MEMBER};
use super::rules::{BundleView, NO_MANIFEST};
use super::slice::parse_slice;
use crate::canon::{
    Dialect, JsonPath, Kind, NoCanonicalForm, Node, ReadOptions, compare_canonical,
};
use crate::digest::Digest;
use crate::verify::{Findings, Gate};

const TOP_FIELDS: [&str; 11] = [
    "artifacts",
    "bundle_id",
    "bundle_version",
    "hashes",
    "inputs",
    "job_id",
    "message_id",
    "plan_hash",
    "provenance",
    "run_id",
    "steps",
];

pub(super) fn gate_plan_hash(view: &BundleView<'_>) -> Gate {
    match view.read() {
        None => Gate::NotRun(NO_MANIFEST),
        Some(manifest) if manifest.plan_hash.is_none() => {
            Gate::NotRun("there is no plan_hash to compare with")
        }
        Some(manifest) if manifest.text("run_id").is_none() => Gate::NotRun("there is no run_id"),
        // In a streamed manifest, every step was found to have both.
        Some(manifest) if manifest.streamed_plan_hash.is_some() => Gate::Ready,
        Some(manifest) if !manifest.has_steps() => Gate::NotRun("there is no list of steps"),
        Some(manifest) if manifest.steps().any(|step| step.order().is_none()) => {
            Gate::NotRun("a step has no ordinal or step_id")
        }
        Some(_) => Gate::Ready,
    }
}

pub(super) fn check_plan_hash(view: &BundleView<'_>, findings: &mut Findings) {
    let Some(manifest) = view.read() else { return };
    let Some(run_id) = manifest.outline.get("run_id") else {
        return;
    };
    let is_step = |step: Step<'_>| step.op().is_some() && step.has_objects();
    let is_whole = manifest.streamed_plan_hash.is_some() || manifest.steps().all(is_step);
    if findings.need(is_whole.then_some(())).is_none() {
        return;
    }
    match hash_plan(manifest, run_id) {
        Some(Ok(computed)) => {
            if let Some(declared) = manifest.plan_hash
                && declared != computed
            {
                findings.add_difference(
                    JsonPath::ROOT.then("plan_hash"),
                    "the plan hash is not that of the steps",
                    computed.to_string(),
                    declared.to_string(),
                );
            }
        }
        Some(Err(error)) => {
            findings.add(
                JsonPath::ROOT.then("plan_hash"),
                format!("the steps have no canonical form: {error}"),
            );
        }
        None => {}
    }
}

/// The plan hash of the steps; `None` if a step lacks one of its fields.
fn hash_plan(manifest: &Manifest<'_>, run_id: Node<'_>) -> Option<Result<Digest, NoCanonicalForm>> {
    if let Some(digest) = manifest.streamed_plan_hash {
        return Some(Ok(digest));
    }
    let mut hasher = match PlanHasher::begin(run_id) {
        Ok(hasher) => hasher,
        Err(error) => return Some(Err(error)),
    };
    let mut steps: Vec<_> = manifest.steps().collect();
    steps.sort_by_cached_key(|step| (step.ordinal(), step.step_id()));
    let mut elements = manifest.outline.elements();
    for step in steps {
        if let Err(error) = elements.look(step.start(), |node| hasher.add(node))?? {
            return Some(Err(error));
        }
    }
    Some(Ok(hasher.finish()))
}

pub(super) fn check_stored_form(view: &BundleView<'_>, findings: &mut Findings) {
    let Some(manifest) = view.read() else { return };
    if manifest.outline.is_stored_as_job("\n") {
        return;
    }
    let mut add = |message: String| findings.add("bundle.json", message);
    let whole = match manifest.outline.parse_whole(&ReadOptions::default()) {
        Ok(whole) => whole,
        Err(error) => return add(format!("not a JSON document: {error}")),
    };
    let stored = manifest.outline.text().as_bytes();
    let text = stored.strip_suffix(b"\n").unwrap_or(stored);
    match compare_canonical(whole.root(), Dialect::Job, text) {
        Ok((_, None)) if text.len() < stored.len() => {}
        Ok((_, differs_at)) => {
            let at = differs_at.unwrap_or(stored.len());
            add(format!(
                "expected the canonical text and one LF, actual other bytes from {at}"
            ));
        }
        Err(error) => add(format!("no canonical form: {error}")),
    }
}

pub(super) fn check_unknown(view: &BundleView<'_>, findings: &mut Findings) {
    let Some(manifest) = view.read() else { return };
    let outline = &manifest.outline;
    for key in outline.keys() {
        if !TOP_FIELDS.contains(&&*key) {
            findings.add(JsonPath::ROOT.then(&*key), "unknown field");
        }
    }
    let mut unknown = |node: Node<'_>, known: &[&str], place: &dyn Fn() -> JsonPath| {
        for (key, _) in node.members() {
            if !key.as_str().is_some_and(|key| known.contains(&&*key)) {
                findings.add(place().then(&*key.to_lossy()), "unknown field");
            }
        }
    };
    for (key, known) in [("inputs", &INPUT_LISTS[..]), ("hashes", &["root_hash"])] {
        if let Some(node) = outline.get(key) {
            unknown(node, known, &|| JsonPath::ROOT.then(key));
        }
    }
    // A streamed manifest has no unknown fields, and looking up its elements finds nothing.
    let mut elements = outline.elements();
    for (at, step) in manifest.steps().enumerate() {
        let place = || JsonPath::ROOT.then("steps").then(at);
        elements.look(step.start(), |node| unknown(node, &STEP_FIELDS, &place));
    }
    for (at, artifact) in manifest.artifacts().enumerate() {
        let place = || JsonPath::ROOT.then("artifacts").then(at);
        elements.look(artifact.start(), |node| {
            unknown(node, &ARTIFACT_FIELDS, &place);
        });
    }
    if outline
        .get("provenance")
        .filter(|provenance| provenance.kind() == Kind::Object)
        .is_some_and(|provenance| !provenance.is_empty() && !is_commitment(provenance))
    {
        findings.add(
            JsonPath::ROOT.then("provenance"),
            "expected {} or the commitment of a redactable bundle, actual other members",
        );
    }
    for (path, kind) in &view.facts.others {
        findings.add(
            path.clone(),
            format!("unknown entry: {}", kind.with_article()),
        );
    }
    let mut listed: Vec<ArtifactKey> = manifest.artifacts().filter_map(Artifact::key).collect();
    listed.sort_unstable();
    let has_list = manifest.has_artifacts() && manifest.artifacts().all(|it| it.key().is_some());
    findings.need(has_list.then_some(()));
    for (key, _) in view.facts.artifacts.iter().filter(|_| has_list) {
        if listed.binary_search(key).is_err() {
            findings.add(
                format!("artifacts/{}", key.file_name()),
                "unknown file: not listed",
            );
        }
    }
}

/// Whether `provenance` has only the commitment of a redactable bundle.
fn is_commitment(provenance: Node<'_>) -> bool {
    let mut members = provenance.members();
    let first = members.next();
    first.is_some_and(|(name, _)| name.to_lossy() == REDACTION_MEMBER) && members.next().is_none()
}

/// Checks that the commitment of a redactable bundle covers the files of the bundle.
fn check_commitment(view: &BundleView<'_>, manifest: &Manifest<'_>, findings: &mut Findings) {
    let member = manifest.outline.get("provenance");
    let Some(member) = member.and_then(|provenance| provenance.get(REDACTION_MEMBER)) else {
        return;
    };
    let artifacts = view.facts.artifacts.iter();
    let artifacts: Vec<String> = artifacts
        .map(|(key, _)| format!("artifacts/{}", key.file_name()))
        .collect();
    let files = artifacts.iter().map(|path| (path.as_str(), None));
    let files = files.chain([("bundle.json", None)]);
    for fault in REDACTABLE.find_member_faults(&member.to_value(), files) {
        findings.add(
            JsonPath::ROOT.then("provenance").then(REDACTION_MEMBER),
            fault,
        );
    }
}

pub(super) fn check_derived(view: &BundleView<'_>, findings: &mut Findings) {
    let Some(manifest) = view.read() else { return };
    // If each step has its artifact under the derived id, all ids are derived.
    if !manifest
        .matching
        .is_some_and(|matching| matching.kinds_agree)
    {
        check_artifacts(manifest, findings);
    }
    check_inputs(manifest, findings);
    check_commitment(view, manifest, findings);
}

/// Reports every artifact whose id is not derived, or whose kind is not that of a step.
fn check_artifacts(manifest: &Manifest<'_>, findings: &mut Findings) {
    findings.need((manifest.has_steps() && manifest.has_artifacts()).then_some(()));
    let mut ops: Vec<(Text<'_>, Text<'_>, Op)> = manifest
        .steps()
        .filter_map(|step| Some((step.reference()?, step.slice()?, step.op()?)))
        .collect();
    ops.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    for (at, artifact) in manifest.artifacts().enumerate() {
        let Some((reference, slice)) = &findings.need(artifact.pair()) else {
            continue;
        };
        let place = |field: &str| JsonPath::ROOT.then("artifacts").then(at).then(field);
        match (reference.as_str(), slice.as_str(), artifact.artifact_id()) {
            (Some(ref_text), Some(slice_text), Some(id)) => {
                let derived = derive_artifact_id(ref_text, slice_text);
                if id.as_str() != Some(derived.as_str()) {
                    let found = id.to_lossy().into_owned();
                    let what = "the id is not derived from ref and slice";
                    findings.add_difference(place("artifact_id"), what, derived, found);
                }
            }
            (_, _, Some(_)) => {
                findings.add(
                    place("artifact_id"),
                    "ref or slice contains a lone surrogate",
                );
            }
            (_, _, None) => {
                findings.need(None::<()>);
            }
        }
        let first = ops.partition_point(|op| (&op.0, &op.1) < (reference, slice));
        let mut reading = ops[first..]
            .iter()
            .take_while(|op| (&op.0, &op.1) == (reference, slice));
        if let Some(kind) = findings.need(artifact.kind())
            && let Some((_, _, op)) = reading.find(|(_, _, op)| *op != kind)
        {
            let what = "the kind does not agree with the op of a step";
            findings.add_difference(place("kind"), what, op.kind(), kind.kind());
        }
    }
}

fn check_inputs(manifest: &Manifest<'_>, findings: &mut Findings) {
    let is_symbol = |text: &Text<'_>| text.to_lossy().starts_with('@');
    let has_all = |of: fn(Step<'_>) -> bool| manifest.has_steps() && manifest.steps().all(of);
    let refs = || manifest.steps().filter_map(Step::reference);
    let has_refs = has_all(|step| step.reference().is_some());
    if findings.need(has_refs.then_some(())).is_some() {
        let symbols = refs().filter(|text| is_symbol(text));
        let files = refs().filter(|text| !is_symbol(text));
        check_input_list(manifest, 0, symbols, findings);
        check_input_list(manifest, 1, files, findings);
    }
    let has_slices = has_all(|step| step.slice().is_some());
    if findings.need(has_slices.then_some(())).is_some() {
        let slices = manifest.steps().filter_map(Step::slice);
        check_input_list(manifest, 2, slices, findings);
    }
}

/// Compares a list of `inputs` with what it must contain: each of `expected` once, sorted.
fn check_input_list<'a>(
    manifest: &Manifest<'a>,
    list: usize,
    expected: impl Iterator<Item = Text<'a>> + Clone,
    findings: &mut Findings,
) {
    if findings
        .need(manifest.has_input_texts(list).then_some(()))
        .is_none()
    {
        return;
    }
    let found: Vec<Text<'a>> = manifest.input_texts(list).collect();
    if found.is_sorted_by(|a, b| a < b) && holds_exactly(&found, expected.clone()) {
        return;
    }
    let mut expected: Vec<Text<'_>> = expected.collect();
    expected.sort_unstable();
    expected.dedup();
    let mut sorted: Vec<_> = found.iter().collect();
    sorted.sort_unstable();
    let missing = expected
        .iter()
        .find(|text| sorted.binary_search(text).is_err());
    let extra = found
        .iter()
        .find(|text| expected.binary_search(text).is_err());
    let difference = match (missing, extra) {
        (Some(text), _) => format!("`{}` is missing", text.to_lossy()),
        (None, Some(text)) => format!("no step has `{}`", text.to_lossy()),
        (None, None) => "the order or the count differs".to_owned(),
    };
    findings.add(
        JsonPath::ROOT.then("inputs").then(INPUT_LISTS[list]),
        format!(
            "expected the {} entries of the steps: {difference}",
            expected.len()
        ),
    );
}

/// Whether a sorted list contains all of `expected` and nothing else.
fn holds_exactly<'a>(sorted: &[Text<'a>], expected: impl Iterator<Item = Text<'a>>) -> bool {
    let mut expected: Vec<Text<'a>> = expected.collect();
    // Steps in a row often read from the same file.
    expected.dedup();
    expected.sort_unstable();
    expected.dedup();
    expected == sorted
}

pub(super) fn check_slices(view: &BundleView<'_>, findings: &mut Findings) {
    let Some(manifest) = view.read() else { return };
    let mut check = |slice: Option<Text<'_>>, place: &dyn Fn() -> JsonPath| {
        if let Some(slice) = slice
            && let Err(error) = parse_slice(&slice.to_lossy())
        {
            findings.add(place(), error.to_string());
        }
    };
    for (at, step) in manifest.steps().enumerate() {
        let step_place = || JsonPath::ROOT.then("steps").then(at);
        check(step.slice(), &|| {
            step_place().then("constraints").then("slice")
        });
    }
    for (at, artifact) in manifest.artifacts().enumerate() {
        check(artifact.slice(), &|| {
            JsonPath::ROOT.then("artifacts").then(at).then("slice")
        });
    }
}
