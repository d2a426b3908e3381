//! The harness: from an intent to a run that others can check.
//!
//! transform → proposal → execution in the sandbox → evidence → decision → export. The result is
//! run.json's content; with a target, a pack; with a ledger, one more line in it. Determinism: for
//! the same intent, policy and mode everything but run_id and times is the same bytes, and these
//! two are given by the caller where they should be too.

mod error;
mod execute;
mod export;
mod ledger;
mod model;
mod record;
mod versions;
mod words;
mod worktree;

use std::path::{Path, PathBuf};

use runseal_core::canon::{
    Dialect, Node, ReadOptions, Value, canonical_bytes, canonical_digest, parse_document,
};
use runseal_core::digest::ContentHash;
use runseal_core::formats::evidence::{EvidenceView, verify_evidence};
use runseal_core::formats::model_io::{ModelIoView, verify_model_io};
use runseal_core::formats::policy::Profile;
use runseal_core::formats::proposal::{ProposalView, SourceBundle, verify_proposal};
use runseal_core::formats::run::ResultKind;
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::verify::{Report, Strictness};
use runseal_kernel::proposal::{Proposal, generate_proposal, make_patch};
use runseal_kernel::{Bundle, Intent, KernelError, parse_intent, transform};
use runseal_sandbox::{Isolation, Sandbox, SandboxError};

use crate::input::read_file;
use execute::{Executed, Status, execute};
use model::{Answers, Identity, ModelServer, parse_recording};
use record::{RunRecord, RunnerFacts, Times};

pub use error::HarnessError;
pub use ledger::{LedgerError, LockedLedger};

/// How far a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Up to the bundle.
    PlanOnly,
    /// Through execution in the sandbox.
    ExecuteSandbox,
}

/// Where model calls go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelMode {
    /// Nowhere.
    None,
    /// To a command on the host; what is said is recorded.
    Record {
        /// The command.
        command: String,
    },
    /// To a recording.
    Replay,
}

impl ModelMode {
    fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Record { .. } => "record",
            Self::Replay => "replay",
        }
    }
}

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The intent's file.
    pub intent: PathBuf,
    /// How far to go.
    pub mode: Mode,
    /// What it may do.
    pub policy: &'static Profile,
    /// A proposal made elsewhere, to be executed in place of ours.
    pub proposal: Option<PathBuf>,
    /// Whether a person agrees to a proposal that needs approval.
    pub approve: bool,
    /// Where the pack goes.
    pub pack: Option<PathBuf>,
    /// The ledger to append to.
    pub ledger: Option<PathBuf>,
    /// The run's id; made of the intent and the time where not given.
    pub run_id: Option<String>,
    /// Seconds since 1970 that stand for all times (SOURCE_DATE_EPOCH).
    pub epoch: Option<i64>,
    /// How commands are isolated. None must be asked for.
    pub isolation: Isolation,
    /// Where model calls go.
    pub model: ModelMode,
    /// The file of the model recording.
    pub model_io: Option<PathBuf>,
}

/// What a run gave.
#[derive(Debug, Clone)]
pub struct Finished {
    /// run.json's content.
    pub run: Value,
    /// Whether the run is accepted.
    pub accepted: bool,
    /// What a person should know besides.
    pub notes: Vec<String>,
}

/// What the kernel made of the intent.
enum Planned {
    Refused(String),
    Made {
        bundle: Box<Bundle>,
        hash: ContentHash,
        extras: Option<Value>,
    },
}

/// What an execution left.
struct Outcome {
    proposal: Proposal,
    done: Executed,
    model_io: Option<Value>,
}

/// Runs an intent.
///
/// # Errors
/// [`HarnessError`] where there is no result; a plan that fails is a result.
pub fn run_intent(options: &Options) -> Result<Finished, HarnessError> {
    check_model_policy(options)?;
    if let Some(pack) = &options.pack {
        export::check_target(pack)?;
    }
    let started = now(options);
    let bytes = read_input(&options.intent)?;
    let intent_hash = ContentHash::of(&bytes);
    let planned = plan(&bytes, &options.intent)?;
    let sandbox = match options.mode {
        Mode::PlanOnly => None,
        Mode::ExecuteSandbox => Some(open_sandbox(options.isolation)?),
    };
    let mut outcome = None;
    if let (
        Planned::Made {
            bundle,
            hash,
            extras,
        },
        Some(sandbox),
    ) = (&planned, &sandbox)
        && bundle.questions.is_empty()
    {
        let proposal = take_proposal(options, bundle, *hash, extras.as_ref())?;
        check_proposal(&proposal)?;
        outcome = Some(run_proposal(options, proposal, sandbox)?);
    }
    let (accepted, reasons) = decide(options, &planned, outcome.as_ref());
    finish(
        options,
        started,
        intent_hash,
        &planned,
        outcome,
        accepted,
        &reasons,
        sandbox.as_ref(),
    )
}

