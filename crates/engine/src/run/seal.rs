//! From an input and an engine to a sealed run bundle.
//!
//! The sequence is the rulings': strip, upstream, input schema, run, hashes, then everything else
//! by verifying the bundle, strictly, before it takes its place. What would not verify is never
//! sealed, so there is one set of rules for both.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::forbidden::ForbiddenKeys;
use runseal_core::formats::run_bundle::index::{InputArtifact, write_input_artifacts};
use runseal_core::formats::run_bundle::layout::{
    ARTIFACTS_FOLDER, CANONICALIZATION, CONTEXT_STRIPPED, COUPLING_RULES, HASH_ALGORITHM,
    INPUT_ARTIFACT_INDEX, INPUT_SCHEMA, MANIFEST, OUTPUT_SCHEMA, RUN_INPUT, RUN_META, RUN_OUTPUT,
    RUN_PARAMETERS, RunId, UPSTREAM_FOLDER,
};
use runseal_core::formats::run_bundle::outputs::{
    HashScope, compute_outputs_hash, find_changed_integers,
};
use runseal_core::formats::run_bundle::pointer::shown;
use runseal_core::formats::run_bundle::time::Moment;
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::{Finding, Strictness};
use runseal_sandbox::{Limits, Sandbox, SandboxError};

use super::command::compute_executable;
use super::contracts::Engine;
use super::execute::{ExecuteError, Given, execute};
use super::schema::{Schema, to_json};
use super::staging::{Staging, StagingError};
use super::upstream::take_upstream;
use super::verify::{VerifyOptions, verify_run_source};
use crate::directory::{DirectorySource, RootLink};

/// The rule id of a rejection that is no rule's: the engine itself failed.
pub const RUN: &str = "RUN";

/// What RUN_META.json says about who sealed.
const ORCHESTRATOR: &str = concat!("runseal ", env!("CARGO_PKG_VERSION"));

/// What to seal, and where.
#[derive(Debug)]
pub struct Request<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// The input, as it was given.
    pub input: Value,
    /// Parameters that were given apart.
    pub parameters: Option<Value>,
    /// Run bundles of other engines.
    pub upstream: &'a [PathBuf],
    /// The folder of run bundles.
    pub out: &'a Path,
    /// The run's id, where it was given.
    pub run_id: Option<RunId>,
    /// Now.
    pub now: Moment,
}

/// A bundle that was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The run's id.
    pub run_id: RunId,
    /// Where the bundle is.
    pub path: PathBuf,
    /// The output's hash.
    pub outputs_hash: String,
}

/// Why nothing was sealed. Nothing is left behind either.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The input, the engine's behaviour or its output is not acceptable: why.
    #[error("the run was rejected")]
    Rejected(Vec<Finding>),
    /// The engine could not be run.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// Something could not be read or written, or the target exists.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// Something could not be read.
    #[error(transparent)]
    Read(#[from] SourceError),
}

fn reject(rule_id: &'static str, path: &str, message: impl Into<String>) -> SealError {
    SealError::Rejected(vec![finding(rule_id, path, message)])
}

fn finding(rule_id: &'static str, path: &str, message: impl Into<String>) -> Finding {
    Finding {
        rule_id,
        path: Some(path.to_owned()),
        message: message.into(),
        difference: None,
    }
}

/// Runs the engine in the sandbox and seals the run.
pub fn seal_run(
    request: Request<'_>,
    sandbox: &Sandbox,
    policy: &Limits,
) -> Result<Sealed, SealError> {
    let engine = request.engine;
    let prepared = prepare(request)?;
    let upstream = prepared.staging.path().join(UPSTREAM_FOLDER);
    let parameters = prepared.staging.path().join(RUN_PARAMETERS);
    for given in [&upstream, &parameters] {
        if given.exists() {
            prepared.staging.open_up(given)?;
        }
    }
    let given = Given {
        input: &prepared.input_bytes,
        upstream: Some(upstream.as_path()).filter(|path| path.exists()),
        parameters: Some(parameters.as_path()).filter(|path| path.exists()),
    };
    let executable = compute_executable(engine.source(), engine.command())?;
    let ran = execute(sandbox, engine, given, policy).map_err(rejected_run)?;
    if ran.artifacts.is_empty() {
        return finish(prepared, &ran.stdout, None, Some(executable));
    }
    let source = ran.source()?;
    finish(
        prepared,
        &ran.stdout,
        Some((&source, &ran.artifacts)),
        Some(executable),
    )
}

