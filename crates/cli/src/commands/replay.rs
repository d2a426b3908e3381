//! `runseal replay`: repeats any kind of evidence and compares the result.

use std::path::{Path, PathBuf};
use std::time::Duration;

use runseal_core::canon::{Dialect, canonical_bytes};
use runseal_core::formats::Format;
use runseal_core::formats::detect::Detected;
use runseal_core::verify::Outcome;
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::models::StartReplay;
use runseal_fs::survey::{detect_path, name_several};
use runseal_report::{ComparedWith, Comparison, Difference, render_page};
use runseal_runs::record::bundle::{JudgedBundle, Replayed, replay_bundle};
use runseal_runs::record::new_files::NewFiles;
use runseal_runs::record::replay::RecordedOptions;
use runseal_runs::record::rules::Origin;
use runseal_runs::record::run::{Watching, replay_policy};
use runseal_runs::record::unpack::{UnpackError, copy_privately, unpack_bundle};
use runseal_runs::run::command;
use runseal_runs::run::replay::{Replay, Verdict};
use runseal_runs::run::replay_render::{render_human, render_json};
use runseal_sandbox::{CancelToken, Limits};
use runseal_survey::load::{ContainingArchive, Judged};

use super::record::parse_rules;
use super::record_error::{Doing, record_error};
use super::record_variables::parse_variables;
use super::record_world::{BoundArgs, parse_devices};
use super::replay_refused::Refused;
use super::sandbox_level::SandboxArgs;
use super::{replay_intent, replay_job, replay_pack};
use crate::error::CliError;
use crate::inside::refuse_inside;
use crate::loaded::with_exhibit;
use crate::places::bring_here;
use crate::signing::OpenTrust;
use crate::ui;
use crate::verdict;

/// Run it again and compare.
///
/// A run bundle, a job bundle and a pack need nothing else; a context bundle needs its intent.
///
/// REPRODUCED: it was executed again, and everything is as it was; for a job bundle, every step was read
/// again. RE-DERIVED: nothing was executed, but what follows from the intent still does. DIVERGED: something
/// differs. FORKED: models were asked again from some call on, so nothing was reproduced. NOT REPLAYABLE: it
/// is not valid, or something is missing.
///
/// An option that does not fit what is replayed is refused.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal replay RUN_BUNDLE/run_1\n  runseal replay run_1.zip --times 3 --same-environment\n  \
                  runseal replay out/pack --intent intent.json"
)]
pub struct Args {
    /// What to replay: a path, or an artifact (`oci://host/name:tag`).
    path: PathBuf,
    /// For a run bundle: a folder whose files must be those that it was made with, the engine's or that of a
    /// recorded command. Needed if the bundle does not contain its engine.
    #[arg(long, value_name = "DIR")]
    engine: Option<PathBuf>,
    /// For a recorded run: a file that its bundle names but does not contain, or a folder of such files.
    #[arg(long, value_name = "PATH")]
    input: Vec<PathBuf>,
    /// For a recorded run: a variable of yours that its command had with `record --secret`, and whose value
    /// is not in the bundle. May be repeated.
    #[arg(long, value_name = "NAME")]
    secret: Vec<String>,
    /// For a recorded run: how files that the command writes, or `stdout` or `stderr`, are compared: `exact`,
    /// `rel:X`, `abs:X`, `drop:REGEX` or `skip`. Comes after the rules that are sealed in the bundle, and is named
    /// in the verdict. May be repeated.
    #[arg(long, value_name = "GLOB=RULE")]
    compare: Vec<String>,
    /// For a run bundle: refuse if an interpreter or library is not the one of the run.
    #[arg(long)]
    same_environment: bool,
    /// For a context bundle or a pack: the intent, from which the bundle is derived again.
    #[arg(long, value_name = "FILE")]
    intent: Option<PathBuf>,
    /// For a pack that does not contain the proposal that was executed: that proposal.
    #[arg(long, value_name = "FILE")]
    proposal: Option<PathBuf>,
    /// For a run bundle: how often to run it; several runs reveal what varies.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    times: u32,
    /// How to print.
    #[arg(long, default_value = "human", value_parser = ["human", "json"])]
    format: String,
    /// For a recorded run: a device below /dev, or a folder of them, that the command may use. A bundle says which its
    /// command had; without this option none is shown. May be repeated.
    #[arg(long, value_name = "PATH")]
    device: Vec<PathBuf>,
    /// For a recorded run: keep what the command leaves and prints now in this new folder, with the answer as
    /// replay.json. With --times, of the first run that differs.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// For a run bundle: also write the page about it, with the result of the replay.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// For a run bundle: the seconds that each run may take; by default an hour for a recorded command, and a minute
    /// for an engine, whose manifest can only ask for less.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=604800))]
    timeout: Option<u32>,
    #[command(flatten)]
    bounds: BoundArgs,
    #[cfg(feature = "net")]
    #[command(flatten)]
    fork: super::models::ForkArgs,
    #[command(flatten)]
    sandbox: SandboxArgs,
}