/// PL4, PL5.
fn check_model_policy(options: &Options) -> Result<(), HarnessError> {
    if options.model == ModelMode::None {
        return Ok(());
    }
    if !options.policy.allows_models {
        return Err(HarnessError::Policy(format!(
            "PL4: policy {} does not allow model mode {}",
            options.policy.name,
            options.model.name()
        )));
    }
    if options.model_io.is_none() {
        return Err(HarnessError::Policy(format!(
            "PL5: model mode {} needs the path of a recording",
            options.model.name()
        )));
    }
    Ok(())
}

fn now(options: &Options) -> i64 {
    options.epoch.map_or_else(
        || {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            since.map_or(0, |since| {
                i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
            })
        },
        |seconds| seconds.saturating_mul(1000),
    )
}

fn read_input(path: &Path) -> Result<Vec<u8>, HarnessError> {
    read_file(path, JsonLimits::LARGEST_DOCUMENT).map_err(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        HarnessError::Unreadable(format!("{error}{}", source.unwrap_or_default()))
    })
}

fn plan(bytes: &[u8], path: &Path) -> Result<Planned, HarnessError> {
    let options = ReadOptions {
        strip_bom: true,
        ..ReadOptions::default()
    };
    let document = parse_document(bytes, &options).map_err(|error| {
        HarnessError::NotJson(format!(
            "{}: {} {}",
            error.kind,
            path.display(),
            error.position
        ))
    })?;
    let intent: Intent = match parse_intent(&document) {
        Ok(intent) => intent,
        Err(refusal) => return Ok(Planned::Refused(refusal.to_string())),
    };
    match transform(&intent) {
        Ok(bundle) => {
            let hash = bundle
                .compute_hash()
                .map_err(|error| HarnessError::Internal(error.to_string()))?;
            let extras = intent.context().get("proposal").cloned();
            Ok(Planned::Made {
                bundle: Box::new(bundle),
                hash: hash.into(),
                extras,
            })
        }
        Err(KernelError::Refused(refusal)) => Ok(Planned::Refused(refusal.to_string())),
        Err(error) => Err(HarnessError::Internal(error.to_string())),
    }
}

fn open_sandbox(isolation: Isolation) -> Result<Sandbox, HarnessError> {
    match isolation {
        Isolation::None => Ok(Sandbox::without_isolation()),
        Isolation::Full => Sandbox::probe().map_err(|missing| HarnessError::Sandbox {
            message: missing.to_string(),
            hint: missing.hint().to_owned(),
        }),
    }
}

/// The proposal that was given, verified against the bundle, or ours.
fn take_proposal(
    options: &Options,
    bundle: &Bundle,
    hash: ContentHash,
    extras: Option<&Value>,
) -> Result<Proposal, HarnessError> {
    let internal = |error: &dyn std::fmt::Display| HarnessError::Internal(error.to_string());
    let Some(path) = &options.proposal else {
        let bytes =
            canonical_bytes(bundle.value(), Dialect::Kernel).map_err(|error| internal(&error))?;
        let document = parse_document(&bytes, &ReadOptions::default())
            .map_err(|error| internal(&error.kind))?;
        return generate_proposal(document.root(), extras)
            .map_err(|error| HarnessError::Invalid(error.to_string()));
    };
    let bytes = read_input(path)?;
    let document = parse_document(&bytes, &ReadOptions::default()).map_err(|error| {
        HarnessError::NotJson(format!(
            "{}: {} {}",
            error.kind,
            path.display(),
            error.position
        ))
    })?;
    let source = SourceBundle {
        id: bundle.id.to_string(),
        hash,
    };
    let view = ProposalView::new(document.root(), Some(&source));
    let report = verify_proposal(&view, Strictness::Default);
    if !report.is_valid() {
        let shown = path.display();
        return Err(HarnessError::Invalid(format!(
            "{}: {shown}",
            first_finding(&report)
        )));
    }
    Proposal::parse(document.root()).map_err(|error| HarnessError::Invalid(error.to_string()))
}

