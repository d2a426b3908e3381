//! RB3, RB4, RB7, RB8, RB9: the content of the input, the output and the coupling rules.

use std::collections::BTreeSet;

use super::facts::{Doc, EntryFact, FileFact, RunBundleView, SchemaVerdict};
use super::forbidden::ForbiddenKeys;
use super::index::{InputArtifact, parse_input_artifacts};
use super::layout::{
    COUPLING_RULES, INPUT_ARTIFACT_INDEX, INPUT_SCHEMA, OUTPUT_SCHEMA, RUN_INPUT, RUN_OUTPUT,
    UPSTREAM_FOLDER,
};
use super::outputs::{HashScope, SEMANTICS, compute_outputs_hash, schema_names_semantics};
use super::pointer::shown;
use crate::canon::{Dialect, JsonPath, Kind, Node, canonical_digest};
use crate::verify::{Findings, Place};

/// A place in a JSON file, by its JSON Pointer.
fn place(file: &str, pointer: &str) -> Place {
    match JsonPath::from_pointer(pointer) {
        Some(path) => Place::file(file).at(path),
        None => Place::file(file),
    }
}

fn check_against_schema(
    (document, document_name): (&Doc<'_>, &str),
    (schema, schema_name): (&Doc<'_>, &str),
    verdict: &SchemaVerdict,
    findings: &mut Findings,
) {
    for (doc, name) in [(document, document_name), (schema, schema_name)] {
        if let Doc::Broken(reason) = doc {
            findings.add(name, format!("not JSON with a canonical form: {reason}"));
        }
    }
    match verdict {
        SchemaVerdict::NotChecked => {}
        SchemaVerdict::BadSchema(reason) => findings.add(schema_name, reason),
        SchemaVerdict::Violations(violations) => {
            for violation in violations {
                let shown = shown(&violation.pointer);
                findings.add(
                    place(document_name, &violation.pointer),
                    format!("{shown}: {}", violation.message),
                );
            }
        }
    }
}

pub(super) fn check_input_schema(view: &RunBundleView<'_>, findings: &mut Findings) {
    check_against_schema(
        (&view.input, RUN_INPUT),
        (&view.input_schema, INPUT_SCHEMA),
        view.input_verdict,
        findings,
    );
}

pub(super) fn check_output_schema(view: &RunBundleView<'_>, findings: &mut Findings) {
    check_against_schema(
        (&view.output, RUN_OUTPUT),
        (&view.output_schema, OUTPUT_SCHEMA),
        view.output_verdict,
        findings,
    );
    let Some(output) = view.output.root() else {
        return;
    };
    if output.kind() != Kind::Object {
        let found = output.kind().with_article();
        findings.add(RUN_OUTPUT, format!("an output is an object, not {found}"));
        return;
    }
    for name in ["inputs_hash", "outputs_hash"] {
        if output.get(name).is_none() {
            findings.add(
                place(RUN_OUTPUT, &format!("/{name}")),
                format!("/{name}: it is missing"),
            );
        }
    }
    for name in ["engine_code", "engine_version"] {
        let text = output
            .get("engine")
            .and_then(|engine| engine.get(name)?.as_str());
        if text.is_none_or(|text| text.is_empty()) {
            findings.add(
                place(RUN_OUTPUT, &format!("/engine/{name}")),
                format!("/engine/{name}: it is missing or not a text"),
            );
        }
    }
    let Some(semantics) = output.get("semantics") else {
        findings.add(place(RUN_OUTPUT, "/semantics"), "/semantics: it is missing");
        return;
    };
    let own_enum = match view.output_schema {
        Doc::Read(schema) => schema_names_semantics(schema),
        // The values that it allows are unknown.
        Doc::Absent | Doc::Broken(_) => true,
    };
    let known = |text: &str| SEMANTICS.contains(&text);
    if !own_enum && !semantics.as_str().is_some_and(|text| known(&text)) {
        let wanted = "RAW_TRUTH, CORRELATION_ONLY or DETERMINISTIC_TRANSFORM";
        findings.add(
            place(RUN_OUTPUT, "/semantics"),
            format!("/semantics: it is not {wanted}"),
        );
    }
}

pub(super) fn check_declared_hashes(view: &RunBundleView<'_>, findings: &mut Findings) {
    let output = view
        .output
        .root()
        .filter(|node| node.kind() == Kind::Object);
    let Some(output) = findings.need(output) else {
        return;
    };
    if let Some(input) = findings.need(view.input.root())
        && !view.hides(Some(input))
        && !view.hides(output.get("inputs_hash"))
        && let Ok(actual) = canonical_digest(input, Dialect::Jcs)
    {
        check_declared(output, "inputs_hash", &actual.to_string(), findings);
    }
    if view.hides(Some(output)) || view.hides(view.manifest.root()) {
        return;
    }
    // Without the manifest, the scope of the hash is unknown.
    let Some(manifest) = findings.need(view.manifest.root()) else {
        return;
    };
    let scope = HashScope::of_manifest(manifest);
    match compute_outputs_hash(output, scope) {
        Ok(Some(actual)) => check_declared(output, "outputs_hash", &actual.to_string(), findings),
        Ok(None) => findings.add(
            RUN_OUTPUT,
            "/outputs_hash: it covers the member `outputs`, which is missing",
        ),
        Err(error) => findings.add(RUN_OUTPUT, format!("/outputs_hash: {error}")),
    }
}

fn check_declared(output: Node<'_>, name: &str, actual: &str, findings: &mut Findings) {
    let declared = match output.get(name) {
        None => "nothing".into(),
        Some(node) => match node.as_str() {
            Some(text) => text,
            None => node.kind().with_article().into(),
        },
    };
    if declared != actual {
        findings.add_difference(
            place(RUN_OUTPUT, &format!("/{name}")),
            &format!("/{name} is wrong"),
            actual,
            declared,
        );
    }
}

pub(super) fn check_forbidden(view: &RunBundleView<'_>, findings: &mut Findings) {
    let input = findings.need(view.input.root());
    let output = findings.need(view.output.root());
    let keys = match view.input_schema.root() {
        Some(schema) => ForbiddenKeys::of_schema(schema),
        None => ForbiddenKeys::always(),
    };
    let mut add = |path: &str, pointers: &[String]| {
        for pointer in pointers {
            findings.add(
                place(path, pointer),
                format!("{pointer}: the key is forbidden"),
            );
        }
    };
    if let Some(input) = input {
        add(RUN_INPUT, &keys.find_in_input(input));
    }
    if let Some(output) = output {
        add(RUN_OUTPUT, &keys.find(output));
    }
    for (path, entry) in view.facts.entries.iter() {
        if let EntryFact::File(FileFact::Json { forbidden, .. }) = entry {
            add(path, forbidden);
        }
    }
}

pub(super) fn check_coupling(view: &RunBundleView<'_>, findings: &mut Findings) {
    if let Doc::Broken(reason) = view.coupling {
        findings.add(
            COUPLING_RULES,
            format!("not JSON with a canonical form: {reason}"),
        );
    }
    if let Some(rules) = findings.need(view.coupling.root()) {
        for fault in coupling_faults(rules) {
            findings.add(COUPLING_RULES, fault);
        }
    }
    check_input_artifacts(view, findings);
}

/// The faults of coupling rules by themselves.
pub fn coupling_faults(rules: Node<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let model = rules.get("delivery_model").and_then(|node| node.as_str());
    if model.as_deref() != Some("CORE_ONLY") {
        faults.push("delivery_model is not \"CORE_ONLY\"".to_owned());
    }
    for (name, wanted) in [
        ("core_mediated_coupling", true),
        ("direct_engine_to_engine_calls", false),
    ] {
        if rules.get(name).and_then(|node| node.as_bool()) != Some(wanted) {
            faults.push(format!("{name} is not {wanted}"));
        }
    }
    let Some(allowed) = rules.get("allowed_inputs_from_other_engines") else {
        return faults;
    };
    if allowed.as_array().is_none() {
        faults.push("allowed_inputs_from_other_engines is not a list".to_owned());
    }
    for (at, entry) in allowed.items().enumerate() {
        if allowed_engine(entry).is_none_or(|code| code.is_empty()) {
            faults.push(format!(
                "allowed_inputs_from_other_engines[{at}] is neither an engine code nor \
                 {{\"engine_code\",\"via\":\"CORE_ONLY\"}}"
            ));
        }
    }
    faults
}

/// The engines whose artifacts the coupling rules accept.
pub fn allowed_engines(rules: Node<'_>) -> BTreeSet<String> {
    let list = rules.get("allowed_inputs_from_other_engines");
    let entries = list.iter().flat_map(|list| list.items());
    entries.filter_map(allowed_engine).collect()
}

fn allowed_engine(entry: Node<'_>) -> Option<String> {
    let code = match entry.as_str() {
        Some(code) => code,
        None if entry.get("via")?.as_str()? == "CORE_ONLY" => entry.get("engine_code")?.as_str()?,
        None => return None,
    };
    (!code.is_empty()).then(|| code.into_owned())
}

/// Checks that the lists of artifacts from other engines are the same.
fn check_input_artifacts(view: &RunBundleView<'_>, findings: &mut Findings) {
    let listed = match view.input_index {
        Doc::Absent => Some(Vec::new()),
        Doc::Broken(reason) => {
            let message = format!("not JSON with a canonical form: {reason}");
            findings.add(INPUT_ARTIFACT_INDEX, message);
            None
        }
        Doc::Read(root) => {
            let list = root.get("artifacts").and_then(parse_input_artifacts);
            if list.is_none() {
                let wanted = "there is no list `artifacts` of {engine_code, artifact_name, sha256}";
                findings.add(INPUT_ARTIFACT_INDEX, wanted);
            }
            list
        }
    };
    for (doc, name) in [(&view.input, RUN_INPUT), (&view.output, RUN_OUTPUT)] {
        let Some(said) = doc.root().and_then(|root| root.get("input_artifact_index")) else {
            continue;
        };
        if let Some(listed) = &listed
            && parse_input_artifacts(said).as_ref() != Some(listed)
        {
            let what = "/input_artifact_index is not the list in INPUT_ARTIFACT_INDEX.json";
            findings.add(name, what);
        }
    }
    let Some(listed) = findings.need(listed) else {
        return;
    };
    if let Some(rules) = view.coupling.root() {
        let allowed = allowed_engines(rules);
        let engines: BTreeSet<&String> = listed.iter().map(|entry| &entry.engine_code).collect();
        for engine in engines
            .into_iter()
            .filter(|engine| !allowed.contains(*engine))
        {
            let shown = engine.escape_debug();
            let message = format!("COUPLING_RULES.json does not allow artifacts of `{shown}`");
            findings.add(INPUT_ARTIFACT_INDEX, message);
        }
    }
    check_upstream_files(view, &listed, findings);
}

/// Checks that every file of upstream/ is in the list, with its engine and its hash.
fn check_upstream_files(
    view: &RunBundleView<'_>,
    listed: &[InputArtifact],
    findings: &mut Findings,
) {
    let listed: BTreeSet<&InputArtifact> = listed.iter().collect();
    let below = format!("{UPSTREAM_FOLDER}/");
    for (path, entry) in view.facts.entries.iter_from(&below) {
        let Some(rest) = path.strip_prefix(&below) else {
            break;
        };
        let EntryFact::File(fact) = entry else {
            continue;
        };
        let Some(sha256) = fact.sha256().map(|digest| digest.to_string()) else {
            continue;
        };
        let engine = rest.split('/').next().unwrap_or_default();
        let name = rest.rsplit('/').next().unwrap_or_default();
        let wanted = InputArtifact {
            engine_code: engine.to_owned(),
            artifact_name: name.to_owned(),
            sha256,
        };
        if !listed.contains(&wanted) {
            findings.add(
                path,
                "INPUT_ARTIFACT_INDEX.json does not list it with this hash",
            );
        }
    }
}
