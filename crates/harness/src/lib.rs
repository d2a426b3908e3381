//! The harness: turns an intent into a run that others can check.
//!
//! transform → proposal → execution in the sandbox → evidence → decision → export. The result is
//! run.json's content; with a target, also a pack; with a ledger, one more line in it. For the same
//! intent, policy and mode, everything except run_id and times is byte-identical, and the caller
//! can fix these two as well.
//!
//! Start reading with [`run_intent`] and follow the modules in the order of those steps: `plan`, `execute`, `decide`, `finish`,
//! `export`. `replay` executes a recorded proposal again.

mod contents;
mod decide;
mod error;
mod execute;
mod export;
mod finish;
mod ledger;
mod model;
mod plan;
mod policy_file;
mod proxied;
mod record;
mod replay;
mod summary;
mod tally;
mod versions;
mod words;
mod worktree;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::ContentHash;
use runseal_core::formats::model_io::{ModelIoView, verify_model_io};
use runseal_core::formats::policy::Policy;
use runseal_core::formats::run_bundle::layout::RunId;
use runseal_core::verify::Level;
use runseal_kernel::proposal::Proposal;
use runseal_sandbox::{Isolation, Missing, Sandbox, SandboxError};

use execute::{Executed, Surroundings, execute};
use model::{Answers, Identity, ModelServer, parse_recording};
use plan::{PlanOutcome, check_proposal, first_finding, plan, read_input, take_proposal};
use proxied::finish_recording;
use runseal_fs::models::ModelSession;

use runseal_redact::SealingSeed;

pub use error::HarnessError;
pub use ledger::{LedgerError, LockedLedger};
pub use policy_file::read_policy;
pub use replay::{
    Caller, RecordedExecution, ReplayedExecution, held_proposal, parse_proposal, replay_execution,
};
pub use summary::{StepEnding, StepSummary};

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
    /// Nowhere: there is no model socket.
    None,
    /// To a command on the host; the exchange is recorded.
    Record {
        /// The command that answers each prompt.
        command: String,
    },
    /// To a recording, in order; a call that it does not have is an error.
    Replay,
    /// Through a recording proxy, to its upstream.
    Proxy,
}

impl ModelMode {
    /// Its name in policies and in run.json.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Record { .. } | Self::Proxy => "record",
            Self::Replay => "replay",
        }
    }
}

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The intent's file.
    pub intent: PathBuf,
    /// How far to go.
    pub mode: Mode,
    /// What the run may do.
    pub policy: Policy,
    /// A proposal made elsewhere, to execute instead of our own.
    pub proposal: Option<PathBuf>,
    /// Whether a person agrees to a proposal that needs approval.
    pub approve: bool,
    /// Where the pack goes.
    pub pack: Option<PathBuf>,
    /// The ledger to append to.
    pub ledger: Option<PathBuf>,
    /// The run's id; by default derived from the intent and the time.
    pub run_id: Option<RunId>,
    /// Seconds since 1970 to use for all times (SOURCE_DATE_EPOCH).
    pub epoch: Option<i64>,
    /// How commands are isolated. `None` must be requested explicitly.
    pub isolation: Isolation,
    /// Where model calls go.
    pub model: ModelMode,
    /// The file of the model recording.
    pub model_io: Option<PathBuf>,
    /// The seed, if parts of the pack may be withheld later.
    pub redactable: Option<SealingSeed>,
    /// The caller's PATH, searched for programs that the policy names and the sandbox's PATH does
    /// not have.
    pub program_path: Option<OsString>,
    /// With [`ModelMode::Proxy`]: the session between commands and models.
    pub models: Option<Arc<dyn ModelSession>>,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct Finished {
    /// run.json's content.
    pub run: Value,
    /// Whether the run is accepted.
    pub accepted: bool,
    /// The result of each action and test; empty if nothing was executed.
    pub steps: Vec<StepSummary>,
    /// Further notes for people.
    pub notes: Vec<String>,
    /// Where the pack's new seed is stored.
    pub seed: Option<PathBuf>,
}

/// The result of an execution.
struct PlanExecution {
    proposal: Proposal,
    done: Executed,
    model_io: Option<Value>,
    /// What the recording of model calls may have missed.
    gaps: Vec<String>,
}

