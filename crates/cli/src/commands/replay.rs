//! `runseal replay`: does it again and compares, whatever it is.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::formats::Format;
use runseal_core::formats::detect::Detected;
use runseal_core::formats::receipt::receipt_bytes;
use runseal_core::verify::{Outcome, one_line};
use runseal_engine::directory::{DirectorySource, RootLink};
use runseal_engine::job::replay::replay_job_bundle;
use runseal_engine::job::verify::{VerifyOptions, verify_job_bundle_then};
use runseal_engine::run::contracts::{Program, check_engine};
use runseal_engine::run::replay::{
    Comparison, REPLAY_RULES, Replay, ReplayOptions, Verdict, replay_run,
};
use runseal_engine::run::seal::SealError;
use runseal_engine::survey::{detect_path, name_several};
use runseal_sandbox::{Sandbox, SandboxError};

use super::engine::PolicyArgs;
use super::seal::seal_error;
use super::{replay_intent, replay_pack};
use crate::error::CliError;
use crate::ui;
use crate::verdict;

/// Do it again and compare: a run bundle with its engine, a job bundle and a pack by themselves, a
/// context bundle with its intent.
///
/// REPRODUCED: it was executed again, and everything is as it was. RE-DERIVED: nothing was executed, but what follows from the
/// intent still does. DIVERGED: something is other than it was.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal replay RUN_BUNDLE/run_1 --engine examples/engines/resonance-sweep --times 3\n  \
                  runseal replay out/pack --intent intent.json"
)]
pub struct Args {
    /// What to replay.
    path: PathBuf,
    /// The engine's folder, for a run bundle.
    #[arg(long, value_name = "DIR")]
    engine: Option<PathBuf>,
    /// The intent, for a context bundle or a pack: the bundle is derived from it again.
    #[arg(long, value_name = "FILE")]
    intent: Option<PathBuf>,
    /// The proposal, for a pack that does not hold the one that was executed.
    #[arg(long, value_name = "FILE")]
    proposal: Option<PathBuf>,
    /// How often to run the engine; more often shows what is left to chance.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    times: u32,
    /// How to print.
    #[arg(long, default_value = "human", value_parser = ["human", "json"])]
    format: String,
    #[command(flatten)]
    policy: PolicyArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let unknown = |message: String| {
        CliError::new(Outcome::Unreadable, "UNKNOWN_FORMAT", message)
            .at(args.path.display().to_string())
            .hint("name a run bundle, a job bundle, a pack or a context bundle")
    };
    let format = match detect_path(&args.path)? {
        Detected::Is(format) => format,
        Detected::Several(formats) => return Err(unknown(name_several(&formats))),
        Detected::Unknown => {
            let message = "it is none of the formats that can be replayed";
            return Err(unknown(message.to_owned()));
        }
    };
    match format {
        Format::RunBundle => replay_run_bundle(args),
        Format::JobBundle => replay_job(&args.path),
        Format::Pack => {
            let sources = replay_pack::Sources {
                intent: args.intent.as_deref(),
                proposal: args.proposal.as_deref(),
            };
            replay_pack::replay_pack(&args.path, &sources, json(args))
        }
        Format::ContextBundle => {
            replay_intent::replay_bundle(&args.path, intent_of(args)?, json(args))
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
    let (found, receipt) = verify_job_bundle_then(path, VerifyOptions::default(), |bundle| {
        replay_job_bundle(bundle, None, None).and_then(|receipt| receipt_bytes(&receipt))
    });
    let Some(receipt) = receipt else {
        return super::job::verify::print_verification(&found, &shown);
    };
    let bytes = receipt.map_err(|error| CliError::no_form(&error, &shown))?;
    ui::print_bytes(&bytes)?;
    Ok(Outcome::Valid)
}

fn replay_run_bundle(args: &Args) -> Result<Outcome, CliError> {
    let Some(folder) = &args.engine else {
        let hint = "`--engine DIR` names the folder of the engine that made the run";
        return Err(CliError::usage(
            "a run bundle is replayed with its engine",
            hint,
        ));
    };
    let source = DirectorySource::open(&args.path, RootLink::Follow)?;
    let (report, engine) = check_engine(folder, Program::MustExist)?;
    let Some(engine) = engine else {
        return verdict::print_verdict(&report, &folder.display().to_string());
    };
    let policy = args.policy.policy();
    let options = ReplayOptions {
        times: args.times,
        policy: &policy,
    };
    let sandbox = || {
        let sandbox = Sandbox::with_isolation();
        sandbox.map_err(|missing| SealError::Sandbox(SandboxError::Missing(missing)))
    };
    let replay = replay_run(&source, &engine, options, sandbox).map_err(seal_error)?;
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

fn render_json(replay: &Replay) -> Value {
    let verdict = replay.verdict();
    let rules = REPLAY_RULES.iter().zip(&replay.rules).enumerate();
    let rules = rules.map(|(at, (title, faults))| {
        let mut rule = Value::object([("rule", at + 1)]);
        rule.insert("title", *title);
        rule.insert("ok", faults.is_empty());
        rule.insert(
            "violations",
            Value::array(faults.iter().map(String::as_str)),
        );
        rule
    });
    let runs = replay.runs.iter().map(|run| {
        let divergences = run.divergences.iter().map(|divergence| {
            let mut one = Value::object([
                ("path", divergence.path.as_str()),
                ("sealed", divergence.sealed.as_str()),
                ("now", divergence.now.as_str()),
            ]);
            if let Some(pointer) = &divergence.pointer {
                one.insert("pointer", pointer.as_str());
            }
            one
        });
        let mut one = Value::object([("divergences", Value::array(divergences))]);
        one.insert("same_artifacts", run.same_artifacts);
        one
    });
    let mut printed = Value::object([("verdict", verdict.name())]);
    printed.insert("ok", verdict == Verdict::Reproduced);
    if let Verdict::NotReplayable { rule } = verdict {
        printed.insert("rule", rule);
    }
    printed.insert("rules", Value::array(rules));
    printed.insert("runs", Value::array(runs));
    printed
}

fn render_human(replay: &Replay, shown: &str) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = match replay.verdict() {
        Verdict::NotReplayable { rule } => {
            writeln!(
                text,
                "{shown}: NOT REPLAYABLE: replay rule {rule} does not hold"
            )
        }
        verdict => writeln!(text, "{shown}: {}", verdict.name()),
    };
    for (at, (title, faults)) in REPLAY_RULES.iter().zip(&replay.rules).enumerate() {
        let state = if faults.is_empty() {
            "holds"
        } else {
            "DOES NOT HOLD"
        };
        let _ = writeln!(text, "  rule {} {state}: {title}", at + 1);
        for fault in faults {
            let _ = writeln!(text, "    {}", one_line(fault));
        }
    }
    for (at, run) in replay.runs.iter().enumerate() {
        render_run(&mut text, at, replay.runs.len(), run, &replay.outputs_hash);
    }
    text
}

fn render_run(text: &mut String, at: usize, of: usize, run: &Comparison, outputs_hash: &str) {
    let number = if of > 1 {
        format!("run {} of {of}: ", at + 1)
    } else {
        String::new()
    };
    let artifacts = run.same_artifacts;
    let _ = match run.divergences.first() {
        None => writeln!(
            text,
            "  {number}the same output (outputs_hash {outputs_hash}) and {artifacts} same artifacts"
        ),
        Some(first) => {
            let place = first.pointer.as_deref().unwrap_or_default();
            writeln!(text, "  {number}first divergence: {} {place}", first.path)
        }
    };
    for divergence in &run.divergences {
        let pointer = divergence.pointer.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "    {} {pointer}: sealed {}, now {}",
            divergence.path,
            one_line(&divergence.sealed),
            one_line(&divergence.now)
        );
    }
}
