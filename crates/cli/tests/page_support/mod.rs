//! Run bundles made by hand, and pages looked at in a real Chromium.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use runseal_core::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::layout::{CONTRACTS, Role, content_type_of};
use runseal_testkit::cli::Bench;
use runseal_testkit::skip::skip;
use serde_json::{Value, json};

/// The canonical text of a value.
fn canonical(value: &Value) -> Vec<u8> {
    let text = value.to_string();
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    canonical_bytes(document.root(), Dialect::Jcs).unwrap()
}

/// Seals a run bundle as an outside producer would: from the documents and files alone, by the
/// format's page. The schemas allow anything.
pub fn seal_by_hand(
    bench: &Bench,
    folder: &str,
    (manifest, input, mut output): (Value, Value, Value),
    artifacts: &[(&str, &[u8])],
) {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let coupling = json!({"delivery_model": "CORE_ONLY", "core_mediated_coupling": true,
        "direct_engine_to_engine_calls": false, "allowed_inputs_from_other_engines": []});
    for (name, value) in [
        ("COUPLING_RULES.json", &coupling),
        ("ENGINE_MANIFEST.json", &manifest),
        ("INPUT_SCHEMA.json", &json!({"type": "object"})),
        ("OUTPUT_SCHEMA.json", &json!({"type": "object"})),
        ("RUN_INPUT.json", &input),
    ] {
        files.insert(name.to_owned(), canonical(value));
    }
    files.insert("SEALING_SPEC.md".to_owned(), b"# Sealing\n".to_vec());
    output["engine"] = json!({"engine_code": manifest["engine_code"], "engine_version": "1.0.0"});
    output["semantics"] = json!("RAW_TRUTH");
    output["inputs_hash"] = json!(Digest::of(&files["RUN_INPUT.json"]).to_string());
    output["outputs_hash"] = json!(Digest::of(&canonical(&output)).to_string());
    files.insert("RUN_OUTPUT.json".to_owned(), canonical(&output));
    let contracts: BTreeMap<_, _> = CONTRACTS
        .iter()
        .map(|name| ((*name).to_owned(), Digest::of(&files[*name]).to_string()))
        .collect();
    let meta = json!({"run_id": "hand", "engine_code": manifest["engine_code"],
        "engine_version": "1.0.0", "sealed_at": "2026-11-16T12:00:00Z",
        "canonicalization": "JCS_RFC8785", "hash_algo": "sha256",
        "core_orchestrator_version": "by hand", "contracts_hashes": contracts});
    files.insert("RUN_META.json".to_owned(), canonical(&meta));
    for (name, bytes) in artifacts {
        files.insert(format!("artifacts/{name}"), bytes.to_vec());
    }
    let entries: Vec<_> = files
        .iter()
        .map(|(path, bytes)| {
            json!({"artifact_name": path.rsplit('/').next(), "relative_path": path,
                "sha256": Digest::of(bytes).to_string(), "content_type": content_type_of(path),
                "role": Role::of_path(path).map_or("ARTIFACT", Role::name)})
        })
        .collect();
    let index = canonical(&json!({ "artifacts": entries }));
    files.insert("ARTIFACT_INDEX.json".to_owned(), index);
    let line = |(path, bytes): (&String, &Vec<u8>)| format!("{}  {path}\n", Digest::of(bytes));
    let sums: String = files.iter().map(line).collect();
    files.insert("SHA256SUMS.txt".to_owned(), sums.into_bytes());
    for (path, bytes) in files {
        bench.write(&format!("{folder}/{path}"), bytes);
    }
}

/// Where the tools that look at pages are; `None`, with a word about it, where they are not.
fn find_tools() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/page-tools");
    let has_all = ["playwright-core", "axe-core"]
        .iter()
        .all(|name| root.join("node_modules").join(name).is_dir());
    if has_all && PathBuf::from("/usr/bin/chromium").exists() {
        return Some(root);
    }
    skip("no Chromium, playwright-core or axe-core; .ci/page-tools installs them");
    None
}

/// Looks at pages; gives what was seen of each, in order. `None` where there is no browser.
pub fn look_at(bench: &Bench, jobs: &Value) -> Option<Vec<Value>> {
    let tools = find_tools()?;
    let list = bench.write("jobs.json", jobs.to_string());
    let driver = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/outside/look_at_pages.js");
    let output = Command::new("node")
        .arg(driver)
        .arg(tools)
        .arg(list)
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let stdout = String::from_utf8_lossy(&output.stdout);
    Some(
        stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

/// Asserts what holds for every page: nothing said, nothing fetched, nothing over the answers, no
/// handler in the markup, nothing wider than the screen, no serious fault of accessibility.
pub fn assert_quiet(seen: &Value) {
    let page = &seen["page"];
    assert_eq!(seen["console"], json!([]), "{page}");
    assert_eq!(seen["requests"], json!([]), "{page}");
    assert_eq!(seen["covered"], json!(0), "{page}");
    assert_eq!(seen["handlers"], json!(0), "{page}");
    assert_eq!(seen["broken_images"], json!(0), "{page}");
    assert_eq!(seen["overflow"], json!(0), "{page}");
    assert_eq!(seen["hacked"], json!(""), "{page}");
    if !seen["axe"].is_null() {
        assert_eq!(seen["axe"], json!([]), "{page}");
    }
}
