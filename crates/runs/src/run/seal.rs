//! Runs an engine on an input and seals the run as a bundle.
//!
//! The order is that of the rulings: strip, upstream, input schema, run, hashes; everything else is
//! checked by verifying the bundle strictly before it is published. What would not verify is never
//! sealed, so there is only one set of rules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::isolation;
use runseal_core::canon::{Node, ReadOptions, Value, parse_document};
use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::forbidden::ForbiddenKeys;
use runseal_core::formats::run_bundle::index::{InputArtifact, write_input_artifacts};
use runseal_core::formats::run_bundle::layout::{
    ARTIFACTS_FOLDER, CANONICALIZATION, CONTEXT_STRIPPED, COUPLING_RULES, HASH_ALGORITHM,
    INPUT_ARTIFACT_INDEX, INPUT_SCHEMA, RUN_INPUT, RUN_META, RUN_OUTPUT, RUN_PARAMETERS, RunId,
    UPSTREAM_FOLDER,
};
use runseal_core::formats::run_bundle::time::Moment;
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::{Finding, Level};
use runseal_sandbox::{CancelToken, Limits, Sandbox, SandboxError};

use super::command::{compute_executable, find_bare_program};
use super::complete::{complete_input, complete_output, refuse_changed_integers, reject};
use super::contracts::Engine;
use super::engine_files::seal_what_was_read;
use super::execute::{EngineInputs, ExecuteError, execute};
use super::staging::{RunFiles, RunFilesError};
use super::upstream::take_upstream;
use super::verify::{VerifyOptions, verify_run_source};
use crate::record::accesses::is_shown;
use crate::record::ahead::Reader;
use crate::record::environment::PackageReader;
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_redact::{KeptSeed, SealingSeed};

/// The rule id for a rejection that no rule covers: the engine itself failed.
pub const RUN: &str = "RUN";

/// The orchestrator named in RUN_META.json.
const ORCHESTRATOR: &str = concat!("runseal ", env!("CARGO_PKG_VERSION"));

/// What to seal, and where.
#[derive(Debug)]
pub struct Request<'a> {
    /// The engine to run, already checked.
    pub engine: &'a Engine,
    /// The input as given.
    pub input: Value,
    /// Parameters that were given separately.
    pub parameters: Option<Value>,
    /// Run bundles of other engines.
    pub upstream: &'a [PathBuf],
    /// The folder of run bundles.
    pub out: &'a Path,
    /// The run's id, if given.
    pub run_id: Option<RunId>,
    /// The time for `sealed_at` and for a default run id.
    pub now: Moment,
    /// The seed, if parts of the bundle may be withheld later.
    pub redactable: Option<SealingSeed>,
    /// Stops early, with nothing sealed.
    pub cancel: Option<CancelToken>,
}

/// A bundle that was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The id that was given or derived; also the name of the bundle's folder.
    pub run_id: RunId,
    /// Where the bundle is.
    pub path: PathBuf,
    /// `outputs_hash` of RUN_META.json: what a replay has to reproduce.
    pub outputs_hash: String,
    /// The path of its new seed, if one was made.
    pub seed: Option<PathBuf>,
}

/// Why nothing was sealed. Nothing is left behind either.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The input, the engine's behaviour or its output is not acceptable; says why.
    #[error("the run was rejected")]
    Rejected(Vec<Finding>),
    /// The engine could not be run.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// Something could not be read or written, or the target exists.
    #[error(transparent)]
    Files(#[from] RunFilesError),
    /// Something could not be read.
    #[error(transparent)]
    Read(#[from] SourceError),
}

impl Diagnose for SealError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Read(error) => error.diagnosis(),
            Self::Files(error) => error.diagnosis(),
            Self::Sandbox(error) => isolation::diagnose(error),
            Self::Rejected(_) => {
                Diagnosis::invalid(self, "REJECTED").message("nothing was sealed".to_owned())
            }
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            Self::Rejected(findings) => findings,
            _ => &[],
        }
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
    let upstream = prepared.files.path().join(UPSTREAM_FOLDER);
    let parameters = prepared.files.path().join(RUN_PARAMETERS);
    for given in [&upstream, &parameters] {
        if given.exists() {
            prepared.files.open_up(given)?;
        }
    }
    let packages = PackageReader::start();
    let reader = Reader::start(std::sync::Arc::default());
    let isolation = sandbox.isolation();
    let wants = move |path: &Path| is_shown(path, isolation, &[]);
    let given = EngineInputs {
        input: &prepared.input_bytes,
        upstream: Some(upstream.as_path()).filter(|path| path.exists()),
        parameters: Some(parameters.as_path()).filter(|path| path.exists()),
        cancel: prepared.cancel.as_ref(),
        on_file: reader.listener(packages.beginner(), wants),
    };
    let executable_at = |program: Option<&Path>| {
        compute_executable(engine.source(), engine.command(), &program.into())
    };
    let program = find_bare_program(engine.source(), engine.command());
    let before = executable_at(program.as_deref())?;
    let ran = execute(sandbox, engine, given, policy).map_err(rejected_run)?;
    let ahead = reader.finish();
    // What was hashed must be what ran, or nothing is sealed: a program that the user may not
    // execute is skipped in favour of the next one on PATH, which was not hashed.
    let executed = ran.program.as_deref().filter(|_| program.is_some());
    let executable = executable_at(executed.or(program.as_deref()))?;
    if executable != before && executed == program.as_deref() {
        let message = "the files of its command changed while it ran".to_owned();
        return Err(rejected_run(ExecuteError::Ended(message)));
    }
    let mut prepared = prepared;
    seal_what_was_read(
        &mut prepared.files,
        engine,
        &ran,
        sandbox.isolation(),
        (packages, &ahead),
    )?;
    if ran.artifacts.is_empty() {
        return finish(prepared, &ran.stdout, None, Some(executable));
    }
    let source = ran.source()?;
    finish(
        prepared,
        &ran.stdout,
        Some((&source, ran.artifacts.clone())),
        Some(executable),
    )
}

