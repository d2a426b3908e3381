//! What redaction has to know of run bundles.

use std::collections::BTreeMap;

use super::layout::{
    ARTIFACT_INDEX, MANIFEST, RUN_ENVIRONMENT, RUN_INPUT, RUN_META, RUN_OUTPUT, SUMS,
};
use super::recorded::{PARAMETER_PREFIX, SaidOfEnding};
use crate::canon::Value;
use crate::formats::Format;
use crate::formats::definition::FAILED;
use crate::formats::redacted::documents::{REDACTION, REDACTION_SALT, find_value, pointer_step};
use crate::formats::redacted::redactable::{Keeping, Place, PlaceRef, Redactable, RuleNeeds};

/// The run bundle as redaction knows it.
pub static REDACTABLE: Redactable = Redactable {
    format: Format::RunBundle,
    keeping: Keeping::Files(&[SUMS, ARTIFACT_INDEX, REDACTION, REDACTION_SALT]),
    stays: &[
        (
            RUN_META,
            &[
                "/run_id",
                "/engine_code",
                "/engine_version",
                "/sealed_at",
                "/canonicalization",
                "/hash_algo",
                "/core_orchestrator_version",
            ],
        ),
        (
            "RUN_OUTPUT.json",
            &[
                "/engine/engine_code",
                "/engine/engine_version",
                "/semantics",
                "/declared",
                "/exit_status",
                "/failed",
                "/signal",
            ],
        ),
        ("ENGINE_MANIFEST.json", &["/engine_code", "/engine_version"]),
    ],
    ids: &[(RUN_META, "/run_id")],
    hides_name: |_| false,
    needs: &[
        RuleNeeds {
            rules: &["RB1", "RB2", "RB5", "RB11", "RB12"],
            files: &[],
        },
        RuleNeeds {
            rules: &["RB3"],
            files: &["RUN_INPUT.json", "INPUT_SCHEMA.json"],
        },
        RuleNeeds {
            rules: &["RB4"],
            files: &["RUN_OUTPUT.json", "OUTPUT_SCHEMA.json"],
        },
        RuleNeeds {
            rules: &["RB6"],
            files: &[
                "ENGINE_MANIFEST.json",
                "INPUT_SCHEMA.json",
                "OUTPUT_SCHEMA.json",
                "COUPLING_RULES.json",
                "SEALING_SPEC.md",
                RUN_META,
            ],
        },
        RuleNeeds {
            rules: &["RB7"],
            files: &["RUN_INPUT.json", "RUN_OUTPUT.json"],
        },
    ],
    bound,
    twins,
    outcome,
};

/// The digest of an engine's command is over lines of digests of its files, of their very bytes.
fn bound(documents: &BTreeMap<String, Value>, withheld: &[PlaceRef<'_>]) -> Vec<String> {
    let is_engine = |(path, _): &PlaceRef<'_>| {
        let path = path.strip_prefix("exact/").unwrap_or(path);
        path.starts_with("engine/")
    };
    let digest = documents
        .get(RUN_META)
        .filter(|_| withheld.iter().any(is_engine))
        .and_then(|meta| meta.get("engine_executable_sha256")?.as_str());
    digest.map(str::to_owned).into_iter().collect()
}

