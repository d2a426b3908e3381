//! `runseal run`: the whole harness, from intent to pack.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use runseal_core::canon::{Dialect, Value};
use runseal_core::formats::policy::{Policy, Profile};
use runseal_core::formats::run_bundle::layout::RunId;
use runseal_core::verify::{Outcome, one_line};
use runseal_harness::{
    Finished, Mode, ModelMode, Options, StepEnding, StepSummary, read_policy, run_intent,
};
use runseal_sandbox::Isolation;

use super::log::{LogPlace, append_target};
use super::redact::RedactableArgs;
use crate::clock;
use crate::error::CliError;
use crate::ui;

/// Run an intent: propose, execute in the sandbox, decide, export.
///
/// Prints the result, and the content of run.json if standard output is not a terminal. Exit 0: accepted.
/// Exit 1: not accepted. Exit 2: no result.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runseal run intent.json
  runseal run intent.json --mode execute-sandbox --policy default --pack out/pack
  runseal run intent.json --mode execute-sandbox --allow python3 --allow make
  runseal run intent.json --mode execute-sandbox --policy policy.toml --format json
  runseal run intent.json --mode execute-sandbox --policy dev --proxy --pack out/pack
  runseal run intent.json --mode execute-sandbox --policy dev --model-mode replay \\
      --model-io model_io.json --pack out/pack")]