fn first_finding(report: &Report) -> String {
    report.findings().first().map_or_else(
        || "not everything could be checked".to_owned(),
        |finding| {
            let place = finding.path.as_deref().map(|path| format!(" {path}"));
            format!(
                "{}{}: {}",
                finding.rule_id,
                place.unwrap_or_default(),
                finding.message
            )
        },
    )
}

/// What the rules of proposals leave to the executor: safe targets, each file once.
fn check_proposal(proposal: &Proposal) -> Result<(), HarnessError> {
    let mut seen = std::collections::BTreeSet::new();
    for action in proposal
        .actions
        .iter()
        .filter(|action| action.kind.is_file_operation())
    {
        let target = action.target.escape_debug();
        if action.target.contains("..") || SafePath::parse(&action.target).is_err() {
            let message = format!("action {}: `{target}` is no safe path", action.id);
            return Err(HarnessError::Invalid(message));
        }
        if !seen.insert(action.target.as_str()) {
            let message = format!("action {}: `{target}` has another action", action.id);
            return Err(HarnessError::Invalid(message));
        }
    }
    Ok(())
}

fn run_proposal(
    options: &Options,
    proposal: Proposal,
    sandbox: &Sandbox,
) -> Result<Outcome, HarnessError> {
    let server = start_model(options)?;
    let done = execute(&proposal, options.policy, sandbox, server.as_ref())
        .map_err(|error| sandbox_error(&error))?;
    let model_io = server.map(ModelServer::finish);
    if let (Some(recording), ModelMode::Record { .. }, Some(path)) =
        (&model_io, &options.model, &options.model_io)
    {
        let mut bytes = canonical_bytes(recording, Dialect::Kernel)
            .map_err(|error| HarnessError::Internal(error.to_string()))?;
        bytes.push(b'\n');
        crate::atomic::write_bytes(path, &bytes)
            .map_err(|error| HarnessError::Internal(format!("{error}: {}", error.source)))?;
    }
    Ok(Outcome {
        proposal,
        done,
        model_io,
    })
}

fn sandbox_error(error: &SandboxError) -> HarnessError {
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    let hint = match error {
        SandboxError::Missing(missing) => missing.hint().to_owned(),
        _ => String::new(),
    };
    HarnessError::Sandbox {
        message: format!("{error}{}", source.unwrap_or_default()),
        hint,
    }
}

fn start_model(options: &Options) -> Result<Option<ModelServer>, HarnessError> {
    let (answers, identity) = match (&options.model, &options.model_io) {
        (ModelMode::None, _) | (_, None) => return Ok(None),
        (ModelMode::Record { command }, Some(_)) => {
            let identity = Identity {
                adapter_id: "runseal-model-cmd".to_owned(),
                // What was asked, without telling how: a command line may hold a key.
                model_id: format!(
                    "cmd-{}",
                    ContentHash::of(command.as_bytes()).digest().hex_prefix(16)
                ),
                mode: "record",
            };
            (Answers::Command(command.clone()), identity)
        }
        (ModelMode::Replay, Some(path)) => {
            let bytes = read_input(path)?;
            let document = parse_document(&bytes, &ReadOptions::default()).map_err(|error| {
                let shown = path.display();
                HarnessError::NotJson(format!("{}: {shown} {}", error.kind, error.position))
            })?;
            let root: Node<'_> = document.root();
            let report = verify_model_io(&ModelIoView { root }, Strictness::Default);
            if !report.is_valid() {
                let shown = path.display();
                return Err(HarnessError::Invalid(format!(
                    "{}: {shown}",
                    first_finding(&report)
                )));
            }
            let (said, identity) = parse_recording(root)
                .ok_or_else(|| HarnessError::Internal("the recording cannot be used".to_owned()))?;
            (Answers::Recording(said), identity)
        }
    };
    ModelServer::start(answers, identity)
        .map(Some)
        .map_err(|error| HarnessError::Internal(format!("no socket for models: {error}")))
}

