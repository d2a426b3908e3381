//! `runseal replay`: repeats any kind of evidence and compares the result.

use std::path::{Path, PathBuf};

use runseal_core::canon::Dialect;
use runseal_core::formats::Format;
use runseal_core::formats::detect::Detected;
use runseal_core::formats::receipt::receipt_bytes;
use runseal_core::verify::{Level, Outcome};
use runseal_engine::directory::{DirectorySource, RootLink};
use runseal_engine::job::replay::replay_job_bundle;
use runseal_engine::job::verify::{VerifyOptions, verify_job_bundle_then};
use runseal_engine::models::StartReplay;
use runseal_engine::record::bundle::{Replayed, replay_bundle};
use runseal_engine::record::replay::RecordedOptions;
use runseal_engine::record::run::Watching;
use runseal_engine::record::unpack::{UnpackError, copy_privately, unpack_bundle};
use runseal_engine::run::replay::{Replay, Verdict};
use runseal_engine::run::replay_render::{render_human, render_json};
use runseal_engine::survey::{detect_path, name_several};
use runseal_report::{ComparedWith, Comparison, Difference, render_page};
use runseal_sandbox::CancelToken;

use super::engine::PolicyArgs;
use super::record_error::{Doing, record_error};
use super::record_variables::parse_variables;
use super::sandbox_level::SandboxArgs;
use super::{replay_intent, replay_pack};
use crate::error::CliError;
use crate::loaded::{load_path, with_exhibit};
use crate::places::bring_here;
use crate::signing::OpenTrust;
use crate::ui;
use crate::verdict;

/// Run it again and compare.
///
/// A run bundle, a job bundle and a pack need nothing else; a context bundle needs its intent.
///
/// REPRODUCED: it was executed again, and everything is as it was. RE-DERIVED: nothing was executed, but what follows from the
/// intent still does. DIVERGED: something differs.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal replay RUN_BUNDLE/run_1\n  runseal replay run_1.zip --times 3 --same-environment\n  \
                  runseal replay out/pack --intent intent.json"
)]
pub struct Args {
    /// What to replay: a path, or an artifact (`oci://host/name:tag`).
    path: PathBuf,
    /// A folder whose files have to be those that a run bundle was made with: the engine's, or the
    /// one of a recorded command. Needed where the bundle does not hold its engine.
    #[arg(long, value_name = "DIR")]
    engine: Option<PathBuf>,
    /// A file that a run bundle names and does not hold, or a folder of such files.
    #[arg(long, value_name = "PATH")]
    input: Vec<PathBuf>,
    /// A variable of yours that a recorded command had with `record --secret`, and whose value is not in the
    /// bundle. May be repeated.
    #[arg(long, value_name = "NAME")]
    secret: Vec<String>,
    /// Refuse where an interpreter or library is not the one of the run.
    #[arg(long)]
    same_environment: bool,
    /// The intent, for a context bundle or a pack: the bundle is derived from it again.
    #[arg(long, value_name = "FILE")]
    intent: Option<PathBuf>,
    /// The proposal, for a pack that does not hold the one that was executed.
    #[arg(long, value_name = "FILE")]
    proposal: Option<PathBuf>,
    /// How often to run the engine; several runs reveal what varies.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    times: u32,
    /// How to print.
    #[arg(long, default_value = "human", value_parser = ["human", "json"])]
    format: String,
    /// Also write the page about a run bundle, with what running it again gave.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    policy: PolicyArgs,
    #[cfg(feature = "net")]
    #[command(flatten)]
    fork: super::models::ForkArgs,
    #[command(flatten)]
    sandbox: SandboxArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    match bring_here(&args.path)? {
        Some((_folder, path)) => replay_here(&Args {
            path,
            ..args.clone()
        }),
        None => replay_here(args),
    }
}

fn replay_here(args: &Args) -> Result<Outcome, CliError> {
    let unknown = |message: String| {
        CliError::new(Outcome::Unreadable, "UNKNOWN_FORMAT", message)
            .at(args.path.display().to_string())
            .hint("name a run bundle, a job bundle, a pack or a context bundle")
    };
    #[cfg(feature = "net")]
    args.fork.check()?;
    #[cfg(feature = "net")]
    let start = |recording: &Path| args.fork.start(recording);
    #[cfg(feature = "net")]
    let models: Option<StartReplay<'_>> = Some(&start);
    #[cfg(not(feature = "net"))]
    let models: Option<StartReplay<'_>> = None;
    if !args.path.is_dir()
        && let Some(unpacked) =
            unpack_bundle(&args.path).map_err(|error| unpack_error(error, &args.path))?
    {
        return replay_run_bundle(args, unpacked.folder(), models);
    }
    let format = match detect_path(&args.path)? {
        Detected::Is(format) => format,
        Detected::Several(formats) => return Err(unknown(name_several(&formats))),
        Detected::Unknown => {
            let message = "it is none of the formats that can be replayed";
            return Err(unknown(message.to_owned()));
        }
    };
    match format {
        Format::RunBundle => replay_run_bundle(args, &args.path, models),
        Format::JobBundle => replay_job(&args.path),
        Format::Pack => {
            let sources = replay_pack::Sources {
                intent: args.intent.as_deref(),
                proposal: args.proposal.as_deref(),
                models,
            };
            replay_pack::replay_pack(&args.path, &sources, json(args))
        }
        Format::ContextBundle => {
            replay_intent::replay_bundle(&args.path, intent_of(args)?, json(args))
        }
        Format::Redacted => {
            let copy = copy_privately(&args.path)?;
            replay_run_bundle(args, copy.folder(), models)
        }
        other => {
            let message = format!("a {} is not replayed by this command", other.title());
            Err(CliError::usage(
                message,
                "`runseal replay --help` says what is",
            ))
        }
    }
}