/// Seals an output that was produced elsewhere, with the artifacts in a folder if one is given.
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
            (EntryName::Unsafe(_), _) => {
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
    finish(prepared, output, Some((&source, paths)), None)
}

fn rejected_run(error: ExecuteError) -> SealError {
    match error {
        ExecuteError::Ended(how) => SealError::Rejected(vec![Finding::about_whole(RUN, how)]),
        ExecuteError::Left { path, reason } => reject("RB2", &path, reason),
        ExecuteError::Sandbox(error) => error.into(),
        ExecuteError::Work(source) => SealError::Read(SourceError::Io {
            path: "the work folder".to_owned(),
            source,
        }),
        ExecuteError::Read(error) => error.into(),
    }
}

/// Seals a run that was described by its own program: nothing was executed or observed here.
pub(super) fn seal_declared_output(
    request: Request<'_>,
    put_files: impl FnOnce(&mut RunFiles) -> Result<(), SealError>,
    output: &[u8],
    (artifacts, paths): (&dyn Source, Vec<SafePath>),
) -> Result<Sealed, SealError> {
    let mut prepared = prepare(request)?;
    put_files(&mut prepared.files)?;
    finish(prepared, output, Some((artifacts, paths)), None)
}

/// Everything that is known before there is an output.
struct Prepared<'a> {
    engine: &'a Engine,
    files: RunFiles,
    run_id: RunId,
    now: Moment,
    input_bytes: Vec<u8>,
    inputs_hash: Digest,
    upstream: Vec<InputArtifact>,
    has_upstream: bool,
    redactable: Option<SealingSeed>,
    cancel: Option<CancelToken>,
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
        RunFiles::check_free(out, run_id)?;
    }
    let schema_document = engine.document(INPUT_SCHEMA);
    let keys = match &schema_document {
        Some(schema) => ForbiddenKeys::of_schema(schema.root()),
        None => ForbiddenKeys::always(),
    };
    let stripped = keys.strip(&mut input);
    let mut files = RunFiles::begin(out)?;
    for (name, bytes) in engine.contracts() {
        files.put_bytes(name, bytes)?;
    }
    let has_upstream = !request.upstream.is_empty();
    let mut upstream = Vec::new();
    if let Some(coupling) = engine.document(COUPLING_RULES) {
        upstream = take_upstream(request.upstream, coupling.root(), &mut files)?;
    }
    let input_bytes = complete_input(
        &input,
        &upstream,
        has_upstream,
        schema_document.map(|d| d.root().to_value()).as_ref(),
    )?;
    let inputs_hash = Digest::of(&input_bytes);
    let default_id = || {
        // The id is never withheld, so it must not contain digits of something that may be.
        let digits = match &request.redactable {
            Some(redactable) => redactable.seed.blind(&inputs_hash).hex_prefix(8),
            None => inputs_hash.hex_prefix(8),
        };
        let id = format!("run_{}_{digits}", now.to_compact());
        RunId::parse(&id).map_err(|error| reject("RB10", RUN_META, error.to_string()))
    };
    let run_id = request.run_id.map_or_else(default_id, Ok)?;
    RunFiles::check_free(out, &run_id)?;
    files.put_bytes(RUN_INPUT, &input_bytes)?;
    let stripped = Value::array(stripped.iter().map(String::as_str));
    files.put_json(CONTEXT_STRIPPED, &Value::object([("stripped", stripped)]))?;
    if let Some(parameters) = &request.parameters {
        refuse_changed_integers(parameters, "RB5", RUN_PARAMETERS)?;
        files
            .put_json(RUN_PARAMETERS, parameters)
            .map_err(|error| unsealable(error, "RB5", RUN_PARAMETERS))?;
    }
    if has_upstream {
        let list = Value::object([("artifacts", write_input_artifacts(&upstream))]);
        files.put_json(INPUT_ARTIFACT_INDEX, &list)?;
    }
    Ok(Prepared {
        engine,
        files,
        run_id,
        now,
        input_bytes,
        inputs_hash,
        upstream,
        has_upstream,
        redactable: request.redactable,
        cancel: request.cancel,
    })
}

