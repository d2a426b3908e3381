//! RB3, RB4, RB6-RB10: what the documents of a sealed bundle say, each changed in one way.

use crate::run_support::{Bench, Files, INPUT, OUTPUT, coupled, seal, sealed, set};
use runseal_core::digest::Digest;
use runseal_core::verify::Level;

#[test]
fn rb3_input_that_breaks_its_schema_is_named_with_every_pointer() {
    let schema =
        r#"{"properties":{"inputs":{"properties":{"a":{"type":"string"}},"required":["b"]}}}"#;
    let files = sealed().put("INPUT_SCHEMA.json", schema).relist();
    assert_eq!(files.found(), set(&[("RB3", "RUN_INPUT.json")]));
    let report = files.report(Level::Document);
    let messages: Vec<&str> = report
        .findings()
        .iter()
        .map(|f| f.message.as_str())
        .collect();
    assert_eq!(messages.len(), 2);
    assert!(
        messages[0].starts_with("/inputs/a:") && messages[1].starts_with("/inputs:"),
        "{messages:?}"
    );
}

#[test]
fn rb3_rb4_invalid_schema_is_named() {
    for schema in [
        r#"{"type":"strin"}"#,
        "5",
        r#"{"$schema":"http://json-schema.org/draft-03/schema#"}"#,
        r#"{"$ref":"https://example.com/x"}"#,
        r#"{"$ref":"http://json-schema.org/draft-07/schema#"}"#,
    ] {
        let files = sealed().put("INPUT_SCHEMA.json", schema).relist();
        assert_eq!(
            files.found(),
            set(&[("RB3", "INPUT_SCHEMA.json")]),
            "{schema}"
        );
        let files = sealed().put("OUTPUT_SCHEMA.json", schema).relist();
        assert_eq!(
            files.found(),
            set(&[("RB4", "OUTPUT_SCHEMA.json")]),
            "{schema}"
        );
    }
    for schema in [
        "true",
        "{}",
        r#"{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/"}"#,
    ] {
        let files = sealed()
            .put("INPUT_SCHEMA.json", schema)
            .put("OUTPUT_SCHEMA.json", schema)
            .relist();
        assert_eq!(files.found(), set(&[]), "{schema}");
    }
}

#[test]
fn rb4_output_without_what_it_must_say_is_named() {
    let output = "RUN_OUTPUT.json";
    for (path, to) in [
        (&["semantics"][..], None),
        (&["semantics"], Some("\"TRUTH\"")),
        (&["semantics"], Some("null")),
        (&["engine"], None),
        (&["engine", "engine_code"], None),
        (&["engine", "engine_version"], Some("5")),
    ] {
        let files = sealed().member(output, path, to).rehash();
        assert_eq!(files.found(), set(&[("RB4", output)]), "{path:?}");
    }
    for path in ["inputs_hash", "outputs_hash"] {
        let found = sealed().member(output, &[path], None).relist().found();
        assert!(
            found.is_superset(&set(&[("RB4", output), ("RB7", output)])),
            "{found:?}"
        );
    }
}

#[test]
fn rb4_semantics_are_the_three_unless_the_schema_has_its_own() {
    for semantics in ["RAW_TRUTH", "CORRELATION_ONLY", "DETERMINISTIC_TRANSFORM"] {
        let files = sealed().member(
            "RUN_OUTPUT.json",
            &["semantics"],
            Some(&format!("\"{semantics}\"")),
        );
        assert_eq!(files.rehash().found(), set(&[]));
    }
    let own = r#"{"properties":{"semantics":{"enum":["OWN"]}}}"#;
    let files = sealed().put("OUTPUT_SCHEMA.json", own);
    let fits = files
        .clone()
        .member("RUN_OUTPUT.json", &["semantics"], Some("\"OWN\""))
        .rehash();
    assert_eq!(fits.found(), set(&[]));
    assert_eq!(files.rehash().found(), set(&[("RB4", "RUN_OUTPUT.json")]));
}

