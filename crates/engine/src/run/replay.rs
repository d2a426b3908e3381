//! Replays a run bundle: the document's six replay rules first, each by its number, then the
//! engine again on the sealed input, and what it gives compared with what was sealed.

use std::collections::BTreeMap;

use runseal_core::canon::{Dialect, Node, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::CollectedRun;
use runseal_core::formats::run_bundle::index::{InputArtifact, parse_input_artifacts};
use runseal_core::formats::run_bundle::layout::{
    CONTRACTS, ENGINE_FOLDER, INPUT_ARTIFACT_INDEX, MANIFEST, RUN_ENVIRONMENT, RUN_INPUT, RUN_META,
    RUN_OUTPUT, RUN_PARAMETERS,
};
use runseal_core::formats::run_bundle::recorded::{CaptureGap, ENGINE_LIST, parse_listed_files};
use runseal_core::formats::run_bundle::{EntryFact, pointer};
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::{Finding, Report};
use runseal_sandbox::{Isolation, Limits, Sandbox};

use super::command::{compute_executable, permits_version};
use super::complete::{complete_output, reject};
use super::contracts::Engine;
use super::execute::{ExecuteError, Given, Ran, execute};
use super::seal::SealError;
use super::staging::RunFiles;
use super::verify::{VerifiedRun, VerifyOptions, verify_run_source};
use crate::record::machine::{MachineCheck, compare_machine};
use crate::record::reasons::explain;

/// Characters of a value that a divergence shows.
const SHOWN: usize = 200;

/// The document's replay rules, in its words and order.
pub const REPLAY_RULES: [&str; 6] = [
    "all required artifacts exist",
    "RUN_INPUT validates against INPUT_SCHEMA",
    "RUN_OUTPUT validates against OUTPUT_SCHEMA",
    "hashes match SHA256SUMS",
    "engine contracts match those recorded in RUN_META",
    "the engine is the one of RUN_META, or one that the sealed manifest permits",
];

/// How a replay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every run gave what was sealed.
    Reproduced,
    /// A run gave something else.
    Diverged,
    /// A replay rule does not hold: the lowest.
    NotReplayable {
        /// Its number, 1 to 6.
        rule: usize,
    },
}

impl Verdict {
    /// The verdict's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "REPRODUCED",
            Self::Diverged => "DIVERGED",
            Self::NotReplayable { .. } => "NOT REPLAYABLE",
        }
    }
}

/// One place where a run gave something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The file.
    pub path: String,
    /// The place in it, as a JSON Pointer, where it is a document.
    pub pointer: Option<String>,
    /// What was sealed.
    pub sealed: String,
    /// What came now.
    pub now: String,
    /// Where the two differ, for people, where that can be told.
    pub difference: Option<String>,
}

/// What one run of the engine gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Where it differs; nothing where it is the same.
    pub divergences: Vec<Divergence>,
    /// How many artifacts are the same.
    pub same_artifacts: usize,
}

/// What a replay gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Why each replay rule does not hold; nothing where it does.
    pub rules: [Vec<String>; 6],
    /// One a run.
    pub runs: Vec<Comparison>,
    /// The sealed outputs_hash.
    pub outputs_hash: String,
    /// How the machine compares with the one of the run; nothing where the bundle does not say
    /// what was used of it.
    pub environment: Option<MachineCheck>,
    /// Why runs may differ, where they do.
    pub reasons: Vec<String>,
    /// How far the command was kept apart; nothing where it was not run.
    pub isolation: Option<Isolation>,
    /// What the bundle says was not captured.
    pub gaps: Vec<CaptureGap>,
    /// Whether the sealed run was one of a command that failed.
    pub has_failed: bool,
    /// What could not be compared.
    pub notes: Vec<String>,
}

impl Replay {
    /// A replay that has begun: which rules the bundle breaks.
    pub(crate) fn begin(report: &Report) -> Self {
        Self {
            rules: rules_of_report(report),
            runs: Vec::new(),
            outputs_hash: String::new(),
            environment: None,
            reasons: Vec::new(),
            isolation: None,
            gaps: Vec::new(),
            has_failed: false,
            notes: Vec::new(),
        }
    }

    /// The verdict for people: also on what else it was reproduced.
    pub fn verdict_text(&self) -> String {
        let name = self.verdict().name();
        let other = self.environment.as_ref().and_then(MachineCheck::other_name);
        match (self.verdict(), other) {
            (Verdict::Reproduced, Some(other)) => format!("{name} on another {other}"),
            _ => name.to_owned(),
        }
    }

