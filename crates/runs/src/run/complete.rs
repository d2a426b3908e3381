//! The input and output of a run as they are sealed: checked, completed and canonical.

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::index::{InputArtifact, write_input_artifacts};
use runseal_core::formats::run_bundle::layout::{
    INPUT_SCHEMA, MANIFEST, OUTPUT_SCHEMA, RUN_INPUT, RUN_OUTPUT,
};
use runseal_core::formats::run_bundle::outputs::{
    HashScope, compute_outputs_hash, find_changed_integers,
};
use runseal_core::formats::run_bundle::pointer::shown;
use runseal_core::verify::{Finding, Place};

use super::contracts::Engine;
use super::schema::Schema;
use super::seal::SealError;

pub(super) fn reject(rule_id: &'static str, path: &str, message: impl Into<String>) -> SealError {
    SealError::Rejected(vec![finding(rule_id, path, message)])
}

fn finding(rule_id: &'static str, path: &str, message: impl Into<String>) -> Finding {
    Finding {
        rule_id,
        place: Place::file(path),
        message: message.into(),
        difference: None,
    }
}

pub(super) fn refuse_changed_integers(
    value: &Value,
    rule_id: &'static str,
    path: &str,
) -> Result<(), SealError> {
    let changed = find_changed_integers(value);
    if changed.is_empty() {
        return Ok(());
    }
    let one = |pointer: &String| {
        finding(
            rule_id,
            path,
            format!("{}: JCS would change this integer", shown(pointer)),
        )
    };
    Err(SealError::Rejected(changed.iter().map(one).collect()))
}

/// RUN_INPUT.json as it is sealed: valid, and with the list of upstream artifacts if its schema
/// allows that.
pub(super) fn complete_input(
    input: &Value,
    upstream: &[InputArtifact],
    has_upstream: bool,
    schema: Option<&Value>,
) -> Result<Vec<u8>, SealError> {
    refuse_changed_integers(input, "RB3", RUN_INPUT)?;
    let no_form = |error: runseal_core::canon::NoCanonicalForm| {
        reject(
            "RB3",
            RUN_INPUT,
            format!("the input has no canonical form: {error}"),
        )
    };
    let bytes = canonical_bytes(input, Dialect::Jcs).map_err(no_form)?;
    let schema = compile(schema, "RB3", INPUT_SCHEMA)?;
    let list = write_input_artifacts(upstream);
    match input.get("input_artifact_index") {
        Some(said) if *said != list => {
            let reason = "/input_artifact_index is not the list of what upstream bundles give";
            return Err(reject("RB9", RUN_INPUT, reason));
        }
        None if has_upstream && matches!(input, Value::Object(_)) => {
            let mut with = input.clone();
            with.insert("input_artifact_index", list);
            let with = canonical_bytes(&with, Dialect::Jcs).map_err(no_form)?;
            if violations(&schema, &with).is_empty() {
                return Ok(with);
            }
        }
        _ => {}
    }
    let found = violations(&schema, &bytes);
    if found.is_empty() {
        return Ok(bytes);
    }
    let one = |(pointer, message): &(String, String)| {
        finding("RB3", RUN_INPUT, format!("{}: {message}", shown(pointer)))
    };
    Err(SealError::Rejected(found.iter().map(one).collect()))
}

fn compile(schema: Option<&Value>, rule_id: &'static str, name: &str) -> Result<Schema, SealError> {
    let fault = |reason: String| reject(rule_id, name, reason);
    let schema = schema.ok_or_else(|| fault("the schema is missing".to_owned()))?;
    let bytes = canonical_bytes(schema, Dialect::Jcs).map_err(|error| fault(error.to_string()))?;
    let document = parse_document(&bytes, &ReadOptions::default())
        .map_err(|error| fault(error.to_string()))?;
    Schema::compile(document.root()).map_err(|bad| fault(bad.to_string()))
}

/// What is wrong with a stored document: pointers and messages.
fn violations(schema: &Schema, stored: &[u8]) -> Vec<(String, String)> {
    match parse_document(stored, &ReadOptions::default()) {
        Ok(document) => {
            let found = schema.check(document.root());
            found.into_iter().map(|v| (v.pointer, v.message)).collect()
        }
        Err(error) => vec![(String::new(), error.to_string())],
    }
}

/// RUN_OUTPUT.json as it is sealed: one JSON document, with its two hashes added if the engine
/// omitted them, and the list of upstream artifacts if its schema allows that.
pub(super) fn complete_output(
    engine: &Engine,
    printed: &[u8],
    inputs_hash: Digest,
    upstream: Option<&[InputArtifact]>,
) -> Result<Value, SealError> {
    let document = parse_document(printed, &ReadOptions::default()).map_err(|error| {
        reject(
            "RB4",
            RUN_OUTPUT,
            format!("the output is not one JSON document: {error}"),
        )
    })?;
    let output = document.root().to_value();
    if !matches!(output, Value::Object(_)) {
        let found = document.root().kind().with_article();
        return Err(reject(
            "RB4",
            RUN_OUTPUT,
            format!("the output is {found}, not an object"),
        ));
    }
    refuse_changed_integers(&output, "RB4", RUN_OUTPUT)?;
    let scope = match engine.document(MANIFEST) {
        Some(manifest) => HashScope::of_manifest(manifest.root()),
        None => HashScope::Document,
    };
    let fill = |mut output: Value| {
        if output.get("inputs_hash").is_none() {
            output.insert("inputs_hash", inputs_hash.to_string());
        }
        if output.get("outputs_hash").is_none() {
            let hash = compute_outputs_hash(&output, scope).map_err(|error| {
                reject(
                    "RB4",
                    RUN_OUTPUT,
                    format!("the output has no canonical form: {error}"),
                )
            })?;
            if let Some(hash) = hash {
                output.insert("outputs_hash", hash.to_string());
            }
        }
        Ok::<Value, SealError>(output)
    };
    // An engine that hashed its whole output does not allow anything to be added.
    let is_closed = output.get("outputs_hash").is_some() && scope == HashScope::Document;
    if let Some(upstream) = upstream
        && output.get("input_artifact_index").is_none()
        && !is_closed
    {
        let mut with = output.clone();
        with.insert("input_artifact_index", write_input_artifacts(upstream));
        let with = fill(with)?;
        let schema = engine.document(OUTPUT_SCHEMA);
        let schema = compile(
            schema.map(|d| d.root().to_value()).as_ref(),
            "RB4",
            OUTPUT_SCHEMA,
        )?;
        if let Ok(stored) = canonical_bytes(&with, Dialect::Jcs)
            && violations(&schema, &stored).is_empty()
        {
            return Ok(with);
        }
    }
    fill(output)
}