/// Seals an output that was produced elsewhere, with the artifacts of a folder, where given.
pub fn seal_output(
    request: Request<'_>,
    output: &[u8],
    artifacts: Option<&Path>,
) -> Result<Sealed, SealError> {
    let prepared = prepare(request)?;
    let Some(folder) = artifacts else {
        return finish(prepared, output, None, None);
    };
    let source = DirectorySource::open(folder, RootLink::Follow)?;
    let mut paths = Vec::new();
    for entry in source.entries()? {
        use runseal_core::source::{EntryKind, EntryName};
        let shown = entry.name.shown().to_owned();
        match (entry.name, entry.kind) {
            (EntryName::Safe(_), EntryKind::Directory) => {}
            (EntryName::Safe(path), EntryKind::File) => paths.push(path),
            (EntryName::Unsafe { .. }, _) => {
                return Err(reject("RB2", &shown, "it has an unsafe name"));
            }
            (_, kind) => {
                return Err(reject(
                    "RB2",
                    &shown,
                    format!("it is {}", kind.with_article()),
                ));
            }
        }
    }
    finish(prepared, output, Some((&source, &paths)), None)
}

fn rejected_run(error: ExecuteError) -> SealError {
    match error {
        ExecuteError::Ended(how) => SealError::Rejected(vec![Finding {
            rule_id: RUN,
            path: None,
            message: how,
            difference: None,
        }]),
        ExecuteError::Left { path, why } => reject("RB2", &path, why),
        ExecuteError::Sandbox(error) => error.into(),
        ExecuteError::Work(source) => SealError::Read(SourceError::Io {
            path: "the work folder".to_owned(),
            source,
        }),
        ExecuteError::Read(error) => error.into(),
    }
}

/// Everything that is known before there is an output.
struct Prepared<'a> {
    engine: &'a Engine,
    staging: Staging,
    run_id: RunId,
    now: Moment,
    input_bytes: Vec<u8>,
    inputs_hash: Digest,
    upstream: Vec<InputArtifact>,
    has_upstream: bool,
}