/// What a recorded command was given stands in RUN_INPUT.json, and once more where it was run from:
/// its arguments in the manifest, its parameters among its variables, these in its environment.
fn twins(documents: &BTreeMap<String, Value>) -> Vec<[Place; 2]> {
    let mut found = Vec::new();
    let mut pair = |places: [(&str, String); 2]| {
        let [one, other] = places
            .each_ref()
            .map(|(file, pointer)| find_value(documents.get(*file)?, pointer));
        if one.is_some() && one == other {
            found.push(places.map(|(file, pointer)| (file.to_owned(), pointer)));
        }
    };
    let input = |member: &str| documents.get(RUN_INPUT).and_then(|input| input.get(member));
    if let Some(Value::Array(argv)) = input("argv") {
        for at in 0..argv.len() {
            pair([
                (RUN_INPUT, format!("/argv/{at}")),
                (MANIFEST, format!("/execution/command/{at}")),
            ]);
        }
    }
    if let Some(Value::Object(parameters)) = input("parameters") {
        for name in parameters.keys().filter_map(|name| name.as_str()) {
            let variable = format!("{PARAMETER_PREFIX}{name}");
            pair([
                (RUN_INPUT, format!("/parameters{}", pointer_step(name))),
                (
                    RUN_INPUT,
                    format!("/environment{}", pointer_step(&variable)),
                ),
            ]);
        }
    }
    if let Some(Value::Object(variables)) = input("environment") {
        for name in variables.keys().filter_map(|name| name.as_str()) {
            let step = pointer_step(name);
            pair([
                (RUN_INPUT, format!("/environment{step}")),
                (RUN_ENVIRONMENT, format!("/variables{step}")),
            ]);
        }
    }
    found
}

fn outcome(documents: &BTreeMap<&str, &Value>) -> Option<&'static str> {
    let output = documents.get(RUN_OUTPUT)?;
    let is_true = |member: &str| output.get(member) == Some(&Value::Bool(true));
    let code = find_value(output, "/engine/engine_code").and_then(Value::as_str);
    // What is withheld is no number.
    let is_number = |member: &str| matches!(output.get(member), Some(Value::Number(_)));
    let is_zero = output.get("exit_status") == Some(&Value::from(0_u64));
    let said = SaidOfEnding {
        is_declared: is_true("declared"),
        is_failed: is_true("failed"),
        has_ended_badly: is_number("exit_status") && !is_zero || is_number("signal"),
    };
    said.is_failure(code).then_some(FAILED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::redacted::documents::FileKind;

    fn read(text: &str) -> Value {
        FileKind::Json.read(text.as_bytes()).unwrap()
    }

    #[test]
    fn digest_of_an_engine_is_bound_to_its_documents_and_their_very_bytes() {
        let meta = read(r#"{"engine_executable_sha256":"abc"}"#);
        let documents = [(RUN_META.to_owned(), meta)].into();
        for path in ["engine/a.sh", "exact/engine/cfg.json.bytes"] {
            assert_eq!(bound(&documents, &[(path, None)]), ["abc"], "{path}");
        }
        for path in ["RUN_INPUT.json", "exact/inputs/cfg.json.bytes", "engines"] {
            assert!(bound(&documents, &[(path, None)]).is_empty(), "{path}");
        }
    }

    #[test]
    fn what_a_command_was_given_stands_twice() {
        let input = r#"{"argv":["sh","-c"],"environment":{"A/B":"1","RUNSEAL_PARAM_x":"2"},
            "parameters":{"x":"2"}}"#;
        let documents = [
            (RUN_INPUT, input),
            (MANIFEST, r#"{"execution":{"command":["sh","-x"]}}"#),
            (
                RUN_ENVIRONMENT,
                r#"{"variables":{"A/B":"1","PATH":"/","RUNSEAL_PARAM_x":"2"}}"#,
            ),
        ];
        let documents = documents.map(|(name, text)| (name.to_owned(), read(text)));
        let found = twins(&documents.into());
        let shown: Vec<_> = found
            .iter()
            .map(|[(_, one), (file, other)]| (one.as_str(), file.as_str(), other.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("/argv/0", MANIFEST, "/execution/command/0"),
                ("/parameters/x", RUN_INPUT, "/environment/RUNSEAL_PARAM_x"),
                ("/environment/A~1B", RUN_ENVIRONMENT, "/variables/A~1B"),
                (
                    "/environment/RUNSEAL_PARAM_x",
                    RUN_ENVIRONMENT,
                    "/variables/RUNSEAL_PARAM_x"
                ),
            ]
        );
    }
}
