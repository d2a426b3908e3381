//! Replays any run bundle: a recorded command or an engine's run, with a given engine or from the
//! bundle alone.

use std::path::Path;

use runseal_core::formats::run_bundle::layout::{MANIFEST, RUN_ENVIRONMENT, RUN_OUTPUT};
use runseal_core::formats::run_bundle::recorded::{is_declared, is_recorded, parse_gaps};
use runseal_core::source::Source;
use runseal_core::verify::Report;
use runseal_sandbox::{Limits, Sandbox, SandboxError};

use super::error::{RecordError, work_error};
use super::replay::{RecordedOptions, replay_recorded};
use super::run::RunError;
use crate::run::contracts::{Program, check_engine};
use crate::run::engine_files::restore_engine;
use crate::run::replay::{REPLAYED, Replay, ReplayOptions, Verdict, replay_engine};
use crate::run::seal::SealError;
use crate::run::verify::{verify_redacted_run, verify_run_source};
use crate::run::withheld::is_redacted;

/// Why a run that was described by its own program is not executed again.
const DESCRIBED_ITSELF: &str = "a program described this run from within, so there is no command \
    that gives it again; `runseal record -- COMMAND` seals one that there is";

/// The result of a replay.
#[derive(Debug)]
pub enum Replayed {
    /// There is a verdict, possibly that the run is not replayable.
    Judged(Box<Replay>),
    /// The given engine is not valid.
    BadEngine(Report),
    /// The bundle does not contain its engine, and none was given.
    NeedsEngine,
    /// It is a redacted copy of something other than a run bundle.
    OtherCopy,
}

/// Replays the run bundle, or a redacted copy of one, in `source`. Nobody else may write to a copy
/// meanwhile. The sandbox is set up only once everything else is valid.
///
/// # Errors
/// [`RecordError`] if there is no verdict.
pub fn replay_bundle(
    source: &dyn Source,
    engine: Option<&Path>,
    options: &RecordedOptions<'_>,
    policy: &Limits,
    sandbox: impl FnOnce() -> Result<Sandbox, SandboxError>,
) -> Result<Replayed, RecordError> {
    let (mut replay, verified) = match is_redacted(source)? {
        true => {
            let (report, verified) = verify_redacted_run(source)?;
            if report.is_valid() && verified.is_none() {
                return Ok(Replayed::OtherCopy);
            }
            (Replay::begin_redacted(&report), verified)
        }
        false => {
            let (report, verified) = verify_run_source(source, REPLAYED)?;
            (Replay::begin(&report), verified)
        }
    };
    let Some(run) = verified else {
        return Ok(Replayed::Judged(Box::new(replay)));
    };
    replay.add_withheld(&run);
    if matches!(replay.verdict(), Verdict::NotReplayable { .. }) {
        return Ok(Replayed::Judged(Box::new(replay)));
    }
    if let Some(environment) = run.document(RUN_ENVIRONMENT) {
        replay.gaps = parse_gaps(environment.root());
    }
    if let Some(output) = run.document(RUN_OUTPUT)
        && let Some(hash) = output
            .root()
            .get("outputs_hash")
            .and_then(|hash| hash.as_str())
    {
        replay.outputs_hash = hash.into_owned();
    }
    let recorded = run
        .document(MANIFEST)
        .is_some_and(|manifest| is_recorded(manifest.root()));
    if recorded {
        let options = RecordedOptions {
            folder: engine,
            ..options.clone()
        };
        let sandbox = || sandbox().map_err(|error| RunError::from(error).into());
        let replay = replay_recorded(&run, &options, sandbox, replay)?;
        return Ok(Replayed::Judged(Box::new(replay)));
    }
    let declared = run
        .document(MANIFEST)
        .is_some_and(|manifest| is_declared(manifest.root()));
    if declared {
        replay.rules[5].push(DESCRIBED_ITSELF.to_owned());
        return Ok(Replayed::Judged(Box::new(replay)));
    }
    let private = tempfile::Builder::new().prefix("runseal-engine-").tempdir();
    let private = private.map_err(work_error)?;
    let folder = match engine {
        Some(folder) => folder,
        None if !run.withholding().missing_contracts().is_empty() => {
            replay.rules[0].extend(run.withholding().missing_contracts());
            return Ok(Replayed::Judged(Box::new(replay)));
        }
        None if restore_engine(&run, private.path())? => private.path(),
        None => return Ok(Replayed::NeedsEngine),
    };
    let (report, checked) = check_engine(folder, Program::MustExist)?;
    let Some(engine) = checked else {
        return Ok(Replayed::BadEngine(report));
    };
    let options = ReplayOptions {
        times: options.times,
        policy,
        same_environment: options.same_environment,
        cancel: options.watching.cancel.as_ref(),
    };
    let sandbox = || sandbox().map_err(SealError::Sandbox);
    let replay = replay_engine(&run, &engine, options, sandbox, replay)?;
    Ok(Replayed::Judged(Box::new(replay)))
}