    /// How it ended.
    pub fn verdict(&self) -> Verdict {
        if let Some(at) = self.rules.iter().position(|faults| !faults.is_empty()) {
            return Verdict::NotReplayable { rule: at + 1 };
        }
        if self.runs.iter().all(|run| run.divergences.is_empty()) {
            Verdict::Reproduced
        } else {
            Verdict::Diverged
        }
    }
}

/// How to replay.
#[derive(Debug, Clone, Copy)]
pub struct ReplayOptions<'a> {
    /// How many times the engine is run; each time must give the same.
    pub times: u32,
    /// What the engine may use.
    pub policy: &'a Limits,
    /// Whether other interpreters and libraries than those of the run are refused.
    pub same_environment: bool,
}

/// Replays the bundle in `source` with `engine`. The sandbox is asked for only once everything
/// else holds, so that a bundle that is not replayable is told anywhere.
pub fn replay_run(
    source: &dyn Source,
    engine: &Engine,
    options: ReplayOptions<'_>,
    sandbox: impl FnOnce() -> Result<Sandbox, SealError>,
) -> Result<Replay, SealError> {
    let (report, verified) = verify_run_source(source, VerifyOptions::default())?;
    let replay = Replay::begin(&report);
    match verified {
        Some(run) => replay_engine(&run, engine, options, sandbox, replay),
        None => Ok(replay),
    }
}

/// Replays the engine's run in `run`, whose bundle holds.
pub(crate) fn replay_engine(
    run: &VerifiedRun<'_>,
    engine: &Engine,
    options: ReplayOptions<'_>,
    sandbox: impl FnOnce() -> Result<Sandbox, SealError>,
    mut replay: Replay,
) -> Result<Replay, SealError> {
    check_engine(run, engine, &mut replay)?;
    if options.same_environment
        && let Some(check) = &replay.environment
    {
        let differs = check.differs.iter().map(ToString::to_string);
        replay.rules[5].extend(differs);
    }
    if matches!(replay.verdict(), Verdict::NotReplayable { .. }) {
        return Ok(replay);
    }
    let sandbox = sandbox()?;
    replay.isolation = Some(sandbox.isolation());
    let sealed = SealedRun::read(run)?;
    if let Some(Value::String(hash)) = sealed.output.get("outputs_hash") {
        replay.outputs_hash = hash.to_lossy();
    }
    for _ in 0..options.times.max(1) {
        let given = Given {
            input: &sealed.input,
            upstream: sealed.upstream.as_deref(),
            parameters: sealed.parameters.as_deref(),
        };
        let comparison = match execute(&sandbox, engine, given, options.policy) {
            Ok(ran) => {
                let comparison = compare(&sealed, engine, &ran)?;
                if !comparison.divergences.is_empty() && replay.reasons.is_empty() {
                    replay.reasons = explain(ran.observation.as_ref(), &comparison.divergences);
                }
                comparison
            }
            Err(error @ (ExecuteError::Ended(_) | ExecuteError::Left { .. })) => {
                failed("the output that was sealed", &error.to_string())
            }
            Err(ExecuteError::Sandbox(error)) => return Err(error.into()),
            Err(ExecuteError::Read(error)) => return Err(error.into()),
            Err(ExecuteError::Work(source)) => {
                let path = "the work folder".to_owned();
                return Err(SourceError::Io { path, source }.into());
            }
        };
        replay.runs.push(comparison);
    }
    Ok(replay)
}

/// Which replay rule each finding of the verifier breaks.
fn rules_of_report(report: &Report) -> [Vec<String>; 6] {
    let mut rules: [Vec<String>; 6] = Default::default();
    for finding in report.findings() {
        let rule = match (finding.rule_id, finding.path()) {
            ("RB1", _) => 1,
            ("RB3", _) | ("RB8", Some(RUN_INPUT)) => 2,
            ("RB4" | "RB8", _) => 3,
            ("RB6" | "RB9", _) => 5,
            ("RB10", _) => 6,
            // Unlisted files, wrong hashes, an incomplete index.
            _ => 4,
        };
        let place = finding.path().unwrap_or_default();
        rules[rule - 1].push(format!("{} {place}: {}", finding.rule_id, finding.message));
    }
    rules
}