#[test]
fn rb6_contract_other_than_recorded_is_named() {
    let meta = "RUN_META.json";
    for name in [
        "ENGINE_MANIFEST.json",
        "INPUT_SCHEMA.json",
        "OUTPUT_SCHEMA.json",
        "COUPLING_RULES.json",
        "SEALING_SPEC.md",
    ] {
        let other = format!("\"{}\"", Digest::of(b"other"));
        let files = sealed()
            .member(meta, &["contracts_hashes", name], Some(&other))
            .reindex()
            .resum();
        assert_eq!(files.found(), set(&[("RB6", name)]));
        let files = sealed()
            .member(meta, &["contracts_hashes", name], None)
            .reindex()
            .resum();
        assert_eq!(files.found(), set(&[("RB10", meta)]));
    }
    let changed = sealed().put("SEALING_SPEC.md", "other").reindex().resum();
    assert_eq!(changed.found(), set(&[("RB6", "SEALING_SPEC.md")]));
}

#[test]
fn rb7_wrong_or_null_hash_is_named() {
    let output = "RUN_OUTPUT.json";
    let other = format!("\"{}\"", Digest::of(b"other"));
    for name in ["inputs_hash", "outputs_hash"] {
        for wrong in ["null", "5", "\"\"", &other] {
            let files = sealed().member(output, &[name], Some(wrong)).relist();
            // outputs_hash is over inputs_hash too; both may be named, at the one file.
            assert_eq!(files.found(), set(&[("RB7", output)]), "{name} {wrong}");
        }
    }
    let upper = sealed()
        .json(output)
        .get("outputs_hash")
        .unwrap()
        .as_str()
        .unwrap()
        .to_uppercase();
    let files = sealed()
        .member(output, &["outputs_hash"], Some(&format!("\"{upper}\"")))
        .relist();
    assert_eq!(files.found(), set(&[("RB7", output)]));
    let files = sealed()
        .member("RUN_INPUT.json", &["inputs"], Some("{}"))
        .relist();
    assert_eq!(files.found(), set(&[("RB7", output)]));
}