fn prepare(request: Request<'_>) -> Result<Prepared<'_>, SealError> {
    let Request {
        engine,
        mut input,
        out,
        now,
        ..
    } = request;
    if let Some(run_id) = &request.run_id {
        Staging::check_free(out, run_id)?;
    }
    let schema_document = engine.document(INPUT_SCHEMA);
    let keys = match &schema_document {
        Some(schema) => ForbiddenKeys::of_schema(schema.root()),
        None => ForbiddenKeys::always(),
    };
    let stripped = keys.strip(&mut input);
    let mut staging = Staging::begin(out)?;
    for (name, bytes) in engine.contracts() {
        staging.put_bytes(name, bytes)?;
    }
    let has_upstream = !request.upstream.is_empty();
    let mut upstream = Vec::new();
    if let Some(coupling) = engine.document(COUPLING_RULES) {
        upstream = take_upstream(request.upstream, coupling.root(), &mut staging)?;
    }
    let input_bytes = complete_input(
        &input,
        &upstream,
        has_upstream,
        schema_document.map(|d| d.root().to_value()).as_ref(),
    )?;
    let inputs_hash = Digest::of(&input_bytes);
    let default_id = || {
        let id = format!("run_{}_{}", now.to_compact(), inputs_hash.hex_prefix(8));
        RunId::parse(&id).map_err(|error| reject("RB10", RUN_META, error.to_string()))
    };
    let run_id = request.run_id.map_or_else(default_id, Ok)?;
    Staging::check_free(out, &run_id)?;
    staging.put_bytes(RUN_INPUT, &input_bytes)?;
    let stripped = Value::array(stripped.iter().map(String::as_str));
    staging.put_json(CONTEXT_STRIPPED, &Value::object([("stripped", stripped)]))?;
    if let Some(parameters) = &request.parameters {
        refuse_changed_integers(parameters, "RB5", RUN_PARAMETERS)?;
        staging
            .put_json(RUN_PARAMETERS, parameters)
            .map_err(|error| unsealable(error, "RB5", RUN_PARAMETERS))?;
    }
    if has_upstream {
        let list = Value::object([("artifacts", write_input_artifacts(&upstream))]);
        staging.put_json(INPUT_ARTIFACT_INDEX, &list)?;
    }
    Ok(Prepared {
        engine,
        staging,
        run_id,
        now,
        input_bytes,
        inputs_hash,
        upstream,
        has_upstream,
    })
}

fn unsealable(error: StagingError, rule_id: &'static str, path: &str) -> SealError {
    match error {
        StagingError::NoForm(error) => reject(rule_id, path, error.to_string()),
        other => other.into(),
    }
}

fn refuse_changed_integers(
    value: &Value,
    rule_id: &'static str,
    path: &str,
) -> Result<(), SealError> {
    let changed = find_changed_integers(value);
    if changed.is_empty() {
        return Ok(());
    }
    let one = |pointer: &String| {
        finding(
            rule_id,
            path,
            format!("{}: JCS would change this integer", shown(pointer)),
        )
    };
    Err(SealError::Rejected(changed.iter().map(one).collect()))
}

/// RUN_INPUT.json as it is sealed: with the list of upstream artifacts where its schema allows
/// that, and valid.
fn complete_input(
    input: &Value,
    upstream: &[InputArtifact],
    has_upstream: bool,
    schema: Option<&Value>,
) -> Result<Vec<u8>, SealError> {
    refuse_changed_integers(input, "RB3", RUN_INPUT)?;
    let no_form = |error: runseal_core::canon::NoCanonicalForm| {
        reject(
            "RB3",
            RUN_INPUT,
            format!("the input has no canonical form: {error}"),
        )
    };
    let bytes = canonical_bytes(input, Dialect::Jcs).map_err(no_form)?;
    let schema = compile(schema, "RB3", INPUT_SCHEMA)?;
    let list = write_input_artifacts(upstream);
    match input.get("input_artifact_index") {
        Some(said) if *said != list => {
            let why = "/input_artifact_index is not the list of what upstream bundles give";
            return Err(reject("RB9", RUN_INPUT, why));
        }
        None if has_upstream && matches!(input, Value::Object(_)) => {
            let mut with = input.clone();
            with.insert("input_artifact_index", list);
            let with = canonical_bytes(&with, Dialect::Jcs).map_err(no_form)?;
            if violations(&schema, &with).is_empty() {
                return Ok(with);
            }
        }
        _ => {}
    }
    let found = violations(&schema, &bytes);
    if found.is_empty() {
        return Ok(bytes);
    }
    let one = |(pointer, message): &(String, String)| {
        finding("RB3", RUN_INPUT, format!("{}: {message}", shown(pointer)))
    };
    Err(SealError::Rejected(found.iter().map(one).collect()))
}

fn compile(schema: Option<&Value>, rule_id: &'static str, name: &str) -> Result<Schema, SealError> {
    let fault = |why: String| reject(rule_id, name, why);
    let schema = schema.ok_or_else(|| fault("the schema is missing".to_owned()))?;
    let bytes = canonical_bytes(schema, Dialect::Jcs).map_err(|error| fault(error.to_string()))?;
    let document = parse_document(&bytes, &ReadOptions::default())
        .map_err(|error| fault(error.to_string()))?;
    Schema::compile(document.root()).map_err(|bad| fault(bad.to_string()))
}

/// What is wrong with a stored document: pointers and messages.
fn violations(schema: &Schema, stored: &[u8]) -> Vec<(String, String)> {
    match parse_document(stored, &ReadOptions::default()) {
        Ok(document) => {
            let found = schema.check_json(&to_json(document.root()));
            found.into_iter().map(|v| (v.pointer, v.message)).collect()
        }
        Err(error) => vec![(String::new(), error.to_string())],
    }
}

/// Puts the output, the artifacts, RUN_META.json and the lists in, verifies, and seals.
fn finish(
    prepared: Prepared<'_>,
    output: &[u8],
    artifacts: Option<(&dyn Source, &[SafePath])>,
    executable: Option<Digest>,
) -> Result<Sealed, SealError> {
    let Prepared {
        engine,
        mut staging,
        run_id,
        now,
        inputs_hash,
        ..
    } = prepared;
    let completed = complete_output(
        engine,
        output,
        inputs_hash,
        prepared
            .has_upstream
            .then_some(prepared.upstream.as_slice()),
    )?;
    staging
        .put_json(RUN_OUTPUT, &completed)
        .map_err(|error| unsealable(error, "RB4", RUN_OUTPUT))?;
    if let Some((source, paths)) = artifacts {
        for path in paths {
            let to = format!("{ARTIFACTS_FOLDER}/{path}");
            match staging.copy(source, path, &to) {
                Err(StagingError::Json { path, why }) => return Err(reject("RB5", &path, why)),
                other => other.map(drop)?,
            }
        }
    }
    let meta = run_meta(engine, &run_id, now, executable);
    staging.put_json(RUN_META, &meta)?;
    staging.put_lists()?;
    let source = DirectorySource::open(staging.path(), RootLink::Refuse)?;
    let options = VerifyOptions {
        strictness: Strictness::Strict,
        ..VerifyOptions::default()
    };
    let (report, verified) = verify_run_source(&source, options)?;
    if verified.is_none() {
        return Err(SealError::Rejected(report.findings().to_vec()));
    }
    let outputs_hash = completed.get("outputs_hash").and_then(Value::as_str);
    let outputs_hash = outputs_hash.unwrap_or_default().to_owned();
    let path = staging.seal(&run_id)?;
    Ok(Sealed {
        run_id,
        path,
        outputs_hash,
    })
}

/// RUN_OUTPUT.json as it is sealed: one JSON document, its two hashes filled in where the engine
/// left them out, and the list of upstream artifacts where its schema allows that.
pub(super) fn complete_output(
    engine: &Engine,
    printed: &[u8],
    inputs_hash: Digest,
    upstream: Option<&[InputArtifact]>,
) -> Result<Value, SealError> {
    let document = parse_document(printed, &ReadOptions::default()).map_err(|error| {
        reject(
            "RB4",
            RUN_OUTPUT,
            format!("the output is not one JSON document: {error}"),
        )
    })?;
    let output = document.root().to_value();
    if !matches!(output, Value::Object(_)) {
        let found = document.root().kind().with_article();
        return Err(reject(
            "RB4",
            RUN_OUTPUT,
            format!("the output is {found}, not an object"),
        ));
    }
    refuse_changed_integers(&output, "RB4", RUN_OUTPUT)?;
    let scope = match engine.document(MANIFEST) {
        Some(manifest) => HashScope::of_manifest(manifest.root()),
        None => HashScope::Document,
    };
    let fill = |mut output: Value| {
        if output.get("inputs_hash").is_none() {
            output.insert("inputs_hash", inputs_hash.to_string());
        }
        if output.get("outputs_hash").is_none() {
            let hash = compute_outputs_hash(&output, scope).map_err(|error| {
                reject(
                    "RB4",
                    RUN_OUTPUT,
                    format!("the output has no canonical form: {error}"),
                )
            })?;
            if let Some(hash) = hash {
                output.insert("outputs_hash", hash.to_string());
            }
        }
        Ok::<Value, SealError>(output)
    };
    // An engine that hashed its whole output said all that is in it.
    let is_closed = output.get("outputs_hash").is_some() && scope == HashScope::Document;
    if let Some(upstream) = upstream
        && output.get("input_artifact_index").is_none()
        && !is_closed
    {
        let mut with = output.clone();
        with.insert("input_artifact_index", write_input_artifacts(upstream));
        let with = fill(with)?;
        let schema = engine.document(OUTPUT_SCHEMA);
        let schema = compile(
            schema.map(|d| d.root().to_value()).as_ref(),
            "RB4",
            OUTPUT_SCHEMA,
        )?;
        let stored = canonical_bytes(&with, Dialect::Jcs).unwrap_or_default();
        if violations(&schema, &stored).is_empty() {
            return Ok(with);
        }
    }
    fill(output)
}

fn run_meta(engine: &Engine, run_id: &RunId, now: Moment, executable: Option<Digest>) -> Value {
    let hashes = engine.contract_hashes();
    let hashes = hashes
        .iter()
        .map(|(name, digest)| (*name, digest.to_string()));
    let mut meta = Value::object([
        ("run_id", run_id.as_str()),
        ("engine_code", engine.code()),
        ("engine_version", engine.version()),
        ("sealed_at", now.to_iso().as_str()),
        ("canonicalization", CANONICALIZATION),
        ("hash_algo", HASH_ALGORITHM),
        ("core_orchestrator_version", ORCHESTRATOR),
    ]);
    meta.insert("contracts_hashes", Value::object(hashes));
    if let Some(executable) = executable {
        meta.insert("engine_executable_sha256", executable.to_string());
    }
    meta
}

/// Reads the text of an input or of parameters.
pub fn parse_value(bytes: &[u8]) -> Result<Value, runseal_core::canon::JsonError> {
    let document = parse_document(bytes, &ReadOptions::default())?;
    let root: Node<'_> = document.root();
    Ok(root.to_value())
}