/// Runs an intent.
///
/// # Errors
/// [`HarnessError`] if there is no result; a plan that fails is a result.
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
        PlanOutcome::Made {
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
    if let Some(sandbox) = &sandbox {
        check_isolation(sandbox, outcome.as_ref())?;
    }
    let (accepted, reasons) = decide::decide(options, &planned, outcome.as_ref());
    finish::finish(
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

/// Checks PL4 and PL5.
fn check_model_policy(options: &Options) -> Result<(), HarnessError> {
    if options.model == ModelMode::None {
        return Ok(());
    }
    let mode = options.model.name();
    let allowed = &options.policy.allowed_model_modes;
    if !allowed.iter().any(|known| known == mode) {
        return Err(HarnessError::Policy(format!(
            "PL4: policy {} does not allow model mode {mode}",
            options.policy.name
        )));
    }
    if options.model_io.is_none() && options.model != ModelMode::Proxy {
        return Err(HarnessError::Policy(format!(
            "PL5: model mode {mode} needs the path of a recording"
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

fn open_sandbox(isolation: Isolation) -> Result<Sandbox, HarnessError> {
    match isolation {
        Isolation::None => Ok(Sandbox::without_isolation()),
        level => Sandbox::at(level).map_err(no_isolation),
    }
}

/// Sets the sandbox up once if no command has used it, because the run's records state its
/// isolation and must be true.
fn check_isolation(sandbox: &Sandbox, outcome: Option<&PlanExecution>) -> Result<(), HarnessError> {
    let is_proven = outcome.is_some_and(|outcome| outcome.done.enforcement.is_some());
    if !is_proven {
        Sandbox::probe_at(sandbox.isolation()).map_err(no_isolation)?;
    }
    Ok(())
}

fn no_isolation(missing: Missing) -> HarnessError {
    HarnessError::Sandbox {
        message: missing.to_string(),
        hint: missing.hint().to_owned(),
    }
}

fn run_proposal(
    options: &Options,
    proposal: Proposal,
    sandbox: &Sandbox,
) -> Result<PlanExecution, HarnessError> {
    let server = start_model(options)?;
    let surroundings = Surroundings {
        model: server.as_ref(),
        session: options.models.as_ref(),
        programs: options.program_path.as_deref(),
    };
    let done = execute(&proposal, &options.policy, sandbox, surroundings)
        .map_err(|error| sandbox_error(&error))?;
    let mut gaps = Vec::new();
    let model_io = match &options.models {
        Some(session) => {
            let (recording, unseen) = finish_recording(session.as_ref(), &options.policy)?;
            gaps = unseen;
            Some(recording)
        }
        None => server.map(ModelServer::finish),
    };
    if let (Some(recording), ModelMode::Record { .. } | ModelMode::Proxy, Some(path)) =
        (&model_io, &options.model, &options.model_io)
    {
        let mut bytes = canonical_bytes(recording, Dialect::Kernel)
            .map_err(|error| HarnessError::Internal(error.to_string()))?;
        bytes.push(b'\n');
        runseal_fs::atomic::write_bytes(path, &bytes)
            .map_err(|error| HarnessError::Internal(format!("{error}: {}", error.source)))?;
    }
    Ok(PlanExecution {
        proposal,
        done,
        model_io,
        gaps,
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
        (ModelMode::None | ModelMode::Proxy, _) | (_, None) => return Ok(None),
        (ModelMode::Record { command }, Some(_)) => {
            let identity = Identity {
                adapter_id: "runseal-model-cmd".to_owned(),
                // Identifies the command without quoting it: a command line may contain a key.
                model_id: format!(
                    "cmd-{}",
                    ContentHash::of(command.as_bytes()).digest().hex_prefix(16)
                ),
                mode: "record",
            };
            (Answers::Command(command.clone()), identity)
        }
        (ModelMode::Replay, Some(path)) => {
            parse_answers(&read_input(path)?, &path.display().to_string())?
        }
    };
    let models = &options.policy.allowed_models;
    if !models.is_empty() && !models.contains(&identity.model_id) {
        return Err(HarnessError::Policy(format!(
            "PL4: model `{}` is not among allowed_models",
            identity.model_id
        )));
    }
    ModelServer::start(answers, identity)
        .map(Some)
        .map_err(|error| HarnessError::Internal(format!("no socket for models: {error}")))
}

/// Parses the answers in a recording, which must be valid.
fn parse_answers(bytes: &[u8], path: &str) -> Result<(Answers, Identity), HarnessError> {
    let document = parse_document(bytes, &ReadOptions::default()).map_err(|error| {
        HarnessError::NotJson(format!("{}: {path} {}", error.kind, error.position))
    })?;
    let root: Node<'_> = document.root();
    let report = verify_model_io(&ModelIoView { root, bodies: None }, Level::Document);
    if !report.is_valid() {
        let finding = first_finding(&report);
        return Err(HarnessError::Invalid(format!("{finding}: {path}")));
    }
    let (said, identity) = parse_recording(root)
        .ok_or_else(|| HarnessError::Internal("the recording cannot be used".to_owned()))?;
    Ok((Answers::Recording(said), identity))
}
