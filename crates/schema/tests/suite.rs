//! The official test suite of JSON Schema (`.ci/schema-suite` fetches it): every mandatory case of the
//! five drafts, and the optional ones except those listed here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use referencing::meta;
use runseal_core::canon::{Document, Node, ReadOptions, parse_document};
use runseal_schema::{BadSchema, Draft, Limits, Schema, Surroundings};
use runseal_testkit::skip::skip;

const DRAFTS: [(&str, Draft); 5] = [
    ("draft4", Draft::Draft4),
    ("draft6", Draft::Draft6),
    ("draft7", Draft::Draft7),
    ("draft2019-09", Draft::Draft2019_09),
    ("draft2020-12", Draft::Draft2020_12),
];

/// Optional cases with another result: the file, the beginning of the description, and the reason.
const DIFFERENT: [(&str, &str, &str); 4] = [
    (
        "optional/zeroTerminatedFloats.json",
        "some languages do not distinguish",
        "numbers are compared by value: JCS writes 1.0 as 1",
    ),
    (
        "optional/content.json",
        "validation of string-encoded content",
        "content keywords are annotations",
    ),
    (
        "optional/content.json",
        "validation of binary string-encoding",
        "content keywords are annotations",
    ),
    (
        "optional/content.json",
        "validation of binary-encoded media type documents",
        "content keywords are annotations",
    ),
];

fn suite() -> Option<PathBuf> {
    let named = std::env::var_os("JSON_SCHEMA_TEST_SUITE").map(PathBuf::from);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = named.unwrap_or_else(|| root.join("target/json-schema-suite"));
    if folder.join("tests").is_dir() {
        return Some(folder);
    }
    skip("no JSON-Schema-Test-Suite; .ci/schema-suite fetches it");
    None
}

/// The `.json` files below a folder, with their relative paths.
fn files(folder: &Path, below: &str, found: &mut Vec<(String, PathBuf)>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files(&entry.path(), &format!("{name}/"), found);
        } else if name.ends_with(".json") {
            found.push((name, entry.path()));
        }
    }
}

/// The texts of the documents that cases refer to, by address.
fn texts(suite: &Path, draft: &str) -> BTreeMap<String, String> {
    let mut found = Vec::new();
    files(&suite.join("remotes"), "", &mut found);
    let mut texts = BTreeMap::new();
    for (name, path) in found {
        let text = fs::read_to_string(path).unwrap();
        let folder = name.split_once('/').map_or("", |(folder, _)| folder);
        // Those of another draft that we know must declare it; those of unknown drafts are left out.
        let is_ours = DRAFTS.iter().any(|(known, _)| *known == folder);
        let is_used = if folder.starts_with("draft") || folder == "v1" {
            folder == draft || is_ours && text.contains("\"$schema\"")
        } else {
            true
        };
        if is_used {
            texts.insert(format!("http://localhost:1234/{name}"), text);
        }
    }
    for value in [
        &*meta::DRAFT4,
        &*meta::DRAFT6,
        &*meta::DRAFT7,
        &*meta::DRAFT201909,
        &*meta::DRAFT201909_APPLICATOR,
        &*meta::DRAFT201909_CONTENT,
        &*meta::DRAFT201909_CORE,
        &*meta::DRAFT201909_FORMAT,
        &*meta::DRAFT201909_META_DATA,
        &*meta::DRAFT201909_VALIDATION,
        &*meta::DRAFT202012,
        &*meta::DRAFT202012_APPLICATOR,
        &*meta::DRAFT202012_CONTENT,
        &*meta::DRAFT202012_CORE,
        &*meta::DRAFT202012_FORMAT_ANNOTATION,
        &*meta::DRAFT202012_FORMAT_ASSERTION,
        &*meta::DRAFT202012_META_DATA,
        &*meta::DRAFT202012_UNEVALUATED,
        &*meta::DRAFT202012_VALIDATION,
    ] {
        let id = ["$id", "id"].map(|name| value.get(name));
        let id = id.into_iter().flatten().next().unwrap().as_str().unwrap();
        texts.insert(id.trim_end_matches('#').to_owned(), value.to_string());
    }
    texts
}

fn parse(text: &str) -> Document<'_> {
    parse_document(text.as_bytes(), &ReadOptions::TEXT).unwrap()
}

fn text(node: Node<'_>, name: &str) -> String {
    node.get(name).unwrap().as_str().unwrap().into_owned()
}

/// Runs the cases of a file, describes those with a wrong result, and returns their total number.
fn run(file: &Path, around: &Surroundings<'_>, wrong: &mut Vec<(String, String)>) -> usize {
    let content = fs::read_to_string(file).unwrap();
    let cases = parse(&content);
    let mut count = 0;
    for group in cases.root().items() {
        let schema = group.get("schema").unwrap();
        let schema = Schema::compile_among(schema, around, &Limits::default());
        for case in group.get("tests").unwrap().items() {
            count += 1;
            let named = format!(
                "{}: {}",
                text(group, "description"),
                text(case, "description")
            );
            let valid = case.get("valid").unwrap().as_bool().unwrap();
            match &schema {
                Err(bad) => wrong.push((named, bad.to_string())),
                Ok(schema) => {
                    let outcome = schema.check(case.get("data").unwrap());
                    if outcome.is_valid() != valid || outcome.exhausted.is_some() {
                        wrong.push((named, format!("{:?}", outcome.violations)));
                    }
                }
            }
        }
    }
    count
}

#[test]
fn suite_every_case_has_the_expected_result() {
    let Some(suite) = suite() else { return };
    let mut wrong = Vec::new();
    let (mut mandatory, mut optional, mut different) = (0, 0, 0);
    for (name, draft) in DRAFTS {
        let texts = texts(&suite, name);
        let documents: Vec<(&str, Document<'_>)> = texts
            .iter()
            .map(|(address, text)| (address.as_str(), parse(text)))
            .collect();
        let alone = Surroundings {
            draft,
            ..Surroundings::default()
        };
        // Some documents that declare no draft are for another one.
        let is_schema = |document: &Document<'_>| {
            let compiled = Schema::compile_among(document.root(), &alone, &Limits::default());
            !matches!(compiled, Err(BadSchema::Invalid(_)))
        };
        let around = Surroundings {
            draft,
            documents: documents
                .iter()
                .filter(|(_, document)| is_schema(document))
                .map(|(address, document)| (*address, document.root()))
                .collect(),
        };
        let mut found = Vec::new();
        files(&suite.join("tests").join(name), "", &mut found);
        for (file, path) in found {
            // `format` is an annotation.
            if file.starts_with("optional/format") {
                continue;
            }
            let mut faults = Vec::new();
            let count = run(&path, &around, &mut faults);
            if file.starts_with("optional/") {
                optional += count;
            } else {
                mandatory += count;
            }
            for (case, fault) in faults {
                let is_listed = DIFFERENT
                    .iter()
                    .any(|(of, begins, _)| *of == file && case.starts_with(begins));
                different += usize::from(is_listed);
                if !is_listed {
                    wrong.push(format!("{name}/{file}: {case}: {fault}"));
                }
            }
        }
    }
    println!(
        "{mandatory} mandatory cases, {optional} optional ones, {different} of them different"
    );
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(mandatory > 4_800, "only {mandatory} cases");
}
