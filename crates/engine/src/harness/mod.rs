//! The harness: from an intent to a run that others can check.
//!
//! transform → proposal → execution in the sandbox → evidence → decision → export. The result is
//! run.json's content; with a target, a pack; with a ledger, one more line in it. Determinism: for
//! the same intent, policy and mode everything but run_id and times is the same bytes, and these
//! two are given by the caller where they should be too.

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

use crate::models::ModelSession;
use execute::{Executed, Surroundings, execute};
use model::{Answers, Identity, ModelServer, parse_recording};
use plan::{Planned, check_proposal, first_finding, plan, read_input, take_proposal};
use proxied::finish_recording;

use crate::redact::SealingSeed;

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
    /// Nobody: there is no model socket.
    None,
    /// To a command on the host; what is said is recorded.
    Record {
        /// The command that answers each prompt.
        command: String,
    },
    /// A recording answers, in order; what it does not have is an error.
    Replay,
    /// Through a proxy that records, to wherever it leads.
    Proxy,
}

impl ModelMode {
    fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Record { .. } | Self::Proxy => "record",
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
    pub policy: Policy,
    /// A proposal made elsewhere, to be executed in place of ours.
    pub proposal: Option<PathBuf>,
    /// Whether a person agrees to a proposal that needs approval.
    pub approve: bool,
    /// Where the pack goes.
    pub pack: Option<PathBuf>,
    /// The ledger to append to.
    pub ledger: Option<PathBuf>,
    /// The run's id; made of the intent and the time where not given.
    pub run_id: Option<RunId>,
    /// Seconds since 1970 that stand for all times (SOURCE_DATE_EPOCH).
    pub epoch: Option<i64>,
    /// How commands are isolated. None must be asked for.
    pub isolation: Isolation,
    /// Where model calls go.
    pub model: ModelMode,
    /// The file of the model recording.
    pub model_io: Option<PathBuf>,
    /// The seed of a pack of which parts may be withheld later.
    pub redactable: Option<SealingSeed>,
    /// Where programs are looked for that the policy names and the sandbox's PATH has not: the PATH
    /// of whoever calls.
    pub program_path: Option<OsString>,
    /// With [`ModelMode::Proxy`]: who stands between commands and models.
    pub models: Option<Arc<dyn ModelSession>>,
}

/// What a run gave.
#[derive(Debug, Clone)]
pub struct Finished {
    /// run.json's content.
    pub run: Value,
    /// Whether the run is accepted.
    pub accepted: bool,
    /// What became of each action and test; empty where nothing was executed.
    pub steps: Vec<StepSummary>,
    /// What a person should know besides.
    pub notes: Vec<String>,
    /// Where the seed is kept that was made for the pack.
    pub seed: Option<PathBuf>,
}

/// What an execution left.
struct PlanExecution {
    proposal: Proposal,
    done: Executed,
    model_io: Option<Value>,
    /// What the recording of models cannot have seen.
    gaps: Vec<String>,
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

/// PL4, PL5.
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

/// A run's records say which isolation it had. Where no command went through it, it is put up
/// once for nothing, so that they tell the truth.
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
        crate::atomic::write_bytes(path, &bytes)
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

/// The answers of a recording that is valid.
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