fn json(args: &Args) -> bool {
    args.format == "json"
}

fn intent_of(args: &Args) -> Result<&Path, CliError> {
    let hint = "`--intent FILE` names the intent it was made of";
    let missing = || CliError::usage("it is replayed from its intent", hint);
    args.intent.as_deref().ok_or_else(missing)
}

fn replay_job(path: &Path) -> Result<Outcome, CliError> {
    let shown = path.display().to_string();
    // As `runseal verify` has it; `job replay` goes by the document alone.
    let options = VerifyOptions {
        level: Level::Integrity,
        ..VerifyOptions::default()
    };
    let (found, receipt) = verify_job_bundle_then(path, options, |bundle| {
        replay_job_bundle(bundle, None, None).and_then(|receipt| receipt_bytes(&receipt))
    });
    let Some(receipt) = receipt else {
        return super::job::verify::print_verification(&found, &shown);
    };
    let bytes = receipt.map_err(|error| CliError::no_form(&error, &shown))?;
    ui::print_bytes(&bytes)?;
    Ok(Outcome::Valid)
}

fn replay_run_bundle(
    args: &Args,
    folder: &Path,
    models: Option<StartReplay<'_>>,
) -> Result<Outcome, CliError> {
    let source = DirectorySource::open(folder, RootLink::Follow)?;
    let policy = args.policy.policy();
    let cancel = CancelToken::on_interrupt()
        .map_err(|error| CliError::internal(format!("signals cannot be caught: {error}")))?;
    let (limits, grows_to_sealed) = args.policy.recorded();
    let (_, secrets) = parse_variables(&[], &args.secret)?;
    let options = RecordedOptions {
        times: args.times,
        same_environment: args.same_environment,
        given: &args.input,
        folder: None,
        search: std::env::var_os("PATH"),
        limits,
        grows_to_sealed,
        secrets,
        watching: Watching {
            cancel: Some(cancel),
            ..Watching::default()
        },
        models,
    };
    let engine = args.engine.as_deref();
    let replayed = replay_bundle(&source, engine, &options, &policy, || args.sandbox.find());
    let replay = match replayed {
        Ok(Replayed::Judged(replay)) => replay,
        Ok(Replayed::BadEngine(report)) => {
            let shown = engine.map_or_else(|| args.path.display(), Path::display);
            return verdict::print_verdict(&report, &shown.to_string());
        }
        Ok(Replayed::NeedsEngine) => {
            let hint = "`--engine DIR` names the folder of the engine that made the run";
            return Err(CliError::usage(
                "the bundle does not hold its engine, so it is replayed with it",
                hint,
            ));
        }
        Ok(Replayed::OtherCopy) => {
            return Err(CliError::usage(
                "of redacted copies, those of run bundles are replayed",
                "`runseal verify` says what it withholds; whoever holds the whole can replay it",
            ));
        }
        Err(error) => return record_error(error, false, Doing::Replay),
    };
    if let Some(page) = &args.report {
        write_report(&args.path, page, &replay)?;
    }
    if args.format == "json" {
        ui::print_json(&render_json(&replay), Dialect::Kernel)?;
    } else {
        let shown = args.path.display().to_string();
        ui::print_bytes(render_human(&replay, &shown).as_bytes())?;
    }
    Ok(match replay.verdict() {
        Verdict::Reproduced => Outcome::Valid,
        Verdict::Diverged | Verdict::NotReplayable { .. } => Outcome::Invalid,
    })
}

/// Writes the page about what was replayed, with the new results beside the sealed ones.
fn write_report(path: &Path, page: &Path, replay: &Replay) -> Result<(), CliError> {
    let runs = replay.runs.iter().enumerate();
    let differences = runs.flat_map(|(at, run)| {
        let number = match replay.runs.len() {
            1 => String::new(),
            _ => format!("run {}: ", at + 1),
        };
        run.divergences.iter().map(move |found| {
            let pointer = found.pointer.as_deref().unwrap_or_default();
            let place = format!("{number}{} {pointer}", found.path);
            Difference {
                topic: "what came out",
                place: place.trim_end().to_owned(),
                before: Some(found.sealed.clone()),
                after: Some(found.now.clone()),
                lines: found.difference.clone(),
            }
        })
    });
    let faults = replay.rules.iter().flatten();
    let remarks = faults.chain(&replay.reasons).chain(&replay.not_compared);
    let comparison = Comparison {
        with: ComparedWith::Replay {
            verdict: replay.verdict_text(),
            is_reproduced: replay.verdict() == Verdict::Reproduced,
            remarks: remarks.chain(&replay.notes).cloned().collect(),
        },
        differences: differences.collect(),
    };
    let loaded = load_path(path, Level::Integrity)?;
    let trust = OpenTrust::default();
    let html = with_exhibit(&loaded, &trust, |exhibit| {
        render_page(exhibit, Some(&comparison))
    });
    super::report::write_page(page, &html).map(drop)
}

fn unpack_error(error: UnpackError, path: &Path) -> CliError {
    let message = error.to_string();
    match error {
        UnpackError::Read(error) => error.into(),
        UnpackError::Faults(findings) => {
            for finding in &findings {
                ui::tell(&verdict::finding_line(finding));
            }
            CliError::new(Outcome::Invalid, "ARCHIVE", message)
                .at(path.display().to_string())
                .hint("`runseal verify` says more")
        }
        UnpackError::NoBundle => CliError::new(Outcome::Unreadable, "UNKNOWN_FORMAT", message)
            .at(path.display().to_string())
            .hint("of archives, those with a run bundle are replayed; unpack others first"),
    }
}
