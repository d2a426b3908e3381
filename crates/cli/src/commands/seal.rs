//! `runseal seal`: seals an output that was produced elsewhere. What it shares with `engine run` is
//! here too: the arguments of a sealing command, and how its result is reported.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::formats::run_bundle::layout::RunId;
use runseal_core::limits::JsonLimits;
use runseal_core::verify::{Finding, Outcome, violations_json};
use runseal_fs::input::Input;
use runseal_runs::run::contracts::{Engine, Program, check_engine};
use runseal_runs::run::seal::{Request, SealError, Sealed, parse_value, seal_output};

use super::redact::RedactableArgs;
use crate::clock;
use crate::error::{CliError, Named};
use crate::inside::refuse_in;
use crate::places::Outgoing;
use crate::ui;
use crate::verdict;

/// Seal a run whose output was produced elsewhere.
///
/// Everything is checked, nothing is executed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal seal examples/engines/resonance-sweep input.json output.json --out RUN_BUNDLE"
)]
pub struct Args {
    #[command(flatten)]
    sealing: SealingArgs,
    /// The output; `-` is standard input.
    #[arg(value_name = "OUTPUT.json")]
    output: PathBuf,
    /// A folder of artifacts that belong to the output.
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
}

/// The arguments of every command that seals a run.
#[derive(Debug, clap::Args)]
pub struct SealingArgs {
    /// The engine's folder, with its contracts.
    #[arg(value_name = "DIR")]
    pub engine: PathBuf,
    /// The input; `-` is standard input.
    #[arg(value_name = "INPUT.json")]
    input: PathBuf,
    /// The folder of run bundles, here or in object storage (`s3://BUCKET/PREFIX`); the new one becomes
    /// OUT/<run_id>.
    #[arg(long, value_name = "OUT")]
    out: PathBuf,
    /// The run's id; by default `run_<time>_<first 8 digits of inputs_hash>`.
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// A run bundle of another engine whose artifacts this run takes; may be repeated.
    #[arg(long, value_name = "RUN_BUNDLE")]
    upstream: Vec<PathBuf>,
    #[command(flatten)]
    redactable: RedactableArgs,
    /// Parameters that are kept apart from the input, as RUN_PARAMETERS.json.
    #[arg(long, value_name = "FILE")]
    parameters: Option<PathBuf>,
}

impl SealingArgs {
    /// The sealing request for an engine whose contracts are valid.
    pub fn request<'a>(
        &'a self,
        engine: &'a Engine,
        outgoing: &'a Outgoing,
    ) -> Result<Request<'a>, CliError> {
        let now = clock::now()?;
        let run_id = self.run_id.as_deref().map(parse_run_id).transpose()?;
        Ok(Request {
            engine,
            input: read_value(&self.input)?,
            parameters: self.parameters.as_deref().map(read_value).transpose()?,
            upstream: &self.upstream,
            out: outgoing.folder(),
            run_id,
            now,
            redactable: self.redactable.open()?,
            cancel: None,
        })
    }

    /// Where the bundle goes.
    pub fn outgoing(&self) -> Result<Outgoing, CliError> {
        refuse_in(&self.out, &self.out)?;
        self.redactable.outgoing(&self.out)
    }

    /// The engine; if its contracts are not valid, prints the verdict and returns `None`.
    pub fn engine(&self, program: Program) -> Result<Option<Engine>, CliError> {
        let (report, engine) = check_engine(&self.engine, program)?;
        if engine.is_none() {
            verdict::print_verdict(&report, &self.engine.display().to_string())?;
        }
        Ok(engine)
    }
}

pub fn parse_run_id(text: &str) -> Result<RunId, CliError> {
    RunId::parse(text).map_err(|error| {
        CliError::new(Outcome::Usage, "RUN_ID", error.to_string())
            .hint("leave `--run-id` out for an id made of the time and the input's hash")
    })
}

fn read_value(path: &Path) -> Result<Value, CliError> {
    let input = Input::from_argument(Some(path));
    let bytes = input.read(JsonLimits::LARGEST_DOCUMENT)?;
    parse_value(&bytes).named(input.shown())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let Some(engine) = args.sealing.engine(Program::NotAsked)? else {
        return Ok(Outcome::Invalid);
    };
    let outgoing = args.sealing.outgoing()?;
    let request = args.sealing.request(&engine, &outgoing)?;
    let output = Input::from_argument(Some(&args.output)).read(JsonLimits::LARGEST_DOCUMENT)?;
    let sealed = seal_output(request, &output, args.artifacts.as_deref());
    print_sealed(sealed, &outgoing)
}

/// Moves the sealed bundle into its place and prints it, or reports why nothing was sealed.
pub fn print_sealed(
    sealed: Result<Sealed, SealError>,
    outgoing: &Outgoing,
) -> Result<Outcome, CliError> {
    match sealed {
        Ok(sealed) => {
            let path = outgoing.finish(&sealed.path)?.display().to_string();
            let mut printed = Value::object([
                ("run_id", sealed.run_id.as_str()),
                ("path", path.as_str()),
                ("outputs_hash", sealed.outputs_hash.as_str()),
            ]);
            if let Some(seed) = &sealed.seed {
                printed.insert("seed", seed.display().to_string());
            }
            ui::print_json(&printed, Dialect::Kernel)?;
            Ok(Outcome::Valid)
        }
        Err(SealError::Rejected(findings)) => print_rejected(&findings),
        Err(other) => Err(other.into()),
    }
}

/// Prints the findings because of which a run was rejected.
pub fn print_rejected(findings: &[Finding]) -> Result<Outcome, CliError> {
    let mut printed = Value::object([("ok", false)]);
    printed.insert("violations", violations_json(findings));
    ui::print_json(&printed, Dialect::Kernel)?;
    ui::tell("REJECTED: nothing was sealed");
    for finding in findings {
        // What an engine said follows line by line, already escaped.
        let mut lines = finding.message.lines();
        let first = Finding {
            message: lines.next().unwrap_or_default().to_owned(),
            ..finding.clone()
        };
        ui::tell(&verdict::finding_line(&first));
        for line in lines {
            ui::tell(&format!("    {line}"));
        }
    }
    Ok(Outcome::Invalid)
}
