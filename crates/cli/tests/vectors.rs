//! The vectors of every format: valid and invalid inputs with the exact findings.
//!
//! `RUNSEAL_BLESS=1 cargo test -p runseal-cli --test main vectors::` writes the expectations anew. What it
//! writes has to be reviewed; a case that does not show the rule it is named after fails even so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::{folders_in, project_root};
use serde_json::{Value, json};

/// How the inputs of a format are verified.
struct Subject {
    /// The folder below vectors/.
    name: &'static str,
    /// At the document level.
    document: &'static [&'static str],
    /// With every rule, where there are more.
    strict: Option<&'static [&'static str]>,
}

/// The receipt that trust policies are tried on.
const RECEIPT: &str = "../../receipt/ok-signed/input.json";

const SUBJECTS: [Subject; 17] = [
    single(
        "context-bundle",
        &["bundle", "verify"],
        &["bundle", "verify", "--strict"],
    ),
    single(
        "proposal",
        &["proposal", "verify"],
        &["proposal", "verify", "--strict"],
    ),
    single("pack", &["pack", "verify"], &["pack", "verify", "--strict"]),
    single(
        "job-bundle",
        &["job", "verify"],
        &["job", "verify", "--strict"],
    ),
    single(
        "patch",
        &["patch", "verify"],
        &["patch", "verify", "--strict"],
    ),
    single(
        "model-io",
        &["model-io", "verify"],
        &["model-io", "verify", "--strict"],
    ),
    single(
        "runner",
        &["runner", "verify"],
        &["runner", "verify", "--strict"],
    ),
    single(
        "evidence",
        &["evidence", "verify"],
        &["evidence", "verify", "--strict"],
    ),
    single(
        "ledger",
        &["ledger", "verify"],
        &["ledger", "verify", "--strict"],
    ),
    Subject {
        name: "receipt",
        document: &["receipt", "verify"],
        strict: Some(&["receipt", "verify", "--strict"]),
    },
    Subject {
        name: "trust-policy",
        document: &["receipt", "verify", RECEIPT, "--trust"],
        strict: None,
    },
    Subject {
        name: "engine",
        document: &["engine", "check"],
        strict: None,
    },
    single("run-bundle", LENIENT, STRICT),
    single("redacted-bundle", LENIENT, STRICT),
    single("bag", LENIENT, STRICT),
    single("checksums", LENIENT, STRICT),
    single("archive", LENIENT, STRICT),
];

const LENIENT: &[&str] = &["verify", "--format", "json", "--lenient"];
const STRICT: &[&str] = &["verify", "--format", "json", "--strict"];

const fn single(
    name: &'static str,
    document: &'static [&'static str],
    strict: &'static [&'static str],
) -> Subject {
    Subject {
        name,
        document,
        strict: Some(strict),
    }
}

/// The one file or folder of a case that is to be verified.
fn input(case: &Path) -> PathBuf {
    let entries = fs::read_dir(case)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_input = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        // Large bodies of a recording lie beside it.
        name == "input" || name.starts_with("input.") && name != "input.bodies"
    };
    let inputs: Vec<_> = entries.filter(is_input).collect();
    assert_eq!(inputs.len(), 1, "{}: one input", case.display());
    inputs.into_iter().next().unwrap()
}

/// Exit code and the set of (rule_id, path), sorted.
fn judge(case: &Path, command: &[&str]) -> Value {
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), case);
    let command = &known_options(&bench, command);
    let name = input(case)
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let more: Vec<String> = match fs::read_to_string(case.join("arguments.json")) {
        Ok(text) => serde_json::from_str(&text).unwrap(),
        Err(_) => Vec::new(),
    };
    let arguments: Vec<&str> = command
        .iter()
        .copied()
        .chain([name.as_str()])
        .chain(more.iter().map(String::as_str))
        .collect();
    let ran = bench.run(&arguments);
    json!({ "exit": ran.code.unwrap(), "violations": violations(&ran) })
}

/// The command without `--lenient` where `verify` does not have that option: it then checks the
/// document level anyway.
fn known_options<'a>(bench: &Bench, command: &[&'a str]) -> Vec<&'a str> {
    let mut command = command.to_vec();
    if command.contains(&"--lenient") {
        let help = bench.run(&["verify", "--help"]).stdout;
        command.retain(|word| *word != "--lenient" || help.contains(word));
    }
    command
}