/// Rules 5 and 6 for the engine at hand.
fn check_engine(
    run: &VerifiedRun<'_>,
    engine: &Engine,
    replay: &mut Replay,
) -> Result<(), SourceError> {
    let environment = run.document(RUN_ENVIRONMENT);
    let environment = environment.as_ref().map(|document| document.root());
    match environment {
        Some(environment) => replay.environment = Some(compare_machine(environment)),
        None => replay.notes.push(
            "there is no RUN_ENVIRONMENT.json: what the engine read, its interpreter and libraries \
             cannot be compared"
                .to_owned(),
        ),
    }
    let rules = &mut replay.rules;
    let meta = run.document(RUN_META);
    let meta = meta.as_ref().map(|document| document.root());
    let text = |name: &str| Some(meta?.get(name)?.as_str()?.into_owned());
    let differ = |what: &str, sealed: &str, here: &str| {
        format!("{what} is `{here}` here, `{sealed}` was sealed")
    };
    let code = text("engine_code").unwrap_or_default();
    if code != engine.code() {
        rules[5].push(differ("engine_code", &code, engine.code()));
    }
    let version = text("engine_version").unwrap_or_default();
    let same_version = version == engine.version();
    let permitted = !same_version
        && run
            .document(MANIFEST)
            .is_some_and(|manifest| permits_version(manifest.root(), engine.version()));
    if !same_version && !permitted {
        let difference = differ("engine_version", &version, engine.version());
        let hint = "the sealed compatibility.replay_versions does not permit it";
        rules[5].push(format!("{difference}; {hint}"));
    }
    if same_version && let Some(sealed) = text("engine_executable_sha256") {
        let here = compute_executable(engine.source(), engine.command())?.to_string();
        // Where every file is listed, each is compared, and the program among the machine's.
        if here != sealed && environment.is_none() {
            rules[5].push(differ("engine_executable_sha256", &sealed, &here));
        }
    }
    if same_version && let Some(environment) = environment {
        rules[5].extend(compare_engine_files(environment, engine));
    }
    let hashes = engine.contract_hashes();
    let recorded = meta.and_then(|meta| meta.get("contracts_hashes"));
    for name in CONTRACTS {
        // A permitted version has another manifest, and nothing else that is another.
        if name == MANIFEST && permitted {
            continue;
        }
        let sealed = recorded.and_then(|hashes| hashes.get(name)?.as_str());
        let sealed = sealed.unwrap_or_default();
        let here = hashes.get(name).map(Digest::to_string).unwrap_or_default();
        if *sealed != *here {
            rules[4].push(differ(name, &sealed, &here));
        }
    }
    Ok(())
}

/// Which files that the run read below the engine's folder are others here.
fn compare_engine_files(environment: Node<'_>, engine: &Engine) -> Vec<String> {
    let mut faults = Vec::new();
    for file in parse_listed_files(environment, ENGINE_LIST) {
        let shown = file.path.escape_debug();
        let path = SafePath::parse(&file.path).ok();
        let digest = path.and_then(|path| {
            let reader = engine.source().open(&path).ok()?;
            Some(runseal_core::source::ContentFact::read(reader).ok()?.sha256)
        });
        match digest {
            Some(digest) if digest == file.sha256 => {}
            Some(digest) => faults.push(format!(
                "{ENGINE_FOLDER}/{shown} is another file here: expected sha256 {}, actual {digest}",
                file.sha256
            )),
            None => faults.push(format!(
                "{ENGINE_FOLDER}/{shown} was sealed and is not here"
            )),
        }
    }
    faults
}

/// What was sealed, ready to be given to the engine and compared with.
struct SealedRun {
    input: Vec<u8>,
    inputs_hash: Digest,
    output: Value,
    upstream_list: Option<Vec<InputArtifact>>,
    artifacts: BTreeMap<String, Digest>,
    upstream: Option<std::path::PathBuf>,
    parameters: Option<std::path::PathBuf>,
    /// Holds what the engine is given; taken away with this.
    _given: RunFiles,
}

impl SealedRun {
    fn read(run: &VerifiedRun<'_>) -> Result<Self, SealError> {
        // A bundle that holds has both, so nothing else is to be expected; and what cannot be had
        // is never replaced by something empty, which would then be hashed.
        let document = |name: &'static str, rule_id| {
            let missing = || reject(rule_id, name, "it cannot be read");
            run.document(name).ok_or_else(missing)
        };
        let input = canonical_bytes(document(RUN_INPUT, "RB3")?.root(), Dialect::Jcs)
            .map_err(|error| reject("RB3", RUN_INPUT, error.to_string()))?;
        let output = document(RUN_OUTPUT, "RB4")?.root().to_value();
        let upstream_list = run
            .document(INPUT_ARTIFACT_INDEX)
            .and_then(|list| parse_input_artifacts(list.root().get("artifacts")?));
        let mut given = RunFiles::begin(&std::env::temp_dir())?;
        let mut artifacts = BTreeMap::new();
        for (path, entry) in run.collected().facts.entries.iter() {
            let EntryFact::File(fact) = entry else {
                continue;
            };
            if path.starts_with("artifacts/") {
                artifacts.extend(fact.sha256().map(|digest| (path.to_owned(), digest)));
            } else if (path.starts_with("upstream/") || path == RUN_PARAMETERS)
                && let Ok(from) = SafePath::parse(path)
                && let Some(digest) = fact.sha256()
            {
                given.copy_verified(run.source(), &from, path, digest)?;
            }
        }
        given.open_up(given.path())?;
        let place = |name: &str| Some(given.path().join(name)).filter(|path| path.exists());
        Ok(Self {
            inputs_hash: Digest::of(&input),
            input,
            output,
            upstream_list,
            artifacts,
            upstream: place("upstream"),
            parameters: place(RUN_PARAMETERS),
            _given: given,
        })
    }
}