/// Accept, reject or review, and why.
fn decide(options: &Options, planned: &Planned, outcome: Option<&Outcome>) -> (bool, Vec<String>) {
    let bundle = match planned {
        Planned::Refused(_) => return (false, vec!["reject: the intent was refused".to_owned()]),
        Planned::Made { bundle, .. } => bundle,
    };
    if !bundle.questions.is_empty() {
        let count = bundle.questions.len();
        return (false, vec![format!("review: {count} questions are open")]);
    }
    let Some(Outcome { proposal, done, .. }) = outcome else {
        return (
            true,
            vec!["accept: the plan is complete; nothing was executed".to_owned()],
        );
    };
    let mut faults = Vec::new();
    for (action, step) in proposal.actions.iter().zip(&done.actions) {
        let is_fine = step.status == Status::Success;
        if action.required && !is_fine {
            let name = step.status.name();
            let error = step.error.as_deref().map(|error| format!(": {error}"));
            let code = step.exit_code.filter(|code| *code != 0);
            let code = code.map(|code| format!(" with exit code {code}"));
            faults.push(format!(
                "reject: action {} ended as {name}{}{}",
                action.id,
                code.unwrap_or_default(),
                error.unwrap_or_default()
            ));
        }
    }
    for (test, seen) in proposal.tests.iter().zip(&done.tests) {
        if test.required && !seen.passed {
            faults.push(format!(
                "reject: test {} did not pass: {}",
                test.id, seen.actual
            ));
        }
    }
    if !faults.is_empty() {
        return (false, faults);
    }
    let worked = "accept: every required action and test succeeded".to_owned();
    match (proposal.requires_approval, options.approve) {
        (false, _) => (true, vec![worked]),
        (true, true) => (
            true,
            vec![worked, "accept: approved by the caller".to_owned()],
        ),
        (true, false) => {
            let open = "review: the proposal needs a person's approval (--approve)".to_owned();
            (false, vec![worked, open])
        }
    }
}

#[allow(
    clippy::too_many_arguments,
    reason = "the parts of one run, all of them"
)]
fn finish(
    options: &Options,
    started: i64,
    intent_hash: ContentHash,
    planned: &Planned,
    outcome: Option<Outcome>,
    accepted: bool,
    reasons: &[String],
    sandbox: Option<&Sandbox>,
) -> Result<Finished, HarnessError> {
    let ledger_error = |error: LedgerError| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        HarnessError::Internal(format!("{error}{}", source.unwrap_or_default()))
    };
    let mut notes = Vec::new();
    // Held until the entry is written, so that times in the ledger never go back.
    let mut ledger = match &options.ledger {
        None => None,
        Some(path) => Some(LockedLedger::lock(path).map_err(ledger_error)?),
    };
    let mut completed = now(options).max(started);
    if let Some(ledger) = &ledger {
        if options.epoch.is_none() {
            completed = completed.max(ledger.last_time().unwrap_or(completed));
        }
        if let Some(line) = ledger.torn_line() {
            notes.push(format!(
                "the ledger's line {line} breaks off; it was left as it is"
            ));
        }
    }
    let times = Times { started, completed };
    let run_id = options
        .run_id
        .clone()
        .unwrap_or_else(|| make_run_id(times, intent_hash));
    let questions: Vec<String> = match planned {
        Planned::Made { bundle, .. } => bundle
            .questions
            .iter()
            .map(|question| question.text.clone())
            .collect(),
        Planned::Refused(_) => Vec::new(),
    };
    let (kind, bundle, refusal) = match planned {
        Planned::Refused(reason) => (ResultKind::Refuse, None, Some(reason.as_str())),
        Planned::Made { bundle, hash, .. } => {
            let is_open = !bundle.questions.is_empty();
            let kind = if is_open {
                ResultKind::Clarify
            } else {
                ResultKind::Bundle
            };
            (kind, Some((bundle.id.as_str(), *hash)), None)
        }
    };
    let execution = outcome
        .as_ref()
        .map(|outcome| record::make_execution(&outcome.proposal, options.policy, &outcome.done));
    let intent_path = shown_path(&options.intent);
    let record = RunRecord {
        run_id: &run_id,
        times,
        policy: options.policy,
        intent_path: &intent_path,
        intent_hash,
        bundle,
        kind,
        questions: &questions,
        refusal,
        execution,
        accepted,
        reasons,
        model_mode: options.model.name(),
    };
    let run = record::make_run(&record);
    let entry = record::make_entry(&record);
    let evidence = outcome
        .as_ref()
        .map(|outcome| record::make_evidence(&outcome.proposal, &outcome.done, times));
    if let (Some(outcome), Some(evidence)) = (&outcome, &evidence) {
        check_evidence(&outcome.proposal, evidence)?;
    }
    if let Some(target) = &options.pack {
        let facts = runner_facts(options, outcome.as_ref(), sandbox);
        let runner = record::make_runner(&record, &facts);
        let policy = options.policy.to_value();
        let patch = outcome
            .as_ref()
            .map(|outcome| make_patch(&outcome.proposal));
        let mut files: Vec<(&str, &Value)> = vec![
            ("run.json", &run),
            ("policy.json", &policy),
            ("ledger.jsonl", &entry),
            ("runner.json", &runner),
        ];
        if let Planned::Made { bundle, .. } = planned {
            files.push(("bundle.json", bundle.value()));
        }
        files.extend(patch.as_ref().map(|patch| ("patch.json", patch)));
        files.extend(
            evidence
                .as_ref()
                .map(|evidence| ("evidence.json", evidence)),
        );
        let model_io = outcome
            .as_ref()
            .and_then(|outcome| outcome.model_io.as_ref());
        files.extend(model_io.map(|recording| ("model_io.json", recording)));
        export::export_pack(target, &files)?;
    }
    if let Some(ledger) = &mut ledger {
        ledger.append(&entry).map_err(ledger_error)?;
    }
    Ok(Finished {
        run,
        accepted,
        notes,
    })
}

