//! The schemas, compiled, and which document has which.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_schema::{Limits, Schema};
use runseal_testkit::project_root;
use serde_json::Value;

/// Every schema of the project by name.
pub struct Schemas(BTreeMap<String, Schema>);

/// Compiles a schema, which has to be a valid one.
pub fn compile(name: &str, text: &str) -> Schema {
    let document = parse_document(text.as_bytes(), &ReadOptions::TEXT).unwrap();
    Schema::compile(document.root(), &Limits::default())
        .unwrap_or_else(|bad| panic!("{name}: {bad}"))
}

/// What a schema says against a document; empty where it passes.
pub fn faults(schema: &Schema, document: &Value) -> Vec<String> {
    let text = document.to_string();
    let document = parse_document(text.as_bytes(), &ReadOptions::TEXT).unwrap();
    let outcome = schema.check(document.root());
    assert_eq!(outcome.exhausted, None);
    let violations = outcome.violations.into_iter();
    violations
        .map(|found| format!("{}: {}", found.pointer, found.message))
        .collect()
}

impl Schemas {
    pub fn load() -> Self {
        let compiled = texts().into_iter().map(|(name, text)| {
            let schema = compile(&name, &text);
            (name, schema)
        });
        Self(compiled.collect())
    }

    /// What the schema `name` says against a document; empty where it passes.
    pub fn faults(&self, name: &str, document: &Value) -> Vec<String> {
        let found = faults(&self.0[name], document).into_iter();
        found.map(|fault| format!("{name} {fault}")).collect()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Name and text of every file in schemas/.
pub fn texts() -> BTreeMap<String, String> {
    let entries = fs::read_dir(project_root().join("schemas")).unwrap();
    let read = |path: &Path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    entries.map(|entry| read(&entry.unwrap().path())).collect()
}

/// The schema of a file in a pack, run bundle or engine.
fn schema_of_file(name: &str) -> Option<&'static str> {
    Some(match name {
        "run.json" => "run",
        "policy.json" => "policy",
        "patch.json" => "patch",
        "evidence.json" => "evidence",
        "runner.json" => "runner",
        "model_io.json" => "model-io",
        "ledger.jsonl" => "ledger-entry",
        "ENGINE_MANIFEST.json" => "engine-manifest",
        "COUPLING_RULES.json" => "coupling-rules",
        "RUN_META.json" => "run-meta",
        "RUN_ENVIRONMENT.json" => "run-environment",
        "RUN_INPUT.json" => "run-input",
        "RUN_OUTPUT.json" => "run-output",
        "RUN_CONTEXT_STRIPPED.json" => "run-context-stripped",
        "ARTIFACT_INDEX.json" => "artifact-index",
        "INPUT_ARTIFACT_INDEX.json" => "input-artifact-index",
        "REDACTION_SALT.json" => "redaction-salt",
        "merkle.json" => "merkle-attestation",
        "trust.json" => "trust-policy",
        _ => return None,
    })
}

/// A document of a case, and its schema.
pub struct Found {
    pub schema: &'static str,
    pub place: String,
    /// None if the text is not JSON, or beyond the range of a double.
    pub value: Option<Value>,
}

/// Every document that a case of `format` holds.
pub fn documents(format: &str, path: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    collect(format, path, &mut found);
    found
}

fn collect(format: &str, path: &Path, found: &mut Vec<Found>) {
    let meta = fs::symlink_metadata(path).unwrap();
    if meta.is_dir() {
        let mut entries: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        for entry in entries {
            collect(format, &entry, found);
        }
        return;
    }
    let name = path.file_name().unwrap().to_string_lossy();
    let whole = match format {
        "ledger" => "ledger-entry",
        single @ ("context-bundle" | "proposal" | "patch" | "evidence" | "runner" | "model-io"
        | "receipt" | "trust-policy") => schema_names(single),
        _ => "",
    };
    let schema = match (name.as_ref(), format) {
        (name, _) if name.starts_with("input.") && !whole.is_empty() => Some(whole),
        ("bundle.json", "pack") => Some("context-bundle"),
        ("bundle.json", "job-bundle") => Some("job-bundle"),
        // Documents of a copy have markers in place of values.
        (name, "redacted-bundle") => match name {
            "REDACTION.json" => Some("redaction"),
            "REDACTED.json" => Some("redacted"),
            _ => None,
        },
        (name, _) => schema_of_file(name),
    };
    let (Some(schema), true) = (schema, meta.is_file()) else {
        return;
    };
    let bytes = fs::read(path).unwrap();
    let mut add = |value: Option<Value>| {
        let place = path.display().to_string();
        found.push(Found {
            schema,
            place,
            value,
        });
    };
    if schema == "ledger-entry" {
        for line in bytes.split(|byte| *byte == b'\n') {
            if !line.trim_ascii().is_empty() {
                add(serde_json::from_slice(line).ok());
            }
        }
        return;
    }
    match serde_json::from_slice(&bytes).ok() {
        Some(Value::Array(items)) if schema == "receipt" => {
            items.into_iter().for_each(|item| add(Some(item)));
        }
        value => add(value),
    }
}

fn schema_names(format: &str) -> &'static str {
    match format {
        "context-bundle" => "context-bundle",
        "proposal" => "proposal",
        "patch" => "patch",
        "evidence" => "evidence",
        "runner" => "runner",
        "model-io" => "model-io",
        "receipt" => "receipt",
        _ => "trust-policy",
    }
}

/// A recording is what both of its schemas say.
pub fn check_recording(made: &Value) {
    let schemas = Schemas::load();
    for name in ["model-io", "recording"] {
        assert_eq!(schemas.faults(name, made), Vec::<String>::new(), "{name}");
    }
}
