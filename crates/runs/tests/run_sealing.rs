//! Sealing an output that was produced elsewhere: what is accepted, what is rejected, and that
//! nothing is left behind.

use std::fs;

use crate::run_support::{
    Bench, COUPLING, Files, INPUT, OUTPUT, messages, rejected, request, seal, set, value,
};
use runseal_core::digest::Digest;
use runseal_fs::staging::StagingError;
use runseal_runs::run::seal::{SealError, seal_output};
use runseal_runs::run::staging::RunFilesError;

#[test]
fn seal_input_that_breaks_its_schema_is_rejected_with_every_pointer() {
    let bench = Bench::new();
    bench.write(
        "engine/INPUT_SCHEMA.json",
        r#"{"required":["b"],"properties":{"inputs":{"properties":{"a":{"type":"string"}}}}}"#,
    );
    let result = seal(&bench, INPUT, OUTPUT);
    let text = messages(&result);
    assert!(
        text.contains("/inputs/a:") && text.contains("expected the member `b`, found none"),
        "{text}"
    );
    assert_eq!(rejected(result), set(&[("RB3", "RUN_INPUT.json")]));
    assert!(bench.is_clean());
}

#[test]
fn seal_schema_sees_the_stripped_input() {
    let bench = Bench::new();
    let closed =
        r#"{"properties":{"context":{"properties":{"site":{}},"additionalProperties":false}}}"#;
    bench.write("engine/INPUT_SCHEMA.json", closed);
    assert!(
        seal(&bench, INPUT, OUTPUT).is_ok(),
        "user_id is gone before the schema looks"
    );
}

#[test]
fn seal_stripped_values_are_nowhere_in_the_bundle() {
    let bench = Bench::new();
    bench.write(
        "engine/INPUT_SCHEMA.json",
        r#"{"properties":{"context":{"x_forbidden_fields":["Nick"]}}}"#,
    );
    let input = r#"{"context":{"User_ID":"SECRET1","a":[{"nick":"SECRET2","permissions":{"phone":"SECRET3"}}]}}"#;
    let files = Files::read(&seal(&bench, input, OUTPUT).unwrap().path);
    assert_eq!(
        files.text("RUN_CONTEXT_STRIPPED.json"),
        r#"{"stripped":["/context/User_ID","/context/a/0/nick","/context/a/0/permissions"]}"#
    );
    for (name, bytes) in &files.0 {
        assert!(!String::from_utf8_lossy(bytes).contains("SECRET"), "{name}");
    }
}

#[test]
fn seal_output_that_lies_or_leaks_is_rejected() {
    let output = "RUN_OUTPUT.json";
    let hex = Digest::of(b"x").to_string();
    for (from, to, rules) in [
        (
            "\"outputs\"",
            format!("\"inputs_hash\":\"{hex}\",\"outputs\""),
            vec!["RB7"],
        ),
        (
            "\"outputs\"",
            format!("\"outputs_hash\":\"{hex}\",\"outputs\""),
            vec!["RB7"],
        ),
        (
            "\"outputs\"",
            "\"inputs_hash\":null,\"outputs\"".to_owned(),
            vec!["RB7"],
        ),
        (
            "\"outputs\"",
            "\"outputs_hash\":null,\"outputs\"".to_owned(),
            vec!["RB7"],
        ),
        (
            "42",
            "[{\"x\":{\"Billing_Tier\":1}}]".to_owned(),
            vec!["RB8"],
        ),
        ("\"ECHO\"", "\"OTHER\"".to_owned(), vec!["RB10"]),
        ("\"1.2.0\"", "\"1.2.1\"".to_owned(), vec!["RB10"]),
        ("\"engine_code\":\"ECHO\",", String::new(), vec!["RB4"]),
        ("\"RAW_TRUTH\"", "\"TRUTH\"".to_owned(), vec!["RB4"]),
        ("\"semantics\":\"RAW_TRUTH\",", String::new(), vec!["RB4"]),
        ("42", "9007199254740993".to_owned(), vec!["RB4"]),
        ("42", "1e400".to_owned(), vec!["RB4"]),
        ("42", "\"\\ud800\"".to_owned(), vec!["RB4"]),
        ("42", "1,\"value\":2".to_owned(), vec!["RB4"]),
    ] {
        let bench = Bench::new();
        let found = rejected(seal(&bench, INPUT, &OUTPUT.replacen(from, &to, 1)));
        let expected: Vec<_> = rules.iter().map(|rule| (*rule, output)).collect();
        assert_eq!(found, set(&expected), "{to}");
        assert!(bench.is_clean(), "{to}");
    }
    for printed in ["", "no json", "[]", "{} {}", "{}\n{}"] {
        let bench = Bench::new();
        let found = rejected(seal(&bench, INPUT, printed));
        assert!(
            found.contains(&("RB4".to_owned(), output.to_owned())),
            "{printed}"
        );
        assert!(bench.is_clean());
    }
}

