//! Checks random schemas and documents with our code and the `jsonschema` crate: the verdicts and places
//! must be the same.
//!
//! Known differences, which the random schemas avoid, except the one with a number:
//! - In draft 2019-09 the crate counts what `contains` finds as evaluated, as in 2020-12; by 2019-09
//!   `unevaluatedItems` depends on `items`, `additionalItems` and itself only.
//! - The crate refuses references that lead out of the document even under keywords that the draft does not know;
//!   for us these contain no schemas, unless a reference leads into them.
//! - The crate treats patterns with lookaround as its regular expression engine does: `\w` and `\d` match Unicode.
//! - For the crate, `1e300` is not an integer in draft 4.
//! - The crate ignores an `if` without `then` and `else`, so it accepts a broken reference there (2 of 20,000
//!   random schemas). Since 2019-09 an `if` evaluates, so we follow it.
//! - Cycles of references under `not`, `oneOf` and `if`, for which no draft defines a meaning.
//! - We refuse what we do not support: atomic groups, possessive repetitions, conditions and rarer Unicode
//!   properties in patterns.
//!
//! `RUNSEAL_SCHEMAS=100000` sets the number of schemas; `RUNSEAL_SEED` tries only the seed that a failure
//! names.

use crate::support::{Dice, schema_of};
use jsonschema::{PatternOptions, Validator};
use runseal_core::canon::{ReadOptions, parse_document};
use runseal_schema::{Limits, Schema};
use serde_json::Value;

const DRAFTS: [(&str, jsonschema::Draft); 5] = [
    (
        "http://json-schema.org/draft-04/schema#",
        jsonschema::Draft::Draft4,
    ),
    (
        "http://json-schema.org/draft-06/schema#",
        jsonschema::Draft::Draft6,
    ),
    (
        "http://json-schema.org/draft-07/schema#",
        jsonschema::Draft::Draft7,
    ),
    (
        "https://json-schema.org/draft/2019-09/schema",
        jsonschema::Draft::Draft201909,
    ),
    (
        "https://json-schema.org/draft/2020-12/schema",
        jsonschema::Draft::Draft202012,
    ),
];

/// The other validator, with formats and contents as annotations.
fn theirs(schema: &Value, draft: jsonschema::Draft) -> Result<Validator, String> {
    let mut options = jsonschema::options()
        .with_draft(draft)
        .should_validate_formats(false)
        .with_pattern_options(PatternOptions::fancy_regex())
        .without_content_media_type_support("application/json");
    for encoding in ["base16", "base32", "base32hex", "base64", "base64url"] {
        options = options.without_content_encoding_support(encoding);
    }
    options.build(schema).map_err(|error| error.to_string())
}

/// Writes numbers as we see them: `3.0` is 3.
fn as_doubles(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(as_doubles).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let same = members.map(|(name, member)| (name.clone(), as_doubles(member)));
            Value::Object(same.collect())
        }
        Value::Number(number) => match number.as_f64() {
            Some(double) if double.fract() == 0.0 && double.abs() < 9e15 => (double as i64).into(),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

/// Compares both on one schema and a few documents. Returns whether it is a schema and how many
/// documents are valid and invalid, or the first difference.
fn compare(seed: u64) -> Result<(bool, usize, usize), String> {
    let mut dice = Dice::new(seed);
    let (address, draft) = DRAFTS[dice.below(DRAFTS.len())];
    let schema = schema_of(&mut dice, address);
    let text = schema.to_string();
    let looks_at_contains = text.contains("unevaluatedItems") && text.contains("contains");
    if looks_at_contains && draft == jsonschema::Draft::Draft201909 {
        return Ok((true, 0, 0));
    }
    let parsed = parse_document(text.as_bytes(), &ReadOptions::TEXT).unwrap();
    let ours = Schema::compile(parsed.root(), &Limits::default());
    let theirs = theirs(&as_doubles(&schema), draft);
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(_), Err(_)) => return Ok((false, 0, 0)),
        (Ok(_), Err(bad)) => return Err(format!("{text}\nonly theirs refuses it: {bad}")),
        (Err(bad), Ok(_)) => return Err(format!("{text}\nonly ours refuses it: {bad}")),
    };
    let (mut valid, mut invalid) = (0, 0);
    for _ in 0..8 {
        let document = crate::support::document(&mut dice, 3);
        let given = document.to_string();
        let parsed = parse_document(given.as_bytes(), &ReadOptions::TEXT).unwrap();
        let outcome = ours.check(parsed.root());
        if outcome.exhausted.is_some() {
            return Err(format!("{text}\n{given}\n{outcome:?}"));
        }
        let mut our_places: Vec<String> = outcome
            .violations
            .iter()
            .map(|found| found.pointer.clone())
            .collect();
        let document = as_doubles(&document);
        let errors = theirs.iter_errors(&document);
        let mut their_places: Vec<String> = errors
            .map(|error| error.instance_path().to_string())
            .collect();
        our_places.sort();
        their_places.sort();
        // What a failing schema has evaluated is not defined, so only the verdict is compared.
        let is_cycle = text.contains("\"$ref\":\"\"");
        let is_same = if is_cycle || text.contains("unevaluated") {
            our_places.is_empty() == their_places.is_empty()
        } else {
            our_places == their_places
        };
        if !is_same {
            let errors: Vec<String> = theirs
                .iter_errors(&document)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            return Err(format!(
                "{text}\n{given}\nours {:#?}\ntheirs {errors:#?}",
                outcome.violations
            ));
        }
        if our_places.is_empty() {
            valid += 1;
        } else {
            invalid += 1;
        }
    }
    Ok((true, valid, invalid))
}

#[test]
fn random_schemas_and_documents_have_the_verdicts_of_the_jsonschema_crate() {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let seeds = match number("RUNSEAL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("RUNSEAL_SCHEMAS").unwrap_or(3_000),
    };
    let (mut good, mut bad, mut valid, mut invalid) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for seed in seeds.clone() {
        match compare(seed) {
            Ok((is_schema, passed, failed)) => {
                good += usize::from(is_schema);
                bad += usize::from(!is_schema);
                valid += passed;
                invalid += failed;
            }
            Err(difference) => wrong.push(format!("seed {seed}: {difference}")),
        }
    }
    println!("{good} schemas, {bad} bad ones; {valid} valid documents, {invalid} invalid ones");
    let shown: Vec<&str> = wrong.iter().take(12).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        shown.join("\n\n")
    );
    if seeds.end - seeds.start > 1_000 {
        assert!(good > bad && bad > 100 && valid > 1_000 && invalid > 1_000);
    }
}