/// Our own evidence, checked as an outsider would: ids, hash, every action and test.
fn check_evidence(proposal: &Proposal, evidence: &Value) -> Result<(), HarnessError> {
    let bytes = canonical_bytes(evidence, Dialect::Kernel)
        .map_err(|error| HarnessError::Evidence(error.to_string()))?;
    let document = parse_document(&bytes, &ReadOptions::default())
        .map_err(|error| HarnessError::Evidence(error.kind.to_string()))?;
    let root = document.root();
    let view = EvidenceView {
        root,
        proposal_hash: Some(proposal.hash()),
    };
    let report = verify_evidence(&view, Strictness::Strict);
    if !report.is_valid() {
        return Err(HarnessError::Evidence(first_finding(&report)));
    }
    let ids = |list: &str, name: &str| -> Vec<String> {
        let items = root.get(list).map(|node| node.items());
        items
            .into_iter()
            .flatten()
            .filter_map(|node| Some(node.get(name)?.as_str()?.into_owned()))
            .collect()
    };
    let actions: Vec<String> = proposal
        .actions
        .iter()
        .map(|action| action.id.clone())
        .collect();
    let tests: Vec<String> = proposal.tests.iter().map(|test| test.id.clone()).collect();
    if ids("action_results", "action_id") != actions || ids("test_results", "test_id") != tests {
        return Err(HarnessError::Evidence("a result is missing".to_owned()));
    }
    Ok(())
}

fn runner_facts(
    options: &Options,
    outcome: Option<&Outcome>,
    sandbox: Option<&Sandbox>,
) -> RunnerFacts {
    let (node_version, npm_version) = versions::find_versions(sandbox);
    let done = outcome.map(|outcome| &outcome.done);
    RunnerFacts {
        isolation: sandbox.map_or(options.isolation, Sandbox::isolation),
        node_version,
        npm_version,
        exit_code: outcome.map_or(0, |o| record::exit_code(&o.proposal, &o.done)),
        signal: done.and_then(|done| done.signal),
        out_of_memory: done.is_some_and(|done| done.out_of_memory),
        timed_out: done.is_some_and(|done| done.timed_out),
    }
}

/// The path as it may be shown to others: relative, without climbing; else its last part.
fn shown_path(path: &Path) -> String {
    let text = path.to_str().unwrap_or_default();
    let plain = text.strip_prefix("./").unwrap_or(text);
    if !plain.contains("..") && SafePath::parse(plain).is_ok() {
        return plain.to_owned();
    }
    let name = path.file_name().and_then(|name| name.to_str());
    name.filter(|name| SafePath::parse(name).is_ok())
        .unwrap_or("intent.json")
        .to_owned()
}

/// An id that two runs do not share: of the time, the process and the intent.
fn make_run_id(times: Times, intent: ContentHash) -> String {
    let seed = Value::object([
        ("completed", Value::from(times.completed)),
        ("intent", Value::from(intent.to_string())),
        ("process", Value::from(std::process::id())),
        ("started", Value::from(times.started)),
    ]);
    let digest = canonical_digest(&seed, Dialect::Kernel);
    format!(
        "run_{}",
        digest
            .map(|digest| digest.hex_prefix(16))
            .unwrap_or_default()
    )
}