pub struct Args {
    /// The intent's file; `-` means standard input.
    intent: PathBuf,
    /// How far to go.
    #[arg(long, value_enum, default_value_t = ModeArg::PlanOnly)]
    mode: ModeArg,
    /// What the run may do: strict, default, dev, or a file (TOML or JSON) that changes one of them.
    #[arg(long, value_name = "NAME|FILE", default_value = "default")]
    policy: PathBuf,
    /// Let commands start this program too, if the policy lists programs. May be repeated.
    #[arg(long, value_name = "PROGRAM")]
    allow: Vec<String>,
    /// With execute-sandbox: execute this proposal, made elsewhere, after verifying it against the bundle.
    #[arg(long, value_name = "FILE")]
    proposal: Option<PathBuf>,
    /// With execute-sandbox: agree to a proposal that needs a person's approval; recorded in the decision.
    #[arg(long)]
    approve: bool,
    /// Write the pack to this folder, which must not exist or be empty.
    #[arg(long, value_name = "DIR")]
    pack: Option<PathBuf>,
    /// Append the run to this ledger.
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Append the pack to this transparency log, by its digests, and its line in the ledger
    /// (docs/log.md).
    #[arg(long, value_name = "LOG", requires = "pack")]
    log: Option<LogPlace>,
    #[command(flatten)]
    redactable: RedactableArgs,
    /// The run's id, if two runs should have the same.
    #[arg(long, value_name = "ID", value_parser = RunId::parse)]
    run_id: Option<RunId>,
    /// How commands are isolated. `none` runs them with your own rights, and is recorded.
    #[arg(long, value_enum, default_value_t = SandboxArg::Full)]
    sandbox: SandboxArg,
    /// Where model calls of commands go.
    #[arg(long, value_enum, default_value_t = ModelArg::None)]
    model_mode: ModelArg,
    /// With a model mode or --proxy: the recording, written with `record` and --proxy, read with `replay`.
    #[arg(long, value_name = "FILE")]
    model_io: Option<PathBuf>,
    /// With `record`: the command that reads a prompt on standard input and writes the answer.
    #[arg(long, value_name = "COMMAND")]
    model_cmd: Option<String>,
    #[cfg(feature = "net")]
    #[command(flatten)]
    models: super::models::ModelArgs,
    /// How to print; by default `human` on a terminal and `json` elsewhere.
    #[arg(long, value_enum)]
    format: Option<FormatArg>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeArg {
    PlanOnly,
    ExecuteSandbox,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SandboxArg {
    Full,
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModelArg {
    None,
    Record,
    Replay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    Human,
    Json,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let options = options_of(args)?;
    if let Some(log) = &args.log {
        // Report a log that cannot be opened before anything runs.
        log.open()?;
    }
    let finished = run_intent(&options)?;
    for note in &finished.notes {
        ui::note(note);
    }
    if let Some(seed) = &finished.seed {
        ui::note(&format!(
            "the seed of the pack, for you alone: {}",
            seed.display()
        ));
    }
    if let (Some(log), Some(pack)) = (&args.log, &args.pack) {
        let run_id = finished.run.get("run_id").and_then(Value::as_str);
        let ledger = args.ledger.as_deref().zip(run_id);
        // The line states digests of the intent and the bundle, and its own digest is over them: with
        // it in a log, what a copy of the pack withholds could be guessed.
        let ledger = ledger.filter(|_| options.redactable.is_none());
        append_target(log, (pack, None), ledger)?;
    }
    let on_terminal = if std::io::stdout().is_terminal() {
        FormatArg::Human
    } else {
        FormatArg::Json
    };
    match args.format.unwrap_or(on_terminal) {
        FormatArg::Human => ui::print_text(&render_human(&finished, &options))?,
        FormatArg::Json => {
            ui::print_document(&finished.run, Dialect::Kernel)?;
            for step in &finished.steps {
                tell_failure(step);
            }
        }
    }
    if finished.accepted {
        Ok(Outcome::Valid)
    } else {
        Ok(Outcome::Invalid)
    }
}

fn options_of(args: &Args) -> Result<Options, CliError> {
    let policy = find_policy(&args.policy, &args.allow)?;
    #[cfg(feature = "net")]
    let models = args.models.start(&policy.allowed_models)?;
    #[cfg(not(feature = "net"))]
    let models = None;
    let model = match (args.model_mode, &args.model_cmd) {
        (ModelArg::None, None) if models.is_some() => ModelMode::Proxy,
        _ if models.is_some() => {
            return Err(CliError::usage(
                "--proxy records what commands ask over HTTP, so --model-mode is left out",
                "leave out --model-mode and --model-cmd, or --proxy",
            ));
        }
        (ModelArg::None, None) => ModelMode::None,
        (ModelArg::Replay, None) => ModelMode::Replay,
        (ModelArg::Record, Some(command)) => ModelMode::Record {
            command: command.clone(),
        },
        (ModelArg::Record, None) => {
            return Err(CliError::usage(
                "--model-mode record needs --model-cmd",
                "name the command that answers prompts",
            ));
        }
        (_, Some(_)) => {
            return Err(CliError::usage(
                "--model-cmd goes with --model-mode record",
                "leave it out, or record",
            ));
        }
    };
    check_used(args, &policy, &model)?;
    Ok(Options {
        intent: args.intent.clone(),
        mode: match args.mode {
            ModeArg::PlanOnly => Mode::PlanOnly,
            ModeArg::ExecuteSandbox => Mode::ExecuteSandbox,
        },
        policy,
        proposal: args.proposal.clone(),
        approve: args.approve,
        pack: args.pack.clone(),
        ledger: args.ledger.clone(),
        run_id: args.run_id.clone(),
        epoch: clock::fixed_seconds()?,
        isolation: match args.sandbox {
            SandboxArg::Full => Isolation::Full,
            SandboxArg::None => Isolation::None,
        },
        model,
        model_io: args.model_io.clone(),
        redactable: match (args.redactable.open()?, &args.pack) {
            (Some(_), None) => {
                return Err(CliError::usage(
                    "--redactable is for a pack",
                    "--pack DIR says where it goes",
                ));
            }
            (redactable, _) => redactable,
        },
        program_path: std::env::var_os("PATH"),
        models,
    })
}

/// Refuses options that would have no effect: whoever gives one relies on it.
fn check_used(args: &Args, policy: &Policy, model: &ModelMode) -> Result<(), CliError> {
    if args.model_io.is_some() && *model == ModelMode::None {
        return Err(CliError::usage(
            "--model-io goes with --model-mode or --proxy",
            "say with --model-mode whether models are recorded or replayed, or leave it out",
        ));
    }
    if matches!(args.mode, ModeArg::ExecuteSandbox) {
        return Ok(());
    }
    // What the policy forbids is reported as that (PL4).
    let asks_models = *model != ModelMode::None
        && (args.model_io.is_some() || *model == ModelMode::Proxy)
        && policy
            .allowed_model_modes
            .iter()
            .any(|mode| mode == model.name());
    let unused = [
        (args.proposal.is_some(), "--proposal"),
        (args.approve, "--approve"),
        (asks_models, "a model mode"),
    ];
    match unused.into_iter().find(|(is_given, _)| *is_given) {
        None => Ok(()),
        Some((_, option)) => Err(CliError::usage(
            format!("nothing is executed with --mode plan-only, so {option} has no use"),
            "`--mode execute-sandbox` executes the proposal",
        )),
    }
}

/// The policy with this name or in this file, plus the programs given with `--allow`.
fn find_policy(name: &Path, allow: &[String]) -> Result<Policy, CliError> {
    let profile = name.to_str().and_then(Profile::named);
    let mut policy = match profile {
        Some(profile) => profile.to_policy(),
        None => read_policy(name).map_err(|error| {
            CliError::from(error)
                .hint("strict, default and dev are built in; docs/harness.md shows a policy file")
        })?,
    };
    for program in allow {
        policy.allow_program(program).map_err(|fault| {
            CliError::usage(
                format!("--allow: {fault}"),
                "name a program as it is found on PATH, such as python3",
            )
        })?;
    }
    Ok(policy)
}

/// Shows the last output of a command that failed.
fn tell_failure(step: &StepSummary) {
    if step.ending != StepEnding::Failed || step.stderr_tail.is_empty() {
        return;
    }
    let mut text = format!("{} wrote to standard error:\n", one_line(&step.title));
    indent(&mut text, &step.stderr_tail);
    ui::tell(&text);
}

fn indent(text: &mut String, lines: &str) {
    for line in lines.lines() {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "    | {}", one_line(line));
    }
}

/// The result of the run, for people.
fn render_human(finished: &Finished, options: &Options) -> String {
    let member = |names: &[&str]| {
        let mut value = Some(&finished.run);
        for name in names {
            value = value.and_then(|value| value.get(name));
        }
        value
    };
    let text_of = |names: &[&str]| member(names).and_then(Value::as_str).unwrap_or_default();
    let decision = match (finished.accepted, text_of(&["kernel_result_kind"])) {
        (true, _) => "ACCEPTED",
        (false, "CLARIFY") => "QUESTIONS ARE OPEN",
        (false, "REFUSE") => "REFUSED",
        (false, _) => "NOT ACCEPTED",
    };
    let shown = options.intent.display();
    let mut text = format!("{shown}: {decision} ({})\n", text_of(&["run_id"]));
    for step in &finished.steps {
        let ending = match (step.ending, step.is_required) {
            (StepEnding::Succeeded, _) => "ok",
            (StepEnding::Failed, true) => "FAILED",
            (StepEnding::Failed, false) => "failed, optional",
            (StepEnding::Skipped, _) => "skipped",
        };
        let detail = step.detail.as_deref().map(|detail| format!(": {detail}"));
        let line = format!("{}{}", step.title, detail.unwrap_or_default());
        let _ = writeln!(text, "  {ending:<8} {}", one_line(&line));
        indent(&mut text, &step.stderr_tail);
    }
    if let Some(Value::Array(outputs)) = member(&["execution", "outputs"]) {
        let bytes = member(&["execution", "total_output_bytes"]);
        let bytes = bytes.map(|bytes| runseal_core::canon::canonical_text(bytes, Dialect::Kernel));
        let bytes = bytes.and_then(Result::ok).unwrap_or_default();
        let _ = writeln!(text, "  files    {}, {bytes} bytes", outputs.len());
    }
    for name in ["clarify_questions", "refuse_reason"] {
        match member(&[name]) {
            Some(Value::Array(questions)) => {
                for question in questions.iter().filter_map(Value::as_str) {
                    let _ = writeln!(text, "  question {}", one_line(question));
                }
            }
            Some(reason) => {
                let _ = writeln!(
                    text,
                    "  reason   {}",
                    one_line(reason.as_str().unwrap_or(""))
                );
            }
            None => {}
        }
    }
    if let Some(Value::Array(reasons)) = member(&["decision", "reasons"]) {
        for reason in reasons.iter().filter_map(Value::as_str) {
            let _ = writeln!(text, "  decision {}", one_line(reason));
        }
    }
    if let Some(pack) = &options.pack {
        let _ = writeln!(text, "  pack     {}", pack.display());
    }
    text
}
