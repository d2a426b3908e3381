//! Run bundles in the formats of others: RO-Crates, as their validator and readers take them, and SLSA
//! provenance. `.ci/neighbour-tools` installs the validators.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::neighbour_support::{bench, run, tools, vectors, verdict};
use crate::record_support::Project;
use crate::signing_support::{keygen, ok, sealed, trust_ada};
use runseal_testkit::cli::Bench;
use runseal_testkit::folders::{copy_folder, files_of};
use runseal_testkit::project_root;
use runseal_testkit::skip::need_isolation;
use serde_json::Value;

const BUNDLES: [&str; 4] = [
    "ok-recorded",
    "ok-recorded-models",
    "ok-sealed",
    "ok-upstream",
];

fn bundle(name: &str) -> PathBuf {
    vectors("run-bundle").join(name).join("input")
}

fn export(bench: &Bench, from: &Path, to: &str) {
    ok(bench.run(&["export", "ro-crate", from.to_str().unwrap(), "-o", to]));
}

fn graph(bench: &Bench, folder: &str) -> Vec<Value> {
    let text = bench.read(&format!("{folder}/ro-crate-metadata.json"));
    let metadata: Value = serde_json::from_str(&text).unwrap();
    metadata["@graph"].as_array().unwrap().clone()
}

fn entity<'a>(graph: &'a [Value], id: &str) -> &'a Value {
    graph.iter().find(|entity| entity["@id"] == id).unwrap()
}