/// The findings that were printed; none if nothing was.
fn violations(ran: &Ran) -> Value {
    let mut found = BTreeSet::new();
    if !ran.stdout.is_empty() {
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        let results = answer["results"].as_array().cloned();
        for result in results.unwrap_or_else(|| vec![answer]) {
            for violation in result["violations"].as_array().into_iter().flatten() {
                let text = |name: &str| violation[name].as_str().map(str::to_owned);
                found.insert((text("rule_id").unwrap(), text("path")));
            }
        }
    }
    json!(found)
}

/// Why a case is not what its name says.
fn misnamed(name: &str, expect: &Value) -> Option<String> {
    let valid = |level: &str| expect[level]["exit"] == 0;
    let (kind, _) = name.split_once('-')?;
    let fits = match kind {
        "ok" => valid("document") && (expect["strict"].is_null() || valid("strict")),
        "outside" => valid("document"),
        "json" | "bad" => !valid("document") && expect["document"]["violations"] == json!([]),
        rule => ["document", "strict"].iter().any(|level| {
            let violations = expect[level]["violations"].as_array();
            violations.into_iter().flatten().any(|pair| {
                pair[0]
                    .as_str()
                    .is_some_and(|id| id.eq_ignore_ascii_case(rule))
            })
        }),
    };
    (!fits).then(|| format!("{name} is not what its name says: {expect}"))
}

#[test]
fn vectors_of_every_format_have_exactly_the_expected_findings() {
    let bless = std::env::var_os("RUNSEAL_BLESS").is_some();
    let mut wrong = Vec::new();
    let mut count = 0;
    for subject in &SUBJECTS {
        let cases = folders_in(&project_root().join("vectors").join(subject.name));
        for case in &cases {
            let name = case.file_name().unwrap().to_string_lossy().into_owned();
            let mut found = json!({ "document": judge(case, subject.document) });
            if let Some(strict) = subject.strict {
                found["strict"] = judge(case, strict);
            }
            wrong.extend(misnamed(&name, &found).map(|why| format!("{}: {why}", subject.name)));
            let path = case.join("expect.json");
            if bless {
                fs::write(&path, render(&found)).unwrap();
            }
            let expected = fs::read_to_string(&path).unwrap_or_default();
            if expected != render(&found) {
                wrong.push(format!(
                    "{}/{name}: expected {expected}, found {}",
                    subject.name,
                    render(&found)
                ));
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{count} cases");
}

/// One finding a line, so that a change reads well in a diff.
fn render(expect: &Value) -> String {
    let mut text = String::from("{\n");
    let levels: Vec<_> = expect.as_object().unwrap().iter().collect();
    for (at, (level, verdict)) in levels.iter().enumerate() {
        let lines: Vec<String> = verdict["violations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| format!("\n    {pair}"))
            .collect();
        let list = match lines.is_empty() {
            true => "[]".to_owned(),
            false => format!("[{}\n  ]", lines.join(",")),
        };
        let comma = if at + 1 < levels.len() { "," } else { "" };
        text += &format!(
            "  \"{level}\": {{\"exit\": {}, \"violations\": {list}}}{comma}\n",
            verdict["exit"]
        );
    }
    text + "}\n"
}

#[test]
fn vectors_of_every_format_are_enough_and_small() {
    let folder = project_root().join("vectors");
    let mut bytes = 0;
    for subject in &SUBJECTS {
        let cases = folders_in(&folder.join(subject.name));
        let valid = cases.iter().filter(|case| {
            let name = case.file_name().unwrap().to_string_lossy();
            name.starts_with("ok-") || name.starts_with("outside-")
        });
        let valid = valid.count();
        assert!(valid >= 2, "{}: {valid} valid cases", subject.name);
        let invalid = cases.len() - valid;
        assert!(invalid >= 10, "{}: {invalid} invalid cases", subject.name);
        bytes += size(&folder.join(subject.name));
    }
    assert!(bytes < 3_500_000, "{bytes} bytes");
}

fn size(path: &Path) -> u64 {
    let meta = fs::symlink_metadata(path).unwrap();
    if !meta.is_dir() {
        return meta.len();
    }
    let entries = fs::read_dir(path).unwrap();
    entries.map(|entry| size(&entry.unwrap().path())).sum()
}
