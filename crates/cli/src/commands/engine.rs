//! `runseal engine`: makes a new engine, checks an engine's contracts, runs an engine and seals the
//! run.

use std::path::PathBuf;
use std::time::Duration;

use runseal_core::formats::Format;
use runseal_core::verify::{Outcome, Surface};
use runseal_engine::record::run::policy as recorded_policy;
use runseal_engine::run::command::policy;
use runseal_engine::run::contracts::{Program, check_engine};
use runseal_engine::run::init::{InitError, Language, init_engine};
use runseal_engine::run::seal::seal_run;
use runseal_engine::run::warnings::find_warnings;
use runseal_engine::staging::StagingError;
use runseal_sandbox::{CancelToken, Limits, MOST_IN_MEMORY};

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
    /// The new engine's folder, which does not exist or is empty; its name becomes the engine's.
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

/// What an engine may use at the most.
#[derive(Debug, Clone, clap::Args)]
pub struct PolicyArgs {
    /// The seconds that an engine may run; its manifest can only ask for less.
    /// A recorded command that is replayed has an hour where nothing is said.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86400))]
    timeout: Option<u32>,
    /// The bytes of artifacts that an engine may write; its manifest can only ask for less. For a recorded
    /// command that is replayed, the bytes of all that it writes. With more than 1 GiB they are watched on disk
    /// instead of held back by the kernel.
    #[arg(long, value_name = "BYTES", default_value_t = MOST_IN_MEMORY, value_parser = clap::value_parser!(u64).range(1..))]
    artifact_bytes: u64,
}

impl PolicyArgs {
    /// Whether a time was given.
    pub fn has_timeout(&self) -> bool {
        self.timeout.is_some()
    }

    /// Whether another number of bytes was given than the usual one.
    pub fn has_artifact_bytes(&self) -> bool {
        self.artifact_bytes != MOST_IN_MEMORY
    }

    /// The limits of a recorded command that is replayed.
    pub fn recorded_limits(&self) -> Limits {
        let usual = recorded_policy();
        let time = self
            .timeout
            .map(|seconds| Duration::from_secs(seconds.into()));
        Limits {
            wall_time: time.unwrap_or(usual.wall_time),
            file_bytes: self.artifact_bytes,
            work_bytes: self.artifact_bytes,
            ..usual
        }
    }

    /// The limits given on the command line; the default policy for all others.
    pub fn policy(&self) -> Limits {
        Limits {
            wall_time: Duration::from_secs(self.timeout.unwrap_or(60).into()),
            file_bytes: self.artifact_bytes,
            work_bytes: self.artifact_bytes,
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
                ui::tell(&format!("warning: {warning}"));
            }
            verdict::print_verdict(&report, &args.folder.display().to_string())
        }
        EngineCommand::Run(args) => run_engine(args),
        EngineCommand::Init(args) => init(args),
    }
}

fn init(args: &InitArgs) -> Result<Outcome, CliError> {
    let language = Language::from_name(&args.lang).unwrap_or(Language::Python);
    init_engine(&args.folder, language).map_err(|error| {
        let message = error.to_string();
        match error {
            InitError::Staging(StagingError::Write(error)) => error.into(),
            InitError::Staging(StagingError::Exists(_)) => {
                CliError::new(Outcome::Unreadable, "EXISTS", message).hint("name a new folder")
            }
            InitError::Name(_) => CliError::new(Outcome::Unreadable, "NAME", message)
                .hint("name a folder, such as `my-engine`"),
            InitError::Build(_) => CliError::new(Outcome::Unreadable, "BUILD", message)
                .hint("is Rust installed? `--lang sh` needs nothing"),
            InitError::Read(error) => error.into(),
        }
    })?;
    ui::print_line(&args.folder.display().to_string())?;
    let folder = args.folder.display();
    ui::note(&format!(
        "try `runseal engine run {folder} {folder}/input.json --out RUN_BUNDLE --run-id first`"
    ));
    Ok(Outcome::Valid)
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
