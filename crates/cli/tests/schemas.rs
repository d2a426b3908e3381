//! The JSON Schemas: valid themselves, true of everything we make, and in agreement with the
//! verifier.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::schema_support::{Schemas, compile, documents, texts};
use runseal_core::canon::{Dialect, Node, canonical_bytes};
use runseal_testkit::cli::Bench;
use runseal_testkit::skip::skip;
use runseal_testkit::{conformance, folders_in, for_each_line, project_root, text};
use serde_json::Value;

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

#[test]
fn schemas_are_valid_2020_12_and_say_what_they_are() {
    for (name, text) in texts() {
        let schema: Value = serde_json::from_str(&text).unwrap();
        let draft = "https://json-schema.org/draft/2020-12/schema";
        assert_eq!(schema["$schema"], draft, "{name}");
        assert_eq!(schema["$id"], format!("urn:runseal:schema:{name}:1"));
        compile(&name, &text);
        for member in ["title", "description"] {
            let said = schema[member].as_str().unwrap_or_default();
            assert!(!said.is_empty(), "{name} has no {member}");
        }
        assert!(!text.contains("\"$ref\": \"http"), "{name} refers outside");
    }
}

#[test]
fn schema_command_lists_and_prints_what_the_folder_has() {
    let (_folder, bench) = bench();
    let listed = bench.run(&["schema"]);
    assert_eq!(listed.code, Some(0));
    let names: Vec<String> = texts().into_keys().collect();
    assert_eq!(listed.stdout.lines().collect::<Vec<_>>(), names);
    for (name, text) in texts() {
        let printed = bench.run(&["schema", &name]);
        assert_eq!((printed.code, printed.stdout), (Some(0), text), "{name}");
    }
    let unknown = bench.run(&["schema", "bundle"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(64), ""));
    assert!(unknown.stderr.starts_with("SCHEMA: "), "{}", unknown.stderr);
}

/// Whether a level of a case's expectation is valid.
fn is_valid(expect: &Value, level: &str) -> bool {
    let verdict = match expect[level].is_null() {
        true => &expect["document"],
        false => &expect[level],
    };
    verdict["exit"] == 0
}