/// Adds the output, the artifacts, RUN_META.json and the lists, verifies the bundle, and seals it.
fn finish(
    prepared: Prepared<'_>,
    output: &[u8],
    artifacts: Option<(&dyn Source, Vec<SafePath>)>,
    executable: Option<Digest>,
) -> Result<Sealed, SealError> {
    let Prepared {
        engine,
        mut files,
        run_id,
        now,
        inputs_hash,
        redactable,
        cancel,
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
    files
        .put_json(RUN_OUTPUT, &completed)
        .map_err(|error| unsealable(error, "RB4", RUN_OUTPUT))?;
    if let Some((source, paths)) = artifacts {
        files.store_all(&paths, |storing, path| {
            let to = format!("{ARTIFACTS_FOLDER}/{path}");
            match storing.copy(source, path, &to) {
                Err(RunFilesError::Json { path, fault }) => Err(reject("RB5", &path, fault)),
                other => other.map(drop).map_err(SealError::from),
            }
        })?;
    }
    let meta = make_meta(
        (engine.code(), engine.version()),
        &engine.contract_hashes(),
        (&run_id, &now),
        executable,
    );
    files.put_json(RUN_META, &meta)?;
    if let Some(redactable) = &redactable {
        match files.put_commitment(&redactable.seed) {
            Err(RunFilesError::Json { path, fault }) => return Err(reject("RB5", &path, fault)),
            other => other?,
        }
    }
    files.put_lists()?;
    if cancel.is_some_and(|cancel| cancel.is_cancelled()) {
        return Err(SandboxError::Cancelled.into());
    }
    let outputs_hash = completed.get("outputs_hash").and_then(Value::as_str);
    let outputs_hash = outputs_hash.unwrap_or_default().to_owned();
    // A bundle whose seed is lost can never be redacted, so the seed is on disk first.
    let kept = redactable.map(|redactable| redactable.keep_beside(&files.target(&run_id)));
    let kept = kept.transpose().map_err(RunFilesError::from)?;
    let path = files.seal(&run_id, verify_staged)?;
    Ok(Sealed {
        run_id,
        path,
        outputs_hash,
        seed: kept.and_then(KeptSeed::stays),
    })
}

/// Verifies the bundle at the strictest level before it is sealed.
pub(crate) fn verify_staged(folder: &Path) -> Result<(), SealError> {
    let source = DirectorySource::open(folder, RootLink::Refuse)?;
    let options = VerifyOptions {
        level: Level::Form,
        ..VerifyOptions::default()
    };
    let (report, _) = verify_run_source(&source, options)?;
    if report.is_valid() {
        Ok(())
    } else {
        Err(SealError::Rejected(report.findings().to_vec()))
    }
}

fn unsealable(error: RunFilesError, rule_id: &'static str, path: &str) -> SealError {
    match error {
        RunFilesError::NoForm(error) => reject(rule_id, path, error.to_string()),
        other => other.into(),
    }
}

/// RUN_META.json for a run of the engine with this code and version.
pub(crate) fn make_meta(
    (code, version): (&str, &str),
    contracts: &BTreeMap<&'static str, Digest>,
    (run_id, now): (&RunId, &Moment),
    executable: Option<Digest>,
) -> Value {
    let hashes = contracts
        .iter()
        .map(|(name, digest)| (*name, digest.to_string()));
    let mut meta = Value::object([
        ("run_id", run_id.as_str()),
        ("engine_code", code),
        ("engine_version", version),
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

/// Parses an input or parameters.
pub fn parse_value(bytes: &[u8]) -> Result<Value, runseal_core::canon::JsonError> {
    let document = parse_document(bytes, &ReadOptions::default())?;
    let root: Node<'_> = document.root();
    Ok(root.to_value())
}
