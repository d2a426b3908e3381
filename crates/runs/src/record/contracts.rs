//! The five contracts of a recorded command. Nobody wrote them for it, so they promise what the
//! recorder guarantees: which command was run, and what its input and output documents contain.

use std::collections::BTreeMap;

use runseal_core::canon::{
    Dialect, Members, NoCanonicalForm, ReadOptions, Value, canonical_bytes, parse_document,
};
use runseal_core::formats::run_bundle::layout::{
    COUPLING_RULES, INPUT_SCHEMA, MANIFEST, OUTPUT_SCHEMA, SEALING_SPEC,
};
use runseal_core::formats::run_bundle::recorded::{RECORDED_COMMAND, RECORDED_VERSION};

use super::terms::Terms;

/// The schema of RUN_INPUT.json for any recorded command; parameters are added by name.
const INPUT: &str = include_str!("contracts/INPUT_SCHEMA.json");
/// The schema of RUN_OUTPUT.json for any recorded command.
const OUTPUT: &str = include_str!("contracts/OUTPUT_SCHEMA.json");
/// A recorded command takes nothing from engines.
const COUPLING: &str = include_str!("contracts/COUPLING_RULES.json");
/// What the recorder promises, in prose.
const SEALING: &str = include_str!("contracts/SEALING_SPEC.md");

/// The contracts by file name, as a bundle stores them.
///
/// # Errors
/// When a text of the command has no JCS form; it cannot be sealed then.
pub(crate) fn make_contracts(
    argv: &[String],
    parameters: &BTreeMap<String, String>,
    terms: &Terms,
) -> Result<BTreeMap<&'static str, Vec<u8>>, NoCanonicalForm> {
    let json = |value: &Value| canonical_bytes(value, Dialect::Jcs);
    Ok(BTreeMap::from([
        (MANIFEST, json(&make_manifest(argv))?),
        (INPUT_SCHEMA, json(&make_input_schema(parameters, terms))?),
        (OUTPUT_SCHEMA, json(&parse(OUTPUT))?),
        (COUPLING_RULES, json(&parse(COUPLING))?),
        (SEALING_SPEC, SEALING.as_bytes().to_vec()),
    ]))
}

fn make_manifest(argv: &[String]) -> Value {
    let mut execution = Value::object([("recorded", true)]);
    execution.insert("command", Value::array(argv.iter().map(String::as_str)));
    let mut manifest = Value::object([
        ("engine_code", RECORDED_COMMAND),
        ("engine_version", RECORDED_VERSION),
        (
            "description",
            "a command that was run and observed as it stands",
        ),
    ]);
    manifest.insert("execution", execution);
    manifest
}

/// Requires the parameters by name and the terms by value: a recorded command has those it was given and no others.
fn make_input_schema(parameters: &BTreeMap<String, String>, terms: &Terms) -> Value {
    let mut schema = parse(INPUT);
    let mut properties = Value::Object(Members::new());
    for name in parameters.keys() {
        properties.insert(name, Value::object([("type", "string")]));
    }
    let mut described = Value::object([("type", "object")]);
    described.insert("additionalProperties", false);
    described.insert(
        "required",
        Value::array(parameters.keys().map(String::as_str)),
    );
    described.insert("properties", properties);
    if let Value::Object(members) = &mut schema
        && let Some(all) = members.get_mut(&"properties".into())
    {
        all.insert("parameters", described);
        for (name, value) in terms.members() {
            bind(all, name, value);
        }
    }
    if let Value::Object(members) = &mut schema
        && let Some(Value::Array(required)) = members.get_mut(&"required".into())
    {
        required.extend(terms.members().into_iter().map(|(name, _)| name.into()));
    }
    schema
}

/// Demands one value of a member.
fn bind(properties: &mut Value, name: &str, value: Value) {
    let mut bound = Value::object([("description", "Fixed when the command was recorded.")]);
    bound.insert("const", value);
    properties.insert(name, bound);
}

/// Parses one of the texts above; a test keeps them valid.
fn parse(text: &str) -> Value {
    match parse_document(text.as_bytes(), &ReadOptions::default()) {
        Ok(document) => document.root().to_value(),
        Err(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::schema::Schema;

    #[test]
    fn contracts_are_valid_and_name_the_parameters() {
        let parameters = BTreeMap::from([("alpha".to_owned(), "1".to_owned())]);
        let contracts =
            make_contracts(&["true".to_owned()], &parameters, &Terms::default()).unwrap();
        assert_eq!(contracts.len(), 5);
        for name in [INPUT_SCHEMA, OUTPUT_SCHEMA] {
            let document = parse_document(&contracts[name], &ReadOptions::default()).unwrap();
            assert!(Schema::compile(document.root()).is_ok(), "{name}");
        }
        let input = String::from_utf8(contracts[INPUT_SCHEMA].clone()).unwrap();
        assert!(input.contains(r#""required":["alpha"]"#), "{input}");
        let manifest = String::from_utf8(contracts[MANIFEST].clone()).unwrap();
        assert!(manifest.contains(r#""recorded":true"#), "{manifest}");
    }
}