#[test]
fn schemas_agree_with_the_verifier_on_the_vectors() {
    let schemas = Schemas::load();
    let mut wrong = Vec::new();
    let (mut passed, mut rejected) = (0, 0);
    let mut seen = BTreeSet::new();
    for format in folders_in(&project_root().join("vectors")) {
        let name = format.file_name().unwrap().to_string_lossy().into_owned();
        for case in folders_in(&format) {
            let Ok(expect) = fs::read_to_string(case.join("expect.json")) else {
                continue;
            };
            let expect: Value = serde_json::from_str(&expect).unwrap();
            let mut is_rejected = false;
            for found in documents(&name, &case) {
                seen.insert(found.schema);
                let Some(value) = found.value else { continue };
                let faults = schemas.faults(found.schema, &value);
                is_rejected |= !faults.is_empty();
                // A pack's document looks into these only for some of the members, and 004 does not know the
                // environment of a run.
                let level = match found.schema {
                    "ledger-entry" | "evidence" | "run" if name == "pack" => "strict",
                    "run-environment" => "strict",
                    _ => "document",
                };
                if !faults.is_empty() && is_valid(&expect, level) {
                    wrong.push(format!("{}: {faults:?}", found.place));
                }
            }
            match is_rejected {
                true => rejected += 1,
                false => passed += 1,
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "valid, and against the schema:\n{}",
        wrong.join("\n")
    );
    println!("{passed} cases pass, {rejected} invalid ones are rejected by schemas alone");
    assert!(
        passed > 100 && rejected > 80,
        "{passed} passed, {rejected} rejected"
    );
    for schema in schemas.names() {
        let elsewhere = [
            "intent",
            "answers",
            "plan",
            "recording",
            "run-predicate",
            "disclosure",
            "policy-file",
            "run-manifest",
        ];
        let elsewhere = elsewhere.contains(&schema) || schema.ends_with("-answer");
        assert!(
            elsewhere || seen.contains(schema),
            "no vector has a {schema}"
        );
    }
}

#[test]
fn schemas_hold_for_everything_that_the_demo_makes_and_says() {
    let schemas = Schemas::load();
    let (folder, bench) = bench();
    let demo = bench.run(&["demo", "--out", "demo"]);
    assert_eq!(demo.code, Some(0), "{}", demo.stderr);
    let demo = folder.path().join("demo");
    let mut checked = BTreeSet::new();
    let mut check = |schema: &str, value: &Value, place: &str| {
        assert_eq!(
            schemas.faults(schema, value),
            Vec::<String>::new(),
            "{place}"
        );
        checked.insert(schema.to_owned());
    };
    let parse = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let read = |name: &str| parse(&fs::read_to_string(demo.join(name)).unwrap());
    for (schema, name) in [
        ("intent", "intent.json"),
        ("intent", "vague.json"),
        ("intent", "work.json"),
        ("plan", "plan.json"),
        ("context-bundle", "good/bundle.json"),
        ("proposal", "good/proposal.json"),
        ("receipt", "good/receipt.json"),
    ] {
        check(schema, &read(name), name);
    }
    let runs = demo.join("good/runs");
    for (format, name) in [
        ("pack", "good/pack"),
        ("job-bundle", "good/job"),
        ("ledger", "good/ledger.jsonl"),
        ("engine", "engine"),
        ("run-bundle", "good/runs"),
    ] {
        if name == "good/runs" && !runs.is_dir() {
            skip("the demo's engine was not run");
            continue;
        }
        for found in documents(format, &demo.join(name)) {
            check(found.schema, &found.value.unwrap(), &found.place);
        }
    }
    let signed = fs::read(demo.join("good/pack.intoto.jsonl")).unwrap();
    let signed = runseal_trust::dsse::Envelope::parse(signed.trim_ascii_end()).unwrap();
    let statement = parse(std::str::from_utf8(&signed.payload).unwrap());
    check(
        "run-predicate",
        &statement["predicate"],
        "good/pack.intoto.jsonl",
    );
    check_answers(&bench, &demo, &mut check);
    let least = if runs.is_dir() { 20 } else { 14 };
    assert!(checked.len() >= least, "{checked:?}");
}

/// What commands print about what the demo made.
fn check_answers(bench: &Bench, demo: &Path, check: &mut impl FnMut(&str, &Value, &str)) {
    let good = |name: &str| demo.join("good").join(name).display().to_string();
    let tampered = |name: &str| demo.join("tampered").join(name).display().to_string();
    let (pack, bad_pack, job, bad_job) =
        (good("pack"), tampered("pack"), good("job"), tampered("job"));
    let (bundle, bad_bundle) = (good("bundle.json"), tampered("bundle.json"));
    let all = demo.join("good").display().to_string();
    let nothing = demo.join("nothing").display().to_string();
    let vague = demo.join("vague.json").display().to_string();
    let json = ["--format", "json"];
    for (schema, command) in [
        ("verify-answer", vec!["verify", &all]),
        (
            "verify-answer",
            vec!["verify", "--strict", &bad_pack, &bad_job, &nothing],
        ),
        ("inspect-answer", vec!["inspect", &pack]),
        ("inspect-answer", vec!["inspect", &bad_job]),
        ("inspect-answer", vec!["inspect", &bundle]),
        ("diff-answer", vec!["diff", &job, &bad_job]),
        ("diff-answer", vec!["diff", &pack, &pack]),
        ("lint-answer", vec!["lint", &vague]),
    ] {
        let line: Vec<&str> = command.iter().copied().chain(json).collect();
        let ran = bench.run(&line);
        let value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{line:?}: {error}: {}", ran.stderr));
        check(schema, &value, &format!("{line:?}"));
    }
    for command in [
        ["pack", "verify", &pack],
        ["pack", "verify", &bad_pack],
        ["pack", "verify", &nothing],
        ["job", "verify", &job],
        ["job", "verify", &bad_job],
        ["bundle", "verify", &bundle],
        ["receipt", "verify", &good("receipt.json")],
        ["receipt", "verify", &tampered("receipt.json")],
        [
            "engine",
            "check",
            &demo.join("engine").display().to_string(),
        ],
    ] {
        let ran = bench.run(&command);
        check(
            "verdict-answer",
            &serde_json::from_str(&ran.stdout).unwrap(),
            &command.join(" "),
        );
    }
    let strict = bench.run(&["bundle", "verify", "--strict", &bad_bundle]);
    check(
        "verdict-answer",
        &serde_json::from_str(&strict.stdout).unwrap(),
        "bundle verify --strict",
    );
}

/// The document as another reader sees it; none if that reader has no form for it.
fn as_json(node: Node<'_>) -> Option<Value> {
    let bytes = canonical_bytes(node, Dialect::Kernel).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[test]
fn schemas_agree_with_the_conformance_data() {
    let Some(folder) = conformance() else { return };
    let schemas = Schemas::load();
    let mut wrong = Vec::new();
    let (mut compared, mut unread) = (0, 0);
    let mut compare = |schema: &str, named: &str, ok: bool, value: Option<Value>| {
        let Some(value) = value else {
            unread += 1;
            return;
        };
        let faults = schemas.faults(schema, &value);
        if ok && !faults.is_empty() {
            wrong.push(format!("{named}: {faults:?}"));
        }
        compared += 1;
    };
    for (file, schema) in [
        ("bundle", "context-bundle"),
        ("proposal", "proposal"),
        ("patch", "patch"),
        ("model_io", "model-io"),
        ("runner", "runner"),
    ] {
        for_each_line(&folder.join(format!("kernel/{file}.jsonl")), |case| {
            // Another limit, and documents that have to be blown up first.
            if case.get("options").is_some() || case.get("expand").is_some() {
                return;
            }
            let named = text(case, "name").unwrap();
            let ok = case
                .get("expect")
                .unwrap()
                .get("ok")
                .unwrap()
                .as_bool()
                .unwrap();
            let value = match (case.get("document"), text(case, "raw")) {
                (Some(document), _) => as_json(document),
                (None, raw) => raw.and_then(|raw| serde_json::from_str(&raw).ok()),
            };
            compare(schema, &format!("{file} {named}"), ok, value);
        });
    }
    for (file, format) in [
        ("kernel/packs", "pack"),
        ("jobbundle/bundles", "job-bundle"),
    ] {
        let listed = match format {
            "pack" => folder.join("kernel/packs.jsonl"),
            _ => folder.join("jobbundle/cases.jsonl"),
        };
        for_each_line(&listed, |case| {
            let named = text(case, "name").unwrap();
            let ok = case
                .get("expect")
                .unwrap()
                .get("ok")
                .unwrap()
                .as_bool()
                .unwrap();
            let place = folder.join(file).join(&named);
            if ok && place.is_dir() {
                for found in documents(format, &place) {
                    compare(found.schema, &found.place, true, found.value);
                }
            }
        });
    }
    for_each_line(&folder.join("jobbundle/receipts.jsonl"), |case| {
        compare(
            "receipt",
            "a receipt",
            true,
            case.get("receipt").and_then(as_json),
        );
    });
    println!("{compared} documents compared, {unread} that only our reader reads");
    assert!(
        wrong.is_empty(),
        "valid, and against the schema:\n{}",
        wrong.join("\n")
    );
    assert!(compared > 300, "{compared}");
}
