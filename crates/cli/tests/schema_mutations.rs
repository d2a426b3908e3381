//! Documents with one member dropped or retyped: what a schema rejects, the verifier rejects too.
//!
//! Single documents are judged at the document level, and so are the files of a run bundle, after
//! sums, index and hashes were put right; hash rules would otherwise catch every edit and prove
//! nothing. run.json and policy.json are judged in strict mode: the pack's document asks for the
//! presence of their members only. RUN_CONTEXT_STRIPPED.json is left out, because no rule reads it.

use std::fs;
use std::path::Path;

use crate::schema_support::Schemas;
use runseal_core::digest::Digest;
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::project_root;
use serde_json::{Value, json};

/// Every document that differs from `value` by one member dropped or retyped, with its place.
fn mutations(value: &Value) -> Vec<(String, Value)> {
    let mut pointers = Vec::new();
    collect(value, String::new(), &mut pointers);
    let mut mutated = Vec::new();
    for pointer in pointers {
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        if let Some(Value::Object(_)) = value.pointer(parent) {
            let mut dropped = value.clone();
            let name = last.replace("~1", "/").replace("~0", "~");
            let members = dropped.pointer_mut(parent).unwrap().as_object_mut();
            members.unwrap().remove(&name);
            mutated.push((format!("{pointer} dropped"), dropped));
        }
        for other in [json!(null), json!("!"), json!(0.5), json!({})] {
            let mut retyped = value.clone();
            *retyped.pointer_mut(&pointer).unwrap() = other.clone();
            if retyped != *value {
                mutated.push((format!("{pointer} is {other}"), retyped));
            }
        }
    }
    mutated
}

/// Pointers of all members; of a list only the first element is entered.
fn collect(value: &Value, base: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let pointer = format!("{base}/{}", name.replace('~', "~0").replace('/', "~1"));
                pointers.push(pointer.clone());
                collect(member, pointer, pointers);
            }
        }
        Value::Array(items) => {
            if let Some(first) = items.first() {
                let pointer = format!("{base}/0");
                pointers.push(pointer.clone());
                collect(first, pointer, pointers);
            }
        }
        _ => {}
    }
}

/// Tries every mutation of `base`; `is_rejected` is asked about those that the schema rejects.
fn try_mutations(schema: &str, base: &Value, mut is_rejected: impl FnMut(&Value) -> bool) {
    let schemas = Schemas::load();
    assert_eq!(
        schemas.faults(schema, base),
        Vec::<String>::new(),
        "{schema}"
    );
    assert!(
        !is_rejected(base),
        "the verifier rejects the base of {schema}"
    );
    let mut tried = 0;
    let mut wrong = Vec::new();
    for (what, mutated) in mutations(base) {
        let faults = schemas.faults(schema, &mutated);
        if faults.is_empty() {
            continue;
        }
        tried += 1;
        if !is_rejected(&mutated) {
            wrong.push(format!("{what}: {}", faults[0]));
        }
    }
    assert!(
        wrong.is_empty(),
        "{schema}: the verifier accepts\n{}",
        wrong.join("\n")
    );
    assert!(tried >= 4, "{schema}: {tried} mutations");
    println!("{schema}: {tried} mutated documents");
}

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