impl Args {
    /// These limits with what was given.
    fn limits(&self, limits: Limits) -> Limits {
        let given = self.timeout.map(|it| Duration::from_secs(it.into()));
        self.bounds.limits(Limits {
            wall_time: given.unwrap_or(limits.wall_time),
            ..limits
        })
    }
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
        && let Some(mut unpacked) =
            unpack_bundle(&args.path).map_err(|error| unpack_error(error, &args.path))?
    {
        check_options(args, Format::RunBundle)?;
        let wrapping = unpacked.take_wrapping();
        return replay_run_bundle(args, (unpacked.folder(), wrapping), models);
    }
    let format = match detect_path(&args.path)? {
        Detected::Is(format) => format,
        Detected::Several(formats) => return Err(unknown(name_several(&formats))),
        Detected::Unknown => {
            let message = "its format cannot be replayed";
            return Err(unknown(message.to_owned()));
        }
    };
    check_options(args, format)?;
    match format {
        Format::RunBundle => replay_run_bundle(args, (&args.path, None), models),
        Format::JobBundle => replay_job::replay_job(&args.path, json(args)),
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
            replay_run_bundle(args, (copy.folder(), None), models)
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

/// Refuses options that do not fit what is replayed: whoever gives one relies on its effect.
fn check_options(args: &Args, replayed: Format) -> Result<(), CliError> {
    let [memory, disk, files, processes] = args.bounds.given();
    let of_run = [
        ("--engine", args.engine.is_some()),
        ("--input", !args.input.is_empty()),
        ("--compare", !args.compare.is_empty()),
        ("--device", !args.device.is_empty()),
        ("--out", args.out.is_some()),
        ("--same-environment", args.same_environment),
        ("--times", args.times != 1),
        ("--report", args.report.is_some()),
        ("--timeout", args.timeout.is_some()),
        memory,
        disk,
        files,
        processes,
        ("--sandbox", !args.sandbox.is_default()),
        #[cfg(feature = "net")]
        ("--fork-at", args.fork.is_given()),
    ];
    let of_run = of_run.map(|(name, is_given)| (name, is_given, "run bundles"));
    let of_intent = (
        "--intent",
        args.intent.is_some(),
        "context bundles and packs",
    );
    let of_pack = ("--proposal", args.proposal.is_some(), "packs");
    let wrong: Vec<_> = match replayed {
        Format::RunBundle | Format::Redacted => vec![of_intent, of_pack],
        Format::JobBundle => of_run.into_iter().chain([of_intent, of_pack]).collect(),
        Format::ContextBundle => of_run.into_iter().chain([of_pack]).collect(),
        Format::Pack => of_run.to_vec(),
        // Not replayed at all, which is reported next.
        _ => Vec::new(),
    };
    match wrong.into_iter().find(|(_, is_given, _)| *is_given) {
        None => Ok(()),
        Some((name, _, of)) => Err(CliError::usage(
            format!("`{name}` is for {of}, and this is a {}", replayed.title()),
            "leave it out; `runseal replay --help` says what each option is for",
        )),
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

/// Replays the run bundle in `folder`, which may have been in an archive.
fn replay_run_bundle(
    args: &Args,
    (folder, wrapping): (&Path, Option<ContainingArchive>),
    models: Option<StartReplay<'_>>,
) -> Result<Outcome, CliError> {
    let shown = args.path.display().to_string();
    let source = DirectorySource::open(folder, RootLink::Follow)?;
    // The page is about the bytes that are judged here, not about what is there after the command ran.
    let (judged, loaded) = match args.report {
        None => (JudgedBundle::judge(&source)?, None),
        Some(_) => {
            let (judged, loaded) = JudgedBundle::judge_to_show(&source, &shown)?;
            let loaded = match wrapping {
                Some(wrapping) => loaded.in_archive(wrapping),
                None => loaded,
            };
            (judged, Some(loaded))
        }
    };
    let policy = args.limits(command::policy());
    let cancel = CancelToken::on_interrupt()
        .map_err(|error| CliError::internal(format!("signals cannot be caught: {error}")))?;
    let (_, secrets) = parse_variables(&[], &args.secret)?;
    let compare = parse_rules(&args.compare, Origin::Replay)?;
    let new_files = match &args.out {
        Some(out) => {
            refuse_inside(out)?;
            Some(NewFiles::at(out)?)
        }
        None => None,
    };
    let devices = parse_devices(&args.device)?;
    let options = RecordedOptions {
        compare,
        new_files: new_files.as_ref(),
        times: args.times,
        same_environment: args.same_environment,
        given: &args.input,
        devices: &devices,
        folder: None,
        search: std::env::var_os("PATH"),
        limits: args.limits(replay_policy()),
        secrets,
        watching: Watching {
            cancel: Some(cancel),
            ..Watching::default()
        },
        models,
        #[cfg(feature = "net")]
        is_fork: args.fork.is_given(),
        #[cfg(not(feature = "net"))]
        is_fork: false,
    };
    let engine = args.engine.as_deref();
    let replayed = replay_bundle(judged, engine, &options, &policy, || args.sandbox.find());
    let replay = match replayed {
        Ok(Replayed::Judged(replay)) => replay,
        Ok(Replayed::BadEngine(report)) => {
            let shown = engine.map_or_else(|| args.path.display(), Path::display);
            let refused = Refused {
                report: &report,
                wrapping: &[],
                check: None,
            };
            refused.print(&shown.to_string(), json(args))?;
            return Ok(Outcome::Invalid);
        }
        Ok(Replayed::NeedsEngine) => {
            let hint = "`--engine DIR` names the folder of the engine that made the run";
            return Err(CliError::usage(
                "the bundle does not contain its engine, which the replay needs",
                hint,
            ));
        }
        Ok(Replayed::OtherCopy) => {
            return Err(CliError::usage(
                "of redacted copies, only those of run bundles can be replayed",
                "`runseal verify` says what it withholds; whoever has the original can replay it",
            ));
        }
        Err(error) => return record_error(error, false, Doing::Replay),
    };
    if let (Some(page), Some(loaded)) = (&args.report, &loaded) {
        write_report(loaded, page, &replay)?;
    }
    if let (Some(new_files), Some(out)) = (new_files, &args.out) {
        let answer = canonical_bytes(&render_json(&replay), Dialect::Kernel);
        let answer = answer.map_err(|error| CliError::internal(error.to_string()))?;
        if !new_files.publish("replay.json", &answer)? {
            ui::note(&format!(
                "nothing was run, so `{}` was not made",
                out.display()
            ));
        }
    }
    if args.format == "json" {
        ui::print_json(&render_json(&replay), Dialect::Kernel)?;
    } else {
        ui::print_text(&render_human(&replay, &shown))?;
    }
    Ok(match replay.verdict() {
        Verdict::Reproduced => Outcome::Valid,
        Verdict::Diverged | Verdict::Forked | Verdict::NotReplayable { .. } => Outcome::Invalid,
    })
}

/// Writes the page about what was replayed, with the new results next to the sealed ones.
fn write_report(loaded: &Judged, page: &Path, replay: &Replay) -> Result<(), CliError> {
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
    let trust = OpenTrust::default();
    let html = with_exhibit(loaded, &trust, |exhibit| {
        render_page(exhibit, Some(&comparison))
    });
    super::report::write_page(page, &html).map(drop)
}

pub(super) fn unpack_error(error: UnpackError, path: &Path) -> CliError {
    if let UnpackError::Faults(findings) = &error {
        for finding in findings {
            ui::tell(&verdict::finding_line(finding));
        }
    }
    CliError::within(error, path.display())
}