#[test]
fn rb7_payload_scope_hashes_the_outputs_member_alone() {
    let manifest = crate::run_support::MANIFEST.replace(
        "\"execution\"",
        "\"sealing\":{\"outputs_hash_scope\":\"payload\"},\"execution\"",
    );
    let bench = Bench::new();
    bench.write("engine/ENGINE_MANIFEST.json", &manifest);
    let files = Files::read(&seal(&bench, INPUT, OUTPUT).unwrap().path);
    let payload = Digest::of(br#"{"value":42}"#);
    assert!(
        files
            .text("RUN_OUTPUT.json")
            .contains(&format!("\"outputs_hash\":\"{payload}\""))
    );
    assert_eq!(files.found(), set(&[]));
    let changed = files
        .clone()
        .member("RUN_OUTPUT.json", &["outputs", "value"], Some("43"))
        .relist();
    assert_eq!(changed.found(), set(&[("RB7", "RUN_OUTPUT.json")]));
    let without = files.member("RUN_OUTPUT.json", &["outputs"], None).relist();
    assert_eq!(without.found(), set(&[("RB7", "RUN_OUTPUT.json")]));
}

#[test]
fn rb8_forbidden_key_is_found_where_it_may_not_be() {
    let found = |files: Files| files.rehash().found();
    let files = sealed();
    let input = |text: &str| found(sealed().put("RUN_INPUT.json", text));
    assert_eq!(
        input(r#"{"context":{"a":[{"User_Email":1}]}}"#),
        set(&[("RB8", "RUN_INPUT.json")])
    );
    assert_eq!(
        input(r#"{"context":[{"x":{"admin":1}}]}"#),
        set(&[("RB8", "RUN_INPUT.json")])
    );
    assert_eq!(
        input(r#"{"inputs":{"role":1},"user_id":1,"Context":{"role":1}}"#),
        set(&[]),
        "only below `context`"
    );
    let nested = files.clone().member(
        "RUN_OUTPUT.json",
        &["outputs", "value"],
        Some(r#"[{"x":{"PHONE":1}}]"#),
    );
    assert_eq!(found(nested), set(&[("RB8", "RUN_OUTPUT.json")]));
    let artifact = files
        .clone()
        .put("artifacts/deep/x.json", r#"{"rows":[{"role":"x"}]}"#);
    assert_eq!(found(artifact), set(&[("RB8", "artifacts/deep/x.json")]));
    let text = files.clone().put("artifacts/data.csv", "role,user_id\n");
    assert_eq!(found(text), set(&[]), "only JSON has member names");
    let schema = r#"{"properties":{"context":{"x_forbidden_fields":["Site"]}}}"#;
    assert_eq!(
        found(files.clone().put("INPUT_SCHEMA.json", schema)),
        set(&[("RB8", "RUN_INPUT.json")])
    );
    let elsewhere =
        r#"{"x_forbidden_fields":["site"],"$defs":{"context":{"x_forbidden_fields":["site"]}}}"#;
    assert_eq!(found(files.put("INPUT_SCHEMA.json", elsewhere)), set(&[]));
}

#[test]
fn rb9_coupling_rules_must_say_three_things() {
    let rules = "COUPLING_RULES.json";
    for (name, wrong) in [
        ("delivery_model", Some("\"DIRECT\"")),
        ("delivery_model", None),
        ("core_mediated_coupling", Some("false")),
        ("core_mediated_coupling", Some("\"true\"")),
        ("core_mediated_coupling", None),
        ("direct_engine_to_engine_calls", Some("true")),
        ("direct_engine_to_engine_calls", None),
    ] {
        let files = sealed().member(rules, &[name], wrong).relist();
        assert_eq!(files.found(), set(&[("RB9", rules)]), "{name} {wrong:?}");
    }
    assert_eq!(
        sealed().put(rules, "[]").relist().found(),
        set(&[("RB9", rules)])
    );
    let none = sealed()
        .member(rules, &["allowed_inputs_from_other_engines"], None)
        .relist();
    assert_eq!(none.found(), set(&[]));
}

#[test]
fn rb9_upstream_artifacts_are_copied_and_listed_three_times() {
    let files = coupled();
    assert_eq!(files.found_strictly(), set(&[]));
    let hash = |name: &str| Digest::of(&files.0[&format!("upstream/ECHO/first/{name}")]);
    let list = format!(
        r#"[{{"artifact_name":"RUN_OUTPUT.json","engine_code":"ECHO","sha256":"{}"}},{{"artifact_name":"x.csv","engine_code":"ECHO","sha256":"{}"}},{{"artifact_name":"y.json","engine_code":"ECHO","sha256":"{}"}}]"#,
        hash("RUN_OUTPUT.json"),
        hash("artifacts/x.csv"),
        hash("artifacts/y.json"),
    );
    assert_eq!(
        files.text("INPUT_ARTIFACT_INDEX.json"),
        format!("{{\"artifacts\":{list}}}")
    );
    for name in ["RUN_INPUT.json", "RUN_OUTPUT.json"] {
        assert!(
            files
                .text(name)
                .contains(&format!("\"input_artifact_index\":{list}")),
            "{name}"
        );
    }
    let index = files.text("ARTIFACT_INDEX.json");
    assert!(
        index.contains(r#""relative_path":"upstream/ECHO/first/artifacts/x.csv","role":"INPUT""#)
    );
    assert!(index.contains(r#""relative_path":"INPUT_ARTIFACT_INDEX.json","role":"INDEX""#));
}

#[test]
fn rb9_lists_that_differ_or_an_engine_that_is_not_allowed_is_named() {
    let list = "INPUT_ARTIFACT_INDEX.json";
    let files = coupled();
    let input = files
        .clone()
        .member("RUN_INPUT.json", &["input_artifact_index"], Some("[]"))
        .rehash();
    assert_eq!(input.found(), set(&[("RB9", "RUN_INPUT.json")]));
    let output = files
        .clone()
        .member("RUN_OUTPUT.json", &["input_artifact_index"], Some("5"))
        .rehash();
    assert_eq!(output.found(), set(&[("RB9", "RUN_OUTPUT.json")]));
    let allowed = ["allowed_inputs_from_other_engines"];
    for (rules, found) in [
        ("[]", set(&[("RB9", list)])),
        (r#"["OTHER"]"#, set(&[("RB9", list)])),
        (
            r#"[{"engine_code":"ECHO","via":"DIRECT"}]"#,
            set(&[("RB9", "COUPLING_RULES.json"), ("RB9", list)]),
        ),
        (r#"[{"engine_code":"ECHO","via":"CORE_ONLY"}]"#, set(&[])),
        (r#"["OTHER","ECHO"]"#, set(&[])),
    ] {
        let files = files
            .clone()
            .member("COUPLING_RULES.json", &allowed, Some(rules))
            .relist();
        assert_eq!(files.found(), found, "{rules}");
    }
    let broken = files.clone().put(list, "{").relist();
    assert!(
        broken
            .found()
            .contains(&("RB9".to_owned(), list.to_owned()))
    );
    let changed = files
        .clone()
        .put("upstream/ECHO/first/artifacts/x.csv", "2\n")
        .relist();
    assert_eq!(
        changed.found(),
        set(&[("RB9", "upstream/ECHO/first/artifacts/x.csv")])
    );
    let without = files.remove(list).relist();
    assert!(without.found().is_superset(&set(&[
        ("RB9", "RUN_INPUT.json"),
        ("RB9", "RUN_OUTPUT.json")
    ])));
}

#[test]
fn rb10_incomplete_or_contradictory_meta_is_named() {
    let meta = "RUN_META.json";
    let relist = |files: Files| files.reindex().resum().found();
    for name in [
        "run_id",
        "engine_code",
        "engine_version",
        "sealed_at",
        "canonicalization",
        "hash_algo",
        "core_orchestrator_version",
        "contracts_hashes",
    ] {
        for wrong in [None, Some("null"), Some("5"), Some("\"\"")] {
            let found = relist(sealed().member(meta, &[name], wrong));
            assert_eq!(found, set(&[("RB10", meta)]), "{name} {wrong:?}");
        }
    }
    for (name, wrong) in [
        ("run_id", "\"../x\""),
        ("run_id", "\"a/b\""),
        ("sealed_at", "\"2026-01-01\""),
        ("sealed_at", "\"2026-01-01T00:00:00+00:00\""),
        ("sealed_at", "\"2026-02-30T00:00:00Z\""),
        ("canonicalization", "\"JCS\""),
        ("hash_algo", "\"sha512\""),
        ("engine_executable_sha256", "\"x\""),
    ] {
        assert_eq!(
            relist(sealed().member(meta, &[name], Some(wrong))),
            set(&[("RB10", meta)]),
            "{name} {wrong}"
        );
    }
    let fraction = sealed().member(meta, &["sealed_at"], Some("\"2026-01-01T00:00:00.25Z\""));
    assert_eq!(relist(fraction), set(&[]));
    let more = sealed().member(meta, &["more"], Some("{}"));
    assert_eq!(relist(more), set(&[]), "more members are allowed");
}

#[test]
fn rb10_engine_code_and_version_must_agree_everywhere() {
    for name in ["engine_code", "engine_version"] {
        let files = sealed()
            .member("RUN_OUTPUT.json", &["engine", name], Some("\"OTHER\""))
            .rehash();
        assert_eq!(files.found(), set(&[("RB10", "RUN_OUTPUT.json")]));
        let files = sealed()
            .member("ENGINE_MANIFEST.json", &[name], Some("\"OTHER\""))
            .relist();
        assert_eq!(files.found(), set(&[("RB10", "ENGINE_MANIFEST.json")]));
        let files = sealed()
            .member("ENGINE_MANIFEST.json", &[name], None)
            .relist();
        assert_eq!(files.found(), set(&[("RB10", "ENGINE_MANIFEST.json")]));
        let files = sealed()
            .member("RUN_META.json", &[name], Some("\"OTHER\""))
            .reindex()
            .resum();
        assert_eq!(
            files.found(),
            set(&[
                ("RB10", "ENGINE_MANIFEST.json"),
                ("RB10", "RUN_OUTPUT.json")
            ])
        );
    }
}