fn vector(path: &str) -> Value {
    let text = fs::read_to_string(project_root().join("vectors").join(path)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The rules of the findings that were printed.
fn rules(ran: &Ran) -> Vec<String> {
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    let results = match answer["results"].as_array() {
        Some(results) => results.clone(),
        None => vec![answer],
    };
    let violations = results
        .iter()
        .flat_map(|result| result["violations"].as_array());
    let ids = violations
        .flatten()
        .map(|violation| violation["rule_id"].as_str());
    ids.map(|id| id.unwrap().to_owned()).collect()
}

#[test]
fn schema_rejections_of_single_documents_are_the_verifiers_too() {
    let (_folder, bench) = bench();
    for (schema, command, base) in [
        (
            "context-bundle",
            "bundle",
            "context-bundle/ok-branching/input.json",
        ),
        ("proposal", "proposal", "proposal/ok-commands/input.json"),
        ("patch", "patch", "patch/ok-executed/input.json"),
        ("evidence", "evidence", "evidence/ok-complete/input.json"),
        ("model-io", "model-io", "model-io/ok-replay/input.json"),
        ("runner", "runner", "runner/ok-phases/input.json"),
        ("ledger-entry", "ledger", "ledger/ok-one-run/input.jsonl"),
    ] {
        try_mutations(schema, &vector(base), |document| {
            bench.write("input", format!("{document}\n"));
            let level = if command == "ledger" {
                "--strict"
            } else {
                "--quiet"
            };
            bench.run(&[command, "verify", "input", level]).code == Some(3)
        });
    }
}

#[test]
fn schema_rejections_of_receipts_and_policies_are_the_verifiers_too() {
    let (_folder, bench) = bench();
    // A wrong hash or signature alone says nothing about the shape.
    let is_shape_fault = |ran: &Ran| rules(ran).iter().any(|id| id == "RC1");
    try_mutations(
        "receipt",
        &vector("receipt/ok-unsigned/input.json"),
        |document| {
            bench.write("input", document.to_string());
            let ran = bench.run(&["receipt", "verify", "input"]);
            is_shape_fault(&ran) || (!document["attestation"].is_null() && ran.code == Some(1))
        },
    );
    bench.write("chain", vector("receipt/ok-merkle/input.json").to_string());
    try_mutations(
        "merkle-attestation",
        &vector("receipt/ok-merkle/merkle.json"),
        |document| {
            bench.write("merkle", document.to_string());
            bench
                .run(&["receipt", "verify", "chain", "--merkle", "merkle"])
                .code
                == Some(1)
        },
    );
    try_mutations(
        "trust-policy",
        &vector("trust-policy/ok-one-key/input.json"),
        |document| {
            bench.write("trust", document.to_string());
            bench
                .run(&["receipt", "verify", "chain", "--trust", "trust"])
                .code
                == Some(2)
        },
    );
}

#[test]
fn schema_rejections_of_inputs_are_the_commands_too() {
    let (_folder, bench) = bench();
    let intent = json!({"goal": "Print ready", "constraints": ["Plain sh"], "context": {"a": 1}});
    try_mutations("intent", &intent, |document| {
        bench.write("intent.json", document.to_string());
        let ran = bench.run(&["transform", "intent.json", "--result"]);
        ran.stdout.contains("\"kernel_result_kind\":\"REFUSE\"")
    });
    bench.write("intent.json", intent.to_string());
    let answers = json!({"q_0123456789abcdef": "yes", "q_1123456789abcdef": 1});
    try_mutations("answers", &answers, |document| {
        bench.write("answers.json", document.to_string());
        let ran = bench.run(&["transform", "intent.json", "--answers", "answers.json"]);
        ran.code == Some(2)
    });
    bench.write("handbook/a.md", "one\ntwo\nthree\n");
    assert_eq!(bench.run(&["job", "init"]).code, Some(0));
    assert_eq!(bench.run(&["job", "index", "handbook"]).code, Some(0));
    let symbol = [
        "job",
        "symbol",
        "add",
        "@a",
        "handbook/a.md",
        "--slice",
        "head(3)",
    ];
    assert_eq!(bench.run(&symbol).code, Some(0));
    let plan = json!({
        "run_id": "r", "idempotency_key": "1", "intent": "try",
        "budgets": {"max_bytes": 100, "max_symbols": 2, "max_steps": 3},
        "steps": [
            {"op": "READ_SECTION", "refs": {"section_id": "handbook/a.md"},
             "constraints": {"slice": "lines[0:2]"}, "expected_outputs": {}, "step_id": "s", "ordinal": 0},
            {"op": "READ_SYMBOL", "refs": {"symbol_id": "@a"}}
        ]
    });
    try_mutations("plan", &plan, |document| {
        bench.write("plan.json", document.to_string());
        bench.run(&["job", "post", "plan.json"]).code == Some(1)
    });
}

/// Copies a folder of a vector.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn schema_rejections_of_job_bundles_are_the_verifiers_too() {
    let (_folder, bench) = bench();
    copy(
        &project_root().join("vectors/job-bundle/ok-handbook/input"),
        &bench.path("job"),
    );
    let base = vector("job-bundle/ok-handbook/input/bundle.json");
    try_mutations("job-bundle", &base, |document| {
        bench.write("job/bundle.json", document.to_string());
        let found = rules(&bench.run(&["job", "verify", "job"]));
        // Without the hashes, which every edit breaks.
        found
            .iter()
            .any(|id| ["JB2", "JB9", "JB10"].contains(&id.as_str()))
    });
}

#[test]
fn schema_rejections_of_packs_are_the_verifiers_too() {
    let (_folder, bench) = bench();
    let source = project_root().join("vectors/pack/ok-executed/input");
    copy(&source, &bench.path("pack"));
    let run = vector("pack/ok-executed/input/run.json");
    let is_rejected = |bench: &Bench| {
        let found = rules(&bench.run(&["pack", "verify", "pack", "--strict"]));
        let shape = |id: &String| {
            id == "PK3" || id == "PK8" || id.starts_with("RS") || id.starts_with("PL")
        };
        found
            .iter()
            .any(|id| shape(id) && id != "RS7" && id != "RS5")
    };
    let base = without_seal(run.clone());
    bench.write("pack/run.json", base.to_string());
    try_mutations("run", &base, |document| {
        bench.write("pack/run.json", document.to_string());
        is_rejected(&bench)
    });
    try_mutations("policy", &base["policy"], |policy| {
        let mut run = base.clone();
        run["policy"] = policy.clone();
        bench.write("pack/run.json", run.to_string());
        bench.write("pack/policy.json", policy.to_string());
        is_rejected(&bench)
    });
}

/// run.json without the hashes that every edit breaks.
fn without_seal(mut run: Value) -> Value {
    for name in ["files", "self_hash"] {
        run.as_object_mut().unwrap().remove(name);
    }
    run
}

#[test]
fn schema_rejections_of_engines_are_the_verifiers_too() {
    let (_folder, bench) = bench();
    copy(
        &project_root().join("vectors/engine/ok-sweep/input"),
        &bench.path("engine"),
    );
    for (schema, name) in [
        ("coupling-rules", "COUPLING_RULES.json"),
        ("engine-manifest", "ENGINE_MANIFEST.json"),
    ] {
        let base = vector(&format!("engine/ok-sweep/input/{name}"));
        try_mutations(schema, &base, |document| {
            bench.write(&format!("engine/{name}"), document.to_string());
            bench.run(&["engine", "check", "engine"]).code == Some(1)
        });
        bench.write(&format!("engine/{name}"), base.to_string());
    }
}

/// Writes one file of a run bundle and puts right what is derived from it, but for `outputs_hash`
/// and `inputs_hash` in a mutated output.
fn write_sealed(folder: &Path, name: &str, document: &Value) {
    fs::write(folder.join(name), document.to_string()).unwrap();
    let digest = |name: &str| {
        let bytes = fs::read(folder.join(name)).unwrap();
        Digest::of(&bytes).to_string()
    };
    if name != "ARTIFACT_INDEX.json" {
        let path = folder.join("ARTIFACT_INDEX.json");
        let mut index: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for entry in index["artifacts"].as_array_mut().unwrap() {
            entry["sha256"] = digest(entry["relative_path"].as_str().unwrap()).into();
        }
        fs::write(path, index.to_string()).unwrap();
    }
    let path = folder.join("SHA256SUMS.txt");
    let sums = fs::read_to_string(&path).unwrap();
    let line = |line: &str| {
        let (_, name) = line.split_once("  ").unwrap();
        format!("{}  {name}\n", digest(name))
    };
    fs::write(path, sums.lines().map(line).collect::<String>()).unwrap();
}

#[test]
fn schema_rejections_of_run_bundles_are_the_verifiers_too() {
    let (_folder, bench) = bench();
    for (case, schema, name, found) in [
        ("ok-upstream", "run-meta", "RUN_META.json", "RB10"),
        (
            "ok-upstream",
            "run-output",
            "RUN_OUTPUT.json",
            "RB4 RB7 RB9",
        ),
        ("ok-upstream", "run-input", "RUN_INPUT.json", "RB3 RB9"),
        (
            "ok-upstream",
            "artifact-index",
            "ARTIFACT_INDEX.json",
            "RB11",
        ),
        (
            "ok-upstream",
            "input-artifact-index",
            "INPUT_ARTIFACT_INDEX.json",
            "RB9",
        ),
        (
            "ok-recorded",
            "run-environment",
            "RUN_ENVIRONMENT.json",
            "RB16",
        ),
    ] {
        let folder = bench.path(schema);
        copy(
            &project_root().join(format!("vectors/run-bundle/{case}/input")),
            &folder,
        );
        let base = vector(&format!("run-bundle/{case}/input/{name}"));
        try_mutations(schema, &base, |document| {
            write_sealed(&folder, name, document);
            let rules = rules(&bench.run(&["verify", "--format", "json", schema]));
            rules
                .iter()
                .any(|id| found.split(' ').any(|wanted| wanted == id))
        });
    }
}