fn failed(sealed: &str, now: &str) -> Comparison {
    Comparison {
        divergences: vec![Divergence {
            path: RUN_OUTPUT.to_owned(),
            pointer: None,
            sealed: sealed.to_owned(),
            now: now.to_owned(),
            difference: None,
        }],
        same_artifacts: 0,
    }
}

fn compare(sealed: &SealedRun, engine: &Engine, ran: &Ran) -> Result<Comparison, SealError> {
    let upstream = sealed.upstream_list.as_deref();
    let output = match complete_output(engine, &ran.stdout, sealed.inputs_hash, upstream) {
        Ok(output) => output,
        Err(SealError::Rejected(findings)) => {
            return Ok(failed(
                "the output that was sealed",
                &first_message(&findings),
            ));
        }
        Err(other) => return Err(other),
    };
    // Through its canonical text, so that numbers are written alike.
    let canonical = canonical_bytes(&output, Dialect::Jcs);
    let output = canonical
        .ok()
        .and_then(|bytes| super::seal::parse_value(&bytes).ok());
    let Some(output) = output else {
        return Ok(failed(
            "the output that was sealed",
            "an output without a canonical form",
        ));
    };
    let mut divergences = Vec::new();
    compare_values(Some(&sealed.output), Some(&output), "", &mut divergences);
    // The hash differs because something else does; that comes first.
    divergences.sort_by_key(|d: &Divergence| d.pointer.as_deref() == Some("/outputs_hash"));
    let mut now = BTreeMap::new();
    if !ran.artifacts.is_empty() {
        let found = CollectedRun::collect(&ran.source()?)?;
        for (path, entry) in found.facts.entries.iter() {
            if let EntryFact::File(fact) = entry {
                now.insert(format!("artifacts/{path}"), fact.sha256());
            }
        }
    }
    let mut same_artifacts = 0;
    let paths: std::collections::BTreeSet<&String> =
        sealed.artifacts.keys().chain(now.keys()).collect();
    for path in paths {
        let before = sealed.artifacts.get(path).map(Digest::to_string);
        let after = now.get(path).map(|digest| match digest {
            Some(digest) => digest.to_string(),
            None => "no JSON with a canonical form".to_owned(),
        });
        if before == after {
            same_artifacts += 1;
            continue;
        }
        let nothing = || "nothing".to_owned();
        divergences.push(Divergence {
            path: path.clone(),
            pointer: None,
            sealed: before.unwrap_or_else(nothing),
            now: after.unwrap_or_else(nothing),
            difference: None,
        });
    }
    Ok(Comparison {
        divergences,
        same_artifacts,
    })
}

fn first_message(findings: &[Finding]) -> String {
    findings
        .first()
        .map_or_else(|| "nothing".to_owned(), |finding| finding.message.clone())
}

/// Adds every place where two canonical values differ, in the order of the document.
fn compare_values(
    sealed: Option<&Value>,
    now: Option<&Value>,
    place: &str,
    divergences: &mut Vec<Divergence>,
) {
    match (sealed, now) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let place = pointer::member(place, &key.to_lossy());
                compare_values(a.get(key), b.get(key), &place, divergences);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for at in 0..a.len().max(b.len()) {
                let place = pointer::element(place, at);
                compare_values(a.get(at), b.get(at), &place, divergences);
            }
        }
        (a, b) if a == b => {}
        (a, b) => divergences.push(Divergence {
            path: RUN_OUTPUT.to_owned(),
            pointer: Some(place.to_owned()),
            sealed: show(a),
            now: show(b),
            difference: None,
        }),
    }
}

fn show(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let bytes = canonical_bytes(value, Dialect::Jcs).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}
