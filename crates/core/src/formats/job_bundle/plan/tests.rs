use super::*;
use crate::canon::{ReadOptions, parse_document};

fn paths(text: &str) -> Vec<String> {
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    Plan::parse(document.root())
        .unwrap_err()
        .into_iter()
        .map(|fault| fault.path)
        .collect()
}

fn with_step(step: &str) -> String {
    format!(r#"{{"run_id":"r","idempotency_key":"k","steps":[{step}]}}"#)
}

#[test]
fn plan_with_all_members_is_parsed() {
    let document = parse_document(
        br#"{"run_id":"r","intent":"i","idempotency_key":"k","budgets":{"max_bytes":9},
        "steps":[{"op":"READ_SYMBOL","refs":{"symbol_id":"@a"}},
        {"op":"READ_SECTION","refs":{"section_id":"s"},"constraints":{"slice":"head(1)"},
         "ordinal":-4,"step_id":"mine","expected_outputs":{"n":1}}]}"#,
        &ReadOptions::default(),
    )
    .unwrap();
    let plan = Plan::parse(document.root()).unwrap();
    assert_eq!(plan.budgets.max_bytes, Some(9));
    assert_eq!((plan.steps[0].ordinal, plan.steps[1].ordinal), (0, -4));
    let body = plan.body(1).unwrap();
    assert_eq!(body.slice.as_deref(), Some("head(1)"));
    let step = body.to_step("mine", -4);
    assert_eq!(
        canonical_text(&step, Dialect::Job).unwrap(),
        r#"{"constraints":{"slice":"head(1)"},"expected_outputs":{"n":1},"op":"READ_SECTION","ordinal":-4,"refs":{"section_id":"s"},"step_id":"mine"}"#
    );
}

#[test]
fn plan_faults_are_all_reported_with_places() {
    assert_eq!(paths("[]"), ["$"]);
    assert_eq!(paths("{}"), ["$.run_id", "$.idempotency_key", "$.steps"]);
    assert_eq!(paths(&with_step("")), ["$.steps"]);
    assert_eq!(
        paths(r#"{"run_id":"","idempotency_key":1,"steps":{},"extra":1,"budgets":{"max":1}}"#),
        [
            "$.extra",
            "$.run_id",
            "$.idempotency_key",
            "$.budgets.max",
            "$.steps"
        ]
    );
}

#[test]
fn plan_fault_in_step_names_field() {
    let section = r#""refs":{"section_id":"s"},"op":"READ_SECTION""#;
    for (step, path) in [
        ("1".to_owned(), "$.steps[0]"),
        (r#"{"op":"WRITE"}"#.to_owned(), "$.steps[0].op"),
        (
            r#"{"op":"READ_SYMBOL"}"#.to_owned(),
            "$.steps[0].refs.symbol_id",
        ),
        (format!("{{{section}}}"), "$.steps[0].constraints.slice"),
        (
            format!(r#"{{{section},"constraints":{{"slice":"ALL"}}}}"#),
            "$.steps[0].constraints.slice",
        ),
        (
            format!(r#"{{{section},"constraints":{{"slice":"lines[3:1]"}}}}"#),
            "$.steps[0].constraints.slice",
        ),
        (
            format!(r#"{{{section},"constraints":{{"slice":"head(1)"}},"ordinal":1.5}}"#),
            "$.steps[0].ordinal",
        ),
        (
            format!(r#"{{{section},"constraints":{{"slice":"head(1)"}},"note":1}}"#),
            "$.steps[0].note",
        ),
    ] {
        assert_eq!(paths(&with_step(&step)), [path], "{step}");
    }
}

#[test]
fn plan_repeated_ordinals_need_ids() {
    let step = r#"{"op":"READ_SYMBOL","refs":{"symbol_id":"@a"},"ordinal":1}"#;
    assert_eq!(
        paths(&with_step(&format!("{step},{step}"))),
        ["$.steps[1].ordinal"]
    );
    let named = |id: &str| step.replace("{\"op\"", &format!("{{\"step_id\":\"{id}\",\"op\""));
    let text = with_step(&format!("{},{}", named("a"), named("b")));
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    assert!(Plan::parse(document.root()).is_ok());
    let twice = with_step(&format!("{},{}", named("a"), named("a")));
    assert_eq!(paths(&twice), ["$.steps[1].step_id"]);
}

#[test]
fn plan_over_its_step_budget_is_refused() {
    let text = r#"{"run_id":"r","idempotency_key":"k","budgets":{"max_steps":0},
        "steps":[{"op":"READ_SYMBOL","refs":{"symbol_id":"@a"}}]}"#;
    assert_eq!(paths(text), ["$.budgets.max_steps"]);
}

#[test]
fn job_digits_depend_on_every_argument() {
    let base = derive_job_digits("r", "k", None, None).unwrap();
    assert_eq!(base.len(), 16);
    let digest = crate::digest::Digest::of(br#"{"idempotency_key":"k","run_id":"r"}"#);
    assert_eq!(base, digest.hex_prefix(16));
    assert_ne!(base, derive_job_digits("r", "k", Some(0), None).unwrap());
    assert_ne!(
        derive_job_digits("r", "k", Some(0), None).unwrap(),
        derive_job_digits("r", "k", Some(0), Some("s")).unwrap()
    );
}
