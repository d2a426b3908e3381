//! `runseal run`: the whole harness, from an intent to a pack.

use std::path::PathBuf;

use clap::ValueEnum;
use runseal_core::canon::Dialect;
use runseal_core::formats::policy::Profile;
use runseal_core::verify::Outcome;
use runseal_engine::harness::{HarnessError, Mode, ModelMode, Options, run_intent};
use runseal_engine::log::LogStore;
use runseal_sandbox::Isolation;

use super::log::{append_target, log_error};
use crate::clock;
use crate::error::CliError;
use crate::ui;

/// Run an intent: transform it, propose, execute in the sandbox, decide, export.
///
/// Prints run.json's content. Exit 0: accepted. Exit 1: not accepted. Exit 2: no result.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  runseal run intent.json
  runseal run intent.json --mode execute-sandbox --policy default --pack out/pack
  runseal run intent.json --mode execute-sandbox --policy dev --model-mode replay \\
      --model-io model_io.json --pack out/pack")]
pub struct Args {
    /// The intent's file; standard input where `-`.
    intent: PathBuf,
    /// How far to go.
    #[arg(long, value_enum, default_value_t = ModeArg::PlanOnly)]
    mode: ModeArg,
    /// What the run may do.
    #[arg(long, value_enum, default_value_t = PolicyArg::Default)]
    policy: PolicyArg,
    /// Execute this proposal, made elsewhere, after verifying it against the bundle.
    #[arg(long, value_name = "FILE")]
    proposal: Option<PathBuf>,
    /// Agree to a proposal that needs a person's approval; recorded in the decision.
    #[arg(long)]
    approve: bool,
    /// Write the pack to this folder, which must not exist or be empty.
    #[arg(long, value_name = "DIR")]
    pack: Option<PathBuf>,
    /// Append the run to this ledger.
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Append the pack to this transparency log, by its digests (docs/log.md).
    #[arg(long, value_name = "LOG", requires = "pack")]
    log: Option<PathBuf>,
    /// The run's id, where two runs should have the same.
    #[arg(long, value_name = "ID", value_parser = parse_run_id)]
    run_id: Option<String>,
    /// How commands are isolated. `none` runs them with your own rights, and is recorded.
    #[arg(long, value_enum, default_value_t = SandboxArg::Full)]
    sandbox: SandboxArg,
    /// Where model calls of commands go.
    #[arg(long, value_enum, default_value_t = ModelArg::None)]
    model_mode: ModelArg,
    /// The recording: written with `record`, read with `replay`.
    #[arg(long, value_name = "FILE")]
    model_io: Option<PathBuf>,
    /// With `record`: the command that reads a prompt on standard input and writes the answer.
    #[arg(long, value_name = "COMMAND")]
    model_cmd: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeArg {
    PlanOnly,
    ExecuteSandbox,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PolicyArg {
    Strict,
    Default,
    Dev,
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

fn parse_run_id(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && text.len() <= 100 && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err(
            "up to 100 letters, digits, `.`, `_` and `-`, beginning with one of the first"
                .to_owned(),
        )
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let name = match args.policy {
        PolicyArg::Strict => "strict",
        PolicyArg::Default => "default",
        PolicyArg::Dev => "dev",
    };
    let Some(policy) = Profile::named(name) else {
        return Err(CliError::internal("a policy without a profile"));
    };
    let model = match (args.model_mode, &args.model_cmd) {
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
    let options = Options {
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
    };
    if let Some(log) = &args.log {
        // Told before anything runs, not after.
        LogStore::open(log).map_err(|error| log_error(&error, log))?;
    }
    let finished = run_intent(&options).map_err(|error| harness_error(&error))?;
    for note in &finished.notes {
        ui::tell(&format!("note: {note}"));
    }
    if let (Some(log), Some(pack)) = (&args.log, &args.pack) {
        append_target(log, pack)?;
    }
    ui::print_json(&finished.run, Dialect::Kernel)?;
    if finished.accepted {
        Ok(Outcome::Valid)
    } else {
        Ok(Outcome::Invalid)
    }
}

fn harness_error(error: &HarnessError) -> CliError {
    let told = CliError::new(Outcome::Unreadable, error.code(), error.to_string());
    match error.hint() {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
