//! `runseal engine`: makes a new engine, checks an engine's contracts, runs an engine and seals the
//! run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use runseal_core::formats::Format;
use runseal_core::verify::{Outcome, Surface};
use runseal_runs::run::command::policy;
use runseal_runs::run::contracts::{Program, check_engine};
use runseal_runs::run::init::{Language, init_engine};
use runseal_runs::run::seal::seal_run;
use runseal_runs::run::warnings::find_warnings;
use runseal_sandbox::{CancelToken, Limits, MOST_IN_MEMORY};

use super::record::parse_size;
use super::sandbox_level::SandboxArgs;
use super::seal::{SealingArgs, print_sealed};
use crate::error::CliError;
use crate::ui;
use crate::verdict;

/// Make, check and run engines: programs with contracts.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: EngineCommand,
}

#[derive(Debug, clap::Subcommand)]
enum EngineCommand {
    Init(InitArgs),
    Check(CheckArgs),
    Run(RunArgs),
}

/// Make a new engine that works, to begin from: contracts, a program and a test input.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal engine init my-engine --lang python")]
struct InitArgs {
    /// The new engine's folder, which does not exist, or is empty and not the current one; its name
    /// becomes the engine's.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// What it is written in. Rust is built right away, with your rustc.
    #[arg(long, value_name = "LANGUAGE", default_value = "python", value_parser = ["python", "sh", "rust", "node"])]
    lang: String,
}

/// Check an engine's five contracts and its command.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal engine check examples/engines/resonance-sweep")]
struct CheckArgs {
    /// The engine's folder.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Execute an engine in the sandbox and seal the run as OUT/<run_id>.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal engine run examples/engines/resonance-sweep \
        examples/engines/resonance-sweep/input.json --out RUN_BUNDLE"
)]
struct RunArgs {
    #[command(flatten)]
    sealing: SealingArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    sandbox: SandboxArgs,
}

/// The limits of an engine.
#[derive(Debug, clap::Args)]
struct PolicyArgs {
    /// The seconds that an engine may run: a minute, and its manifest can only ask for less.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=604800))]
    timeout: Option<u32>,
    /// The bytes of artifacts that an engine may write: 1 GiB, and its manifest can only ask for less. With
    /// more, they are watched on disk instead of limited by the kernel. Takes K, M, G.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    artifact_bytes: Option<u64>,
}

impl PolicyArgs {
    /// The limits given on the command line; the default policy for all others.
    fn policy(&self) -> Limits {
        let bytes = self.artifact_bytes.unwrap_or(MOST_IN_MEMORY);
        Limits {
            wall_time: Duration::from_secs(self.timeout.unwrap_or(60).into()),
            file_bytes: bytes,
            work_bytes: bytes,
            ..policy()
        }
    }
}

impl Args {
    /// A check has a verifier's exit codes, a run a command's; the two do not contradict each
    /// other.
    pub fn surface(&self) -> Surface {
        match self.command {
            EngineCommand::Check(_) => Surface::Format(Format::Engine),
            EngineCommand::Init(_) | EngineCommand::Run(_) => Surface::Command,
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    match &args.command {
        EngineCommand::Check(args) => {
            let (report, engine) = check_engine(&args.folder, Program::MustExist)?;
            for warning in engine.iter().flat_map(find_warnings) {
                ui::tell_line(&format!("warning: {warning}"));
            }
            verdict::print_verdict(&report, &args.folder.display().to_string())
        }
        EngineCommand::Run(args) => run_engine(args),
        EngineCommand::Init(args) => init(args),
    }
}

fn init(args: &InitArgs) -> Result<Outcome, CliError> {
    let language = Language::from_name(&args.lang).unwrap_or(Language::Python);
    init_engine(&args.folder, language)?;
    ui::print_line(&args.folder.display().to_string())?;
    let folder = shell_word(&args.folder);
    let input = shell_word(&args.folder.join("input.json"));
    ui::note(&format!(
        "try `runseal engine run {folder} {input} --out RUN_BUNDLE --run-id first`"
    ));
    Ok(Outcome::Valid)
}

/// A path as a shell reads it as one word.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn run_engine(args: &RunArgs) -> Result<Outcome, CliError> {
    let Some(engine) = args.sealing.engine(Program::MustExist)? else {
        return Ok(Outcome::Invalid);
    };
    let outgoing = args.sealing.outgoing()?;
    let mut request = args.sealing.request(&engine, &outgoing)?;
    let cancel = CancelToken::on_interrupt()
        .map_err(|error| CliError::internal(format!("signals cannot be caught: {error}")))?;
    request.cancel = Some(cancel);
    let sandbox = args.sandbox.open()?;
    let sealed = seal_run(request, &sandbox, &args.policy.policy());
    print_sealed(sealed, &outgoing)
}