#[test]
fn seal_right_hashes_of_the_engine_are_accepted() {
    let bench = Bench::new();
    let first = Files::read(&seal(&bench, INPUT, OUTPUT).unwrap().path);
    let bench = Bench::new();
    let again = Files::read(
        &seal(&bench, INPUT, &first.text("RUN_OUTPUT.json"))
            .unwrap()
            .path,
    );
    assert_eq!(first.0, again.0);
}

#[test]
fn seal_output_schema_sees_the_stored_document() {
    let bench = Bench::new();
    bench.write("engine/OUTPUT_SCHEMA.json", r#"{"required":["inputs_hash","outputs_hash"],"properties":{"outputs":{"required":["z"]}}}"#);
    let result = seal(&bench, INPUT, OUTPUT);
    assert!(messages(&result).contains("/outputs:"));
    assert_eq!(rejected(result), set(&[("RB4", "RUN_OUTPUT.json")]));
    assert!(bench.is_clean());
}

#[test]
fn seal_integers_that_jcs_would_change_are_refused_in_the_input() {
    let bench = Bench::new();
    let found = rejected(seal(&bench, r#"{"a":[9007199254740993]}"#, OUTPUT));
    assert_eq!(found, set(&[("RB3", "RUN_INPUT.json")]));
    assert!(seal(&bench, r#"{"a":[9007199254740992,1.5]}"#, OUTPUT).is_ok());
}

#[test]
fn seal_target_that_exists_is_never_touched() {
    let bench = Bench::new();
    let first = seal(&bench, INPUT, OUTPUT).unwrap();
    let before = Files::read(&first.path).0;
    let again = seal(&bench, INPUT, OUTPUT);
    assert!(
        matches!(
            again,
            Err(SealError::Files(RunFilesError::Staging(
                StagingError::Exists(_)
            )))
        ),
        "{again:?}"
    );
    assert_eq!(Files::read(&first.path).0, before);
    assert_eq!(fs::read_dir(bench.out()).unwrap().count(), 1);
}

#[test]
fn seal_default_run_id_is_time_and_inputs_hash() {
    let bench = Bench::new();
    let engine = bench.engine();
    let out = bench.out();
    let sealed = seal_output(
        request(&engine, INPUT, &out, &[], None),
        OUTPUT.as_bytes(),
        None,
    )
    .unwrap();
    let hash = Digest::of(br#"{"context":{"site":"x"},"inputs":{"a":1}}"#).hex_prefix(8);
    assert_eq!(
        sealed.run_id.as_str(),
        format!("run_20231114T221320Z_{hash}")
    );
}

#[test]
fn seal_parameters_given_apart_are_an_input() {
    let bench = Bench::new();
    let engine = bench.engine();
    let out = bench.out();
    let mut request = request(&engine, INPUT, &out, &[], Some("r1"));
    request.parameters = Some(value("{ \"b\": 1.0 }"));
    let files = Files::read(&seal_output(request, OUTPUT.as_bytes(), None).unwrap().path);
    assert_eq!(files.text("RUN_PARAMETERS.json"), r#"{"b":1}"#);
    assert!(
        files
            .text("ARTIFACT_INDEX.json")
            .contains(r#""relative_path":"RUN_PARAMETERS.json","role":"INPUT""#)
    );
}

#[test]
fn seal_artifacts_that_cannot_be_sealed_are_named() {
    for (name, text, path) in [
        ("x.json", "{", "artifacts/x.json"),
        ("x.json", "9007199254740993", "artifacts/x.json"),
    ] {
        let bench = Bench::new();
        bench.write(&format!("art/{name}"), text);
        let engine = bench.engine();
        let out = bench.out();
        let request = request(&engine, INPUT, &out, &[], Some("r1"));
        let found = rejected(seal_output(
            request,
            OUTPUT.as_bytes(),
            Some(&bench.path("art")),
        ));
        assert_eq!(found, set(&[("RB5", path)]));
        assert!(bench.is_clean());
    }
}

#[test]
fn seal_upstream_is_taken_only_by_the_rules() {
    let bench = Bench::new();
    let upstream = [seal(&bench, INPUT, OUTPUT).unwrap().path];
    let attempt = |bench: &Bench, input: &str| {
        let engine = bench.engine();
        let out = bench.out();
        seal_output(
            request(&engine, input, &out, &upstream, Some("r2")),
            OUTPUT.as_bytes(),
            None,
        )
    };
    let shown = upstream[0].display().to_string();
    bench.write(
        "engine/COUPLING_RULES.json",
        COUPLING.replace("[\"ECHO\"]", "[]"),
    );
    assert_eq!(rejected(attempt(&bench, INPUT)), set(&[("RB9", &shown)]));
    bench.write("engine/COUPLING_RULES.json", COUPLING);
    // An input that claims something else.
    let claims = r#"{"input_artifact_index":[]}"#;
    assert_eq!(
        rejected(attempt(&bench, claims)),
        set(&[("RB9", "RUN_INPUT.json")])
    );
    // A schema that has no room for the list.
    bench.write(
        "engine/INPUT_SCHEMA.json",
        r#"{"properties":{"inputs":{},"context":{}},"additionalProperties":false}"#,
    );
    let sealed = attempt(&bench, INPUT).unwrap();
    let files = Files::read(&sealed.path);
    assert!(
        !files
            .text("RUN_INPUT.json")
            .contains("input_artifact_index")
    );
    assert!(
        files
            .text("RUN_OUTPUT.json")
            .contains("input_artifact_index")
    );
    assert_eq!(files.found_strictly(), set(&[]));
    // One that was tampered with.
    let bad = bench.path("bad");
    fs::create_dir(&bad).unwrap();
    for (name, bytes) in Files::read(&upstream[0]).0 {
        fs::write(bad.join(name), bytes).unwrap();
    }
    fs::write(bad.join("SEALING_SPEC.md"), "other").unwrap();
    let engine = bench.engine();
    let out = bench.out();
    let tampered = [bad.clone()];
    let result = seal_output(
        request(&engine, INPUT, &out, &tampered, Some("r3")),
        OUTPUT.as_bytes(),
        None,
    );
    assert!(messages(&result).contains("does not verify"));
    assert_eq!(
        rejected(result),
        set(&[("RB9", &bad.display().to_string())])
    );
    // The same run twice.
    let twice = [upstream[0].clone(), upstream[0].clone()];
    let result = seal_output(
        request(&engine, INPUT, &out, &twice, Some("r3")),
        OUTPUT.as_bytes(),
        None,
    );
    assert!(messages(&result).contains("given twice"));
    // Not there at all.
    let none = [bench.path("none")];
    let result = seal_output(
        request(&engine, INPUT, &out, &none, Some("r3")),
        OUTPUT.as_bytes(),
        None,
    );
    assert!(matches!(result, Err(SealError::Read(_))));
    assert!(!bench.out().join("r3").exists());
}

#[test]
fn seal_upstream_claim_without_upstream_is_rejected() {
    let bench = Bench::new();
    let hex = Digest::of(b"x");
    let claims = format!(
        r#"{{"input_artifact_index":[{{"engine_code":"ECHO","artifact_name":"x","sha256":"{hex}"}}]}}"#
    );
    assert_eq!(
        rejected(seal(&bench, &claims, OUTPUT)),
        set(&[("RB9", "RUN_INPUT.json")])
    );
}

#[test]
fn upstream_file_changed_after_it_was_verified_is_not_sealed() {
    use std::os::unix::fs::PermissionsExt;

    use runseal_fs::directory::{DirectorySource, RootLink};
    use runseal_runs::run::staging::RunFiles;
    use runseal_runs::run::upstream::take_run;
    use runseal_runs::run::verify::{VerifyOptions, verify_run_source};

    let bench = Bench::new();
    let sealed = seal(&bench, INPUT, OUTPUT).unwrap();
    let code = bench.engine().code().to_owned();
    let source = DirectorySource::open(&sealed.path, RootLink::Refuse).unwrap();
    let (_, verified) = verify_run_source(&source, VerifyOptions::default()).unwrap();
    let verified = verified.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let allowed = [code].into_iter().collect();
    let mut files = RunFiles::begin(folder.path()).unwrap();
    let taken = take_run(&sealed.path, &verified, &allowed, &mut files).unwrap();
    assert!(!taken.is_empty());
    // Somebody swaps the output between the verdict and the copy.
    let output = sealed.path.join("RUN_OUTPUT.json");
    let text = fs::read_to_string(&output).unwrap();
    fs::set_permissions(&output, fs::Permissions::from_mode(0o644)).unwrap();
    let evil = text.replacen("\"outputs\":{", "\"outputs\":{\"evil\":1,", 1);
    assert_ne!(evil, text);
    fs::write(&output, evil).unwrap();
    let mut files = RunFiles::begin(folder.path()).unwrap();
    let refused = take_run(&sealed.path, &verified, &allowed, &mut files);
    let found = rejected(refused);
    assert!(found.iter().all(|(rule, _)| rule == "RB9"), "{found:?}");
}

#[test]
fn seal_of_an_engine_whose_program_is_absent_seals_what_others_produced() {
    use runseal_runs::run::contracts::{Program, check_engine};
    use runseal_runs::run::seal::seal_output;

    let bench = Bench::new();
    let manifest = fs::read_to_string(bench.path("engine/ENGINE_MANIFEST.json")).unwrap();
    let absent = manifest.replace("\"sh\"", "\"no-such-program-anywhere\"");
    assert_ne!(absent, manifest);
    bench.write("engine/ENGINE_MANIFEST.json", &absent);
    let folder = bench.path("engine");
    assert!(
        check_engine(&folder, Program::MustExist)
            .unwrap()
            .1
            .is_none()
    );
    let engine = check_engine(&folder, Program::NotAsked).unwrap().1.unwrap();
    let out = bench.out();
    let sealed = seal_output(
        request(&engine, INPUT, &out, &[], Some("r1")),
        OUTPUT.as_bytes(),
        None,
    );
    assert!(sealed.is_ok(), "{sealed:?}");
}