#[test]
fn crate_of_a_bundle_is_the_same_bytes_and_its_bundle_still_holds() {
    let (folder, bench) = bench();
    for name in BUNDLES {
        let one = format!("{name}-1");
        let two = format!("{name}-2");
        export(&bench, &bundle(name), &one);
        export(&bench, &bundle(name), &two);
        let path = |name: &str| folder.path().join(name);
        let relative = |folder: &str| {
            let files = files_of(&path(folder)).into_iter();
            files
                .map(|(file, bytes)| {
                    (
                        file.strip_prefix(path(folder)).unwrap_or(&file).to_owned(),
                        bytes,
                    )
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(relative(&one), relative(&two), "{name}");
        let (code, rules) = verdict(&bench, &path(&one), &["--strict"]);
        assert_eq!((code, rules), (0, vec![]), "{name}");
        let listed = graph(&bench, &one);
        let ids: BTreeSet<&str> = listed.iter().map(|e| e["@id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), listed.len(), "{name}: an id comes twice");
        // Every reference leads to an entity.
        for part in ["object", "result"] {
            let action = entity(&listed, "#run");
            let parts = match &action[part] {
                Value::Array(parts) => parts.clone(),
                one => vec![one.clone()],
            };
            for part in parts {
                assert!(ids.contains(part["@id"].as_str().unwrap()), "{name} {part}");
            }
        }
    }
}

#[test]
fn crate_as_a_zip_is_the_folder_and_the_same_from_an_archive() {
    let (folder, bench) = bench();
    copy_folder(&bundle("ok-recorded"), &folder.path().join("run"));
    let packed = Command::new("tar")
        .args(["-czf", "run.tar.gz", "run"])
        .current_dir(folder.path())
        .status();
    assert!(packed.unwrap().success());
    export(&bench, Path::new("run"), "one.zip");
    export(&bench, Path::new("run.tar.gz"), "two.zip");
    let zip = fs::read(folder.path().join("one.zip")).unwrap();
    assert_eq!(zip, fs::read(folder.path().join("two.zip")).unwrap());
    let (code, rules) = verdict(&bench, &folder.path().join("one.zip"), &[]);
    assert_eq!((code, rules), (0, vec![]));
    let again = bench.run(&["export", "ro-crate", "run", "-o", "one.zip"]);
    assert_eq!(again.code, Some(2), "nothing is overwritten");
    assert_eq!(zip, fs::read(folder.path().join("one.zip")).unwrap());
}

#[test]
fn crate_is_made_only_of_a_run_bundle_that_holds() {
    let (folder, bench) = bench();
    let cases = [
        (
            vectors("run-bundle").join("rb5-artifact-changed/input"),
            "NOT_VALID",
        ),
        (
            vectors("job-bundle").join("ok-handbook/input"),
            "UNKNOWN_FORMAT",
        ),
        (
            vectors("bag").join("ok-two-functions/input"),
            "UNKNOWN_FORMAT",
        ),
        (folder.path().join("nowhere"), "nowhere"),
    ];
    for (path, said) in cases {
        for command in ["ro-crate", "slsa"] {
            let ran = bench.run(&["export", command, path.to_str().unwrap(), "-o", "out"]);
            let code = if said == "NOT_VALID" { 1 } else { 2 };
            assert_eq!(ran.code, Some(code), "{}", ran.stderr);
            assert!(ran.stderr.contains(said), "{}", ran.stderr);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}

#[test]
fn crate_is_written_as_a_folder_or_a_zip_only() {
    let (folder, bench) = bench();
    let run = bundle("ok-recorded");
    for name in ["c.tar", "c.tar.gz", "c.tgz", "c.tar.zst", "c.ZIP"] {
        let ran = bench.run(&["export", "ro-crate", run.to_str().unwrap(), "-o", name]);
        assert_eq!(ran.code, Some(64), "{name}: {}", ran.stderr);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn outputs_are_never_written_into_a_bundle() {
    let (folder, bench) = bench();
    copy_folder(&bundle("ok-recorded"), &folder.path().join("run"));
    keygen(&bench, "k.pem", "ed25519", "pem");
    let inside = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path().join("run"));
    for line in [
        "report . -o report.html",
        "report -r . -o site",
        "export slsa . -o provenance.json",
        "export ro-crate . -o crate",
        "sign . --key ../k.pem -o signature",
        "record -- true",
        "record --out . -- true",
        "record --out ../run -- true",
    ] {
        let ran = inside.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, Some(2), "{line}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("INSIDE: "), "{line}: {}", ran.stderr);
        let (code, rules) = verdict(&bench, &folder.path().join("run"), &["--strict"]);
        assert_eq!((code, rules), (0, vec![]), "{line}");
    }
    ok(inside.run(&["report", ".", "-o", "../report.html"]));
    copy_folder(
        &vectors("job-bundle").join("ok-handbook/input"),
        &folder.path().join("job"),
    );
    let ran = bench.run(&["job", "replay", "job", "--receipt", "job/receipt.json"]);
    assert!(ran.stderr.starts_with("INSIDE: "), "{}", ran.stderr);
    assert!(!bench.path("job/receipt.json").exists());
}

#[test]
fn crate_of_a_signed_bundle_names_its_signer_and_keeps_the_signature() {
    let (folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "k.pem", "ed25519", "pem");
    ok(bench.run(&["sign", "out/r1", "--key", "k.pem", "--as", "Ada Example"]));
    export(&bench, Path::new("out/r1"), "crate");
    let listed = graph(&bench, "crate");
    assert_eq!(entity(&listed, "#run")["agent"]["@id"], "#signer");
    assert_eq!(entity(&listed, "#signer")["name"], "Ada Example");
    assert_eq!(
        entity(&listed, "#signer")["description"],
        "The name is the signer's own word"
    );
    let shown = bench.run(&["verify", "--format", "json", "crate/bundle"]);
    assert!(
        shown.stdout.contains("\"signed\":\"signed\""),
        "{}",
        shown.stdout
    );
    drop(folder);
}

#[test]
fn crate_of_a_bundle_in_an_archive_keeps_the_signatures_in_it_and_beside_it() {
    let (folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "k.pem", "ed25519", "pem");
    for form in ["dsse", "minisign"] {
        ok(bench.run(&["sign", "out/r1", "--key", "k.pem", "--form", form]));
    }
    let packed = Command::new("tar")
        .args(["-czf", "one.tgz", "-C", "out", "r1"])
        .args(["r1.intoto.jsonl", "r1.minisig"])
        .current_dir(folder.path())
        .status();
    assert!(packed.unwrap().success());
    for (from, to) in [("one.tgz", "whole"), ("one.tgz!/r1", "inside")] {
        export(&bench, Path::new(from), to);
        for ending in ["intoto.jsonl", "minisig"] {
            let kept = bench.read(&format!("{to}/bundle.{ending}"));
            assert_eq!(kept, bench.read(&format!("out/r1.{ending}")), "{from}");
        }
        let listed = graph(&bench, to);
        assert_eq!(entity(&listed, "#run")["agent"]["@id"], "#signer");
        entity(&listed, "bundle.intoto.jsonl");
        ok(bench.run(&["verify", &format!("{to}/bundle"), "--require-signed"]));
    }
    // Others beside the archive: none is lost.
    for form in ["dsse", "minisign"] {
        let sign = ["sign", "one.tgz", "--key", "k.pem", "--as", "Ada"];
        ok(bench.run(&[&sign[..], &["--form", form]].concat()));
    }
    export(&bench, Path::new("one.tgz!/r1"), "all.zip");
    export(&bench, Path::new("one.tgz!/r1"), "all");
    let lines = bench.read("one.tgz.intoto.jsonl") + &bench.read("out/r1.intoto.jsonl");
    assert_eq!(bench.read("all/bundle.intoto.jsonl"), lines);
    let listed = graph(&bench, "all");
    for name in ["bundle.minisig", "bundle.2.minisig"] {
        entity(&listed, name);
        assert!(bench.path(&format!("all/{name}")).exists());
    }
    ok(bench.run(&["verify", "all", "--require-signed"]));
    ok(bench.run(&["verify", "all.zip", "--require-signed"]));
}

#[test]
fn crate_names_the_author_as_agent_and_never_a_reviewer() {
    let (_folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "k.pem", "ed25519", "pem");
    let sign = |name: &str, more: &[&str]| {
        let sign = ["sign", "out/r1", "--key", "k.pem", "--as", name];
        ok(bench.run(&[&sign[..], more].concat()));
    };
    sign("Rita", &["--meaning", "reviewer"]);
    sign("Al", &["--meaning", "approver"]);
    export(&bench, Path::new("out/r1"), "reviewed");
    let listed = graph(&bench, "reviewed");
    assert_eq!(entity(&listed, "#run").get("agent"), None);
    assert!(listed.iter().all(|entity| entity["@id"] != "#signer"));
    sign("Nora", &[]);
    export(&bench, Path::new("out/r1"), "unsaid");
    assert_eq!(entity(&graph(&bench, "unsaid"), "#signer")["name"], "Nora");
    sign("Ada", &["--meaning", "author"]);
    export(&bench, Path::new("out/r1"), "authored");
    assert_eq!(entity(&graph(&bench, "authored"), "#signer")["name"], "Ada");
}

#[test]
fn crate_is_not_made_of_what_the_policy_does_not_accept() {
    let (_folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "k.pem", "ed25519", "pem");
    keygen(&bench, "other.pem", "ed25519", "pem");
    trust_ada(&bench, "k.pem.pub");
    let export = ["export", "ro-crate", "out/r1", "-o", "crate"];
    let export = [&export[..], &["--trust", "trust.toml"]].concat();
    let refused = |why: &str| {
        let ran = bench.run(&export);
        assert_eq!(ran.code, Some(1), "{why}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("NOT_TRUSTED: "), "{}", ran.stderr);
        assert!(!bench.path("crate").exists(), "{why}");
    };
    refused("unsigned");
    ok(bench.run(&["sign", "out/r1", "--key", "other.pem"]));
    refused("signed by somebody else");
    ok(bench.run(&["sign", "out/r1", "--key", "k.pem"]));
    ok(bench.run(&export));
    let listed = graph(&bench, "crate");
    assert_eq!(entity(&listed, "#signer")["name"], "ada");
}

#[test]
fn crate_of_a_command_that_failed_says_so() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("a.txt", "1\n");
    let ran = project.run(&[
        "record",
        "--keep-failed",
        "--run-id",
        "r1",
        "--",
        "sh",
        "-c",
        "cat a.txt > b.txt; exit 3",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let out = project.path("crate");
    let bundle = project.bundle("r1");
    let arguments = [
        "export",
        "ro-crate",
        bundle.to_str().unwrap(),
        "-o",
        out.to_str().unwrap(),
    ];
    assert_eq!(project.run(&arguments).code, Some(0));
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), project.path(""));
    let listed = graph(&bench, "crate");
    let action = entity(&listed, "#run");
    assert_eq!(
        action["actionStatus"],
        "http://schema.org/FailedActionStatus"
    );
    assert_eq!(action["error"], "it ended with exit status 3");
}

/// What the profile recommends and a bundle does not know: the address of the program, who is its agent where
/// nobody signed, an author, a publisher, and a licence where none is given.
const NOT_KNOWN: [&str; 6] = [
    "The Application SHOULD have a url",
    "The SoftwareApplication id SHOULD be an absolute URI",
    "The Action SHOULD have an agent that is a Person or Organization",
    "The Root Data Entity SHOULD have a link to a Contextual Entity representing the `author` of the RO-Crate",
    "The `publisher` property of a `Root Data Entity` SHOULD be an `Organization`",
    "The Root Data Entity SHOULD have a link to a Contextual Entity representing the schema_org:license type",
];

#[test]
fn roc_validator_accepts_our_crates() {
    let Some(tools) = tools() else { return };
    let (folder, bench) = bench();
    let mut crates: Vec<String> = Vec::new();
    for name in BUNDLES {
        export(&bench, &bundle(name), name);
        crates.push(name.to_owned());
    }
    export(&bench, &bundle("ok-recorded"), "packed.zip");
    crates.push("packed.zip".to_owned());
    let script = project_root().join("crates/cli/tests/outside/ro_crate_validate.py");
    let issues = |severity: &str| -> Vec<Vec<(String, String)>> {
        let mut arguments = vec![script.to_str().unwrap(), severity];
        arguments.extend(crates.iter().map(String::as_str));
        let (code, said) = run(&tools.join("python"), &arguments, folder.path());
        assert_eq!(code, 0, "{said}");
        serde_json::from_str(said.lines().last().unwrap()).unwrap()
    };
    for (found, name) in issues("required").into_iter().zip(&crates) {
        assert_eq!(found, [], "{name}");
    }
    for (found, name) in issues("recommended").into_iter().zip(&crates) {
        let others: Vec<_> = found
            .iter()
            .filter(|(_, message)| !NOT_KNOWN.contains(&message.as_str()))
            .collect();
        assert!(others.is_empty(), "{name}: {others:?}");
    }
}

#[test]
fn runcrate_reads_our_crates() {
    let Some(tools) = tools() else { return };
    let (folder, bench) = bench();
    export(&bench, &bundle("ok-recorded"), "crate");
    let (code, said) = run(&tools.join("runcrate"), &["report", "crate"], folder.path());
    assert_eq!(code, 0, "{said}");
    for line in [
        "action: #run",
        "instrument: #engine (SoftwareApplication)",
        "ended: 2023-11-14T22:13:20+00:00",
        "bundle/engine/values.txt",
        "bundle/exact/artifacts/result.json.bytes",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn slsa_provenance_is_the_statement_that_sign_would_sign() {
    let (_folder, bench) = bench();
    sealed(&bench);
    let statement = ok(bench.run(&["export", "slsa", "out/r1"]));
    let statement: Value = serde_json::from_str(&statement).unwrap();
    assert_eq!(statement["predicateType"], "https://slsa.dev/provenance/v1");
    ok(bench.run(&["export", "slsa", "out/r1", "-o", "provenance.json"]));
    let stored: Value = serde_json::from_str(&bench.read("provenance.json")).unwrap();
    assert_eq!(stored, statement);
    let printed = ok(bench.run(&["export", "slsa", "out/r1", "-o", "-"]));
    assert_eq!(printed, bench.read("provenance.json"));
    assert!(!bench.path("-").exists());
    keygen(&bench, "k.pem", "ed25519", "pem");
    ok(bench.run(&["sign", "out/r1", "--key", "k.pem", "--predicate", "slsa"]));
    let envelope: Value = serde_json::from_str(&bench.read("out/r1.intoto.jsonl")).unwrap();
    let payload = runseal_trust::encoding::decode_base64(envelope["payload"].as_str().unwrap());
    let signed: Value = serde_json::from_slice(&payload.unwrap()).unwrap();
    assert_eq!(signed, statement);
}
