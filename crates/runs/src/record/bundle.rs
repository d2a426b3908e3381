//! Replays any run bundle: a recorded command or an engine's run, with a given engine or from the
//! bundle alone.

use std::path::Path;

use runseal_core::formats::Format;
use runseal_core::formats::definition::Judgement;
use runseal_core::formats::run_bundle::layout::{RUN_ENVIRONMENT, RUN_OUTPUT};
use runseal_core::formats::run_bundle::reading::RunKind;
use runseal_core::formats::run_bundle::recorded::parse_gaps;
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::Report;
use runseal_sandbox::{Limits, Sandbox, SandboxError};
use runseal_survey::load::Judged;
use runseal_survey::{Keep, RememberingSource};

use super::error::{RecordError, work_error};
use super::extract::{ExtractError, Extracted, Wanted, extract};
use super::replay::{RecordedOptions, replay_recorded};
use super::run::RunError;
use crate::run::contracts::{Program, check_engine};
use crate::run::engine_files::restore_engine;
use crate::run::replay::{Replay, ReplayOptions, Verdict, replay_engine};
use crate::run::seal::SealError;
use crate::run::verify::{VerifiedRun, judge_redacted_run, judge_run};
use crate::run::withheld::is_redacted;
use runseal_fs::private::PrivateFolder;

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

/// A run bundle, or a redacted copy, that was judged. It is replayed if it is valid.
pub struct JudgedBundle<'a> {
    report: Report,
    run: Option<VerifiedRun<'a>>,
    is_redacted: bool,
}

impl<'a> JudgedBundle<'a> {
    /// Judges what is in `source`. Nobody else may write to a redacted copy until it was replayed.
    ///
    /// # Errors
    /// When something of it cannot be read.
    pub fn judge(source: &'a dyn Source) -> Result<Self, SourceError> {
        Self::judge_through(source, source).map(|(judged, _)| judged)
    }

    /// The same, with what is shown of it under `path`: the bytes that were judged.
    ///
    /// # Errors
    /// When something of it cannot be read.
    pub fn judge_to_show(
        source: &'a dyn Source,
        path: &str,
    ) -> Result<(Self, Judged), SourceError> {
        let remembering = RememberingSource::new(source, Format::RunBundle, Keep::Everything);
        let (judged, judgement) = Self::judge_through(source, &remembering)?;
        let mut content = remembering.into_content()?;
        if judged.is_redacted {
            content.format = Format::Redacted;
        }
        Ok((judged, Judged::new(path, judgement, content)))
    }

    fn judge_through(
        source: &'a dyn Source,
        read: &dyn Source,
    ) -> Result<(Self, Judgement), SourceError> {
        let is_redacted = is_redacted(read)?;
        let (judgement, run) = match is_redacted {
            true => judge_redacted_run(source, read)?,
            false => judge_run(source, read)?,
        };
        let judged = Self {
            report: judgement.report.clone(),
            run,
            is_redacted,
        };
        Ok((judged, judgement))
    }
}

/// What came of giving files back.
#[derive(Debug)]
pub enum ExtractedBundle {
    /// They are there.
    Files(Extracted),
    /// The bundle is not valid.
    Invalid(Report),
    /// It is a redacted copy of something other than a run bundle.
    OtherCopy,
}

/// Gives files of a bundle back, into the new folder `target`.
///
/// # Errors
/// [`ExtractError`]; nothing is left behind.
pub fn extract_bundle(
    judged: JudgedBundle<'_>,
    wanted: Wanted,
    target: &Path,
) -> Result<ExtractedBundle, ExtractError> {
    match judged.run {
        Some(run) if judged.report.is_valid() => {
            extract(&run, wanted, target).map(ExtractedBundle::Files)
        }
        None if judged.report.is_valid() => Ok(ExtractedBundle::OtherCopy),
        _ => Ok(ExtractedBundle::Invalid(judged.report)),
    }
}

/// Replays a run bundle, or a redacted copy of one. The sandbox is set up only once everything else is
/// valid.
///
/// # Errors
/// [`RecordError`] if there is no verdict.
pub fn replay_bundle(
    judged: JudgedBundle<'_>,
    engine: Option<&Path>,
    options: &RecordedOptions<'_>,
    policy: &Limits,
    sandbox: impl FnOnce() -> Result<Sandbox, SandboxError>,
) -> Result<Replayed, RecordError> {
    let JudgedBundle {
        report,
        run,
        is_redacted,
    } = judged;
    if is_redacted && report.is_valid() && run.is_none() {
        return Ok(Replayed::OtherCopy);
    }
    let mut replay = match is_redacted {
        true => Replay::begin_redacted(&report),
        false => Replay::begin(&report),
    };
    let Some(run) = run else {
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
    let kind = run.read(|run| run.kind());
    replay.unused_files = run.unused_files();
    if kind == RunKind::Recorded {
        let options = RecordedOptions {
            folder: engine,
            ..options.clone()
        };
        let sandbox = || sandbox().map_err(|error| RunError::from(error).into());
        let replay = replay_recorded(&run, &options, sandbox, replay)?;
        return Ok(Replayed::Judged(Box::new(replay)));
    }
    if kind == RunKind::Declared {
        replay.rules[5].push(DESCRIBED_ITSELF.to_owned());
        return Ok(Replayed::Judged(Box::new(replay)));
    }
    if options.is_fork {
        return Err(RecordError::AskedNoModels);
    }
    if !options.given.is_empty() {
        return Err(RecordError::NamesNoFiles);
    }
    if !options.compare.is_empty() {
        return Err(RecordError::ComparesExactly);
    }
    if !options.devices.is_empty() {
        return Err(RecordError::UsesNoDevices);
    }
    let private = PrivateFolder::create("engine").map_err(work_error)?;
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
