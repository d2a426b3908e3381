//! The rules of a run bundle, applied to what a redacted copy of one shows.
//!
//! Each rule compares what is shown and skips what is withheld, so it finds only faults that no
//! withheld value could explain.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{
    Doc, EntryFact, FileFact, RunBundleFacts, RunBundleView, SchemaVerdict, StoredJson,
};
use super::layout::{
    COUPLING_RULES, INPUT_ARTIFACT_INDEX, INPUT_SCHEMA, MANIFEST, MODEL_IO, OUTPUT_SCHEMA,
    RUN_ENVIRONMENT, RUN_INPUT, RUN_META, RUN_OUTPUT, UPSTREAM_FOLDER, is_json,
};
use super::reading::has_marker;
use super::rules::verify_run_bundle;
use super::rules_recorded::is_recorded_view;
use crate::canon::{Dialect, Document, Node, ReadOptions, Step, canonical_bytes, parse_document};
use crate::formats::model_io::{ModelIoView, verify_model_io};
use crate::formats::redacted::RedactedView;
use crate::verify::{Finding, Level};

/// The documents that these rules read.
pub(super) const READ: [&str; 10] = [
    MANIFEST,
    INPUT_SCHEMA,
    OUTPUT_SCHEMA,
    COUPLING_RULES,
    RUN_INPUT,
    RUN_OUTPUT,
    INPUT_ARTIFACT_INDEX,
    RUN_META,
    RUN_ENVIRONMENT,
    MODEL_IO,
];

/// The faults of what `copy` shows.
pub(super) fn judge_shown(copy: &RedactedView) -> Vec<Finding> {
    let withheld = copy.touched();
    let texts: BTreeMap<&str, Vec<u8>> = READ
        .into_iter()
        .filter_map(|name| {
            let document = copy.shown.get(name)?.document.as_ref()?;
            Some((name, canonical_bytes(document, Dialect::Jcs).ok()?))
        })
        .collect();
    let options = ReadOptions::default();
    let documents: BTreeMap<&str, Document<'_>> = texts
        .iter()
        .filter_map(|(name, text)| Some((*name, parse_document(text, &options).ok()?)))
        .collect();
    let doc = |name: &str| {
        let document = documents.get(name);
        document.map_or(Doc::Absent, |document| Doc::Read(document.root()))
    };
    // The withheld parts of a schema or of coupling rules could allow anything.
    let whole = |name: &str| match doc(name) {
        Doc::Read(root) if has_marker(root) => Doc::Absent,
        doc => doc,
    };
    let entries = copy.shown.iter().filter_map(|(path, file)| {
        let (sha256, bytes) = file.content?;
        let fact = if is_json(path) {
            FileFact::Json {
                sha256,
                bytes,
                stored: StoredJson::Canonically,
                forbidden: Box::default(),
            }
        } else {
            FileFact::Bytes { sha256, bytes }
        };
        Some((path, EntryFact::File(fact)))
    });
    let facts = RunBundleFacts {
        entries: entries.collect(),
    };
    let verdict = SchemaVerdict::NotChecked;
    let view = RunBundleView {
        facts: &facts,
        name: None,
        sums: None,
        listed: None,
        index_fault: None,
        manifest: doc(MANIFEST),
        input_schema: whole(INPUT_SCHEMA),
        output_schema: whole(OUTPUT_SCHEMA),
        coupling: whole(COUPLING_RULES),
        input: doc(RUN_INPUT),
        output: doc(RUN_OUTPUT),
        input_index: doc(INPUT_ARTIFACT_INDEX),
        meta: doc(RUN_META),
        environment: doc(RUN_ENVIRONMENT),
        model_io: Doc::Absent,
        redaction: Doc::Absent,
        redaction_salt: Doc::Absent,
        bodies: None,
        input_verdict: &verdict,
        output_verdict: &verdict,
        withheld: Some(&withheld),
    };
    let hides_coupling = hides_coupling(&view, &withheld);
    let report = verify_run_bundle(&view, Level::Integrity);
    let findings = report.findings().iter();
    let findings = findings.filter(|finding| match finding.rule_id {
        // Bodies of models' answers have other names in copies.
        CALLS => false,
        "RB9" => !hides_coupling,
        _ => true,
    });
    let mut findings: Vec<Finding> = findings.cloned().collect();
    if let Doc::Read(recording) = doc(MODEL_IO)
        && is_recorded_view(&view)
    {
        findings.extend(judge_calls(recording));
    }
    findings
}

/// The rule about what models were asked.
const CALLS: &str = "RB14";

/// What is wrong with the calls of which nothing is withheld, and with the whole if nothing of it is.
fn judge_calls(recording: Node<'_>) -> Vec<Finding> {
    let calls = ModelIoView {
        root: recording,
        bodies: None,
    };
    let is_whole = !has_marker(recording);
    // What counts of a request is said there.
    let hides_capture = recording.get("capture").is_some_and(has_marker);
    let list = recording.get("interactions");
    let list: Vec<Node<'_>> = list.iter().flat_map(|list| list.items()).collect();
    let is_shown = |finding: &&Finding| {
        let steps = finding.place.path().map_or(&[][..], |path| path.steps());
        let call = match steps {
            [_, Step::Element(at), ..] => list.get(*at),
            _ => None,
        };
        is_whole || !hides_capture && call.is_some_and(|call| !has_marker(*call))
    };
    let report = verify_model_io(&calls, Level::Integrity);
    let findings = report.findings().iter().filter(is_shown);
    let findings = findings.map(|finding| {
        let place = finding.path().map(|path| format!(" at {path}"));
        let place = place.unwrap_or_default();
        let message = format!("{}{place}: {}", finding.rule_id, finding.message);
        Finding {
            place: MODEL_IO.into(),
            ..Finding::about_whole(CALLS, message)
        }
    });
    findings.collect()
}

/// Whether anything about artifacts from other engines is withheld.
fn hides_coupling(view: &RunBundleView<'_>, withheld: &BTreeSet<String>) -> bool {
    let hides_list = |doc: Doc<'_>| {
        let list = doc.root().and_then(|root| root.get("input_artifact_index"));
        view.hides(list) || view.hides(doc.root().filter(|root| super::reading::is_marker(*root)))
    };
    let upstream = format!("{UPSTREAM_FOLDER}/");
    hides_list(view.input)
        || hides_list(view.output)
        || withheld.iter().any(|path| {
            matches!(path.as_str(), INPUT_ARTIFACT_INDEX | COUPLING_RULES)
                || path.starts_with(&upstream)
        })
}
