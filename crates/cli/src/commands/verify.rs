//! `runseal verify`: verifies evidence of any format.

use std::path::{Path, PathBuf};

use runseal_core::canon::Dialect;
use runseal_core::formats::Format;
use runseal_core::verify::answer::{render_survey_json, render_survey_junit, render_survey_sarif};
use runseal_core::verify::{Demands, Outcome, SignatureDemand};
use runseal_fs::input::Input;
use runseal_fs::signing::{AskedLog, SignatureJudge, TrustQuestion};
use runseal_fs::survey::{Tally, VerifyOptions, survey_files_seen};
use runseal_report::terminal::render_survey_human;

use super::log::{LogPlace, PolicyArgs};
use crate::error::CliError;
use crate::places::files_for;
use crate::progress::with_progress;
use crate::signing::TrustArgs;
use crate::ui;
use crate::verdict::LevelArgs;

/// Verify anything: finds out what each PATH is and verifies it.
///
/// It knows every format of docs/formats, as a folder, as a file, inside a .tar, .tar.gz, .tar.zst or
/// .zip, which is not unpacked, and as an artifact of an OCI registry or layout (`oci://host/name:tag`),
/// which is not copied. The content decides what it is. A PATH that is not
/// evidence itself is searched; what is found and cannot be checked is named. Finding nothing is
/// never a success.
///
/// It checks what the documents demand, and that everything which can be recomputed or is stated
/// twice agrees. --strict adds the stored form; --lenient checks the documents' demands alone.
///
/// It says three things about each: whether it is intact (the rules), whether it is signed (next to it, as
/// `runseal sign` writes it, or by cosign, ssh-keygen or minisign), and with --trust whether a policy trusts
/// the signer. Being unsigned is not a fault unless a signature is demanded.
///
/// Exit 0: everything valid. Exit 1: something invalid, missing though expected, or not signed or
/// trusted though demanded. Exit 2: something could not be read, or nothing was found. Exit 3: the
/// command line is wrong.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  runseal verify evidence/ --format junit\n  runseal verify evidence.zip --expect must-be-there.txt\n  tar -cf - run | runseal verify -\n  runseal verify run_1 --trust trust.toml"
)]
pub struct Args {
    /// What to verify; something inside an archive as `evidence.zip!/run`; `-` means standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Accepted without effect: a PATH that is not evidence itself is always searched.
    #[arg(long, short, hide = true)]
    recursive: bool,
    #[command(flatten)]
    level: LevelArgs,
    /// A file of paths, ids or formats that must be there, one per line; a missing one is exit 1.
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Something of this format must be there; may be given several times.
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    expect_format: Vec<Format>,
    /// There must be a pack, every pack must record an accepted run, and whatever else says how it ended must have succeeded.
    #[arg(long)]
    require_accepted: bool,
    #[command(flatten)]
    trust: TrustArgs,
    /// A log (folder, or postgres://…) or proof (`.tlog-proof`) that must have its signature, or, if
    /// unsigned, its digests. It counts only with --log-key or --log-policy.
    #[arg(long, value_name = "FILE")]
    log: Option<LogPlace>,
    #[command(flatten)]
    log_policy: PolicyArgs,
    /// Demand a valid signature, whoever's it is.
    #[arg(long)]
    require_signed: bool,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = AnswerFormat::Human)]
    format: AnswerFormat,
    /// The number of threads that verify; by default the number of processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum AnswerFormat {
    /// What failed, where, expected and actual, what it means and what to do.
    Human,
    /// One JSON object.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// JUnit XML.
    Junit,
}

fn parse_format(name: &str) -> Result<Format, String> {
    let known = || Format::ALL.map(Format::name).join(", ");
    let found = Format::ALL.into_iter().find(|format| format.name() == name);
    found.ok_or_else(|| format!("not one of {}", known()))
}

fn demands(args: &Args) -> Result<Demands, CliError> {
    let mut demands = Demands::default().expecting_accepted(args.require_accepted);
    for format in &args.expect_format {
        demands = demands.expecting_format(*format);
    }
    if let Some(path) = &args.expect {
        let input = Input::from_argument(Some(path));
        let bytes = input.read(EXPECTATIONS)?;
        let lines = String::from_utf8(bytes).map_err(|_| {
            CliError::new(
                Outcome::Unreadable,
                "NOT_UTF8",
                "the list of what is expected is not UTF-8".to_owned(),
            )
            .at(input.shown())
            .hint("one path, id or format per line")
        })?;
        demands = demands.expecting(&lines).map_err(|error| {
            CliError::new(Outcome::Usage, "NOTHING_EXPECTED", error.to_string())
                .at(input.shown())
                .hint("one path, id or format per line; a path that is a format's name as `./pack`")
        })?;
    }
    Ok(demands)
}

/// The most bytes that a file of expectations may have.
const EXPECTATIONS: u64 = 16 << 20;

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let options = VerifyOptions {
        level: args.level.level(),
        threads: args.jobs.map(usize::from),
    };
    let demands = demands(args)?;
    let is_standard_input = |path: &&PathBuf| path.as_os_str() == "-";
    if args.paths.iter().filter(is_standard_input).count() > 1 {
        return Err(CliError::usage(
            "standard input is named more than once, but can be read only once",
            "name `-` once",
        ));
    }
    let tally = Tally::default();
    let trust = args.trust.open()?;
    let log = match &args.log {
        Some(place) => Some(place.open_to_ask(args.log_policy.open()?)?),
        None if args.log_policy.is_given() => {
            return Err(CliError::usage(
                "a key or policy of a log was given, but no log",
                "--log names the log or the proof that they are for",
            ));
        }
        None => None,
    };
    let question = TrustQuestion {
        log: log.as_ref().map(|log| log as &dyn AskedLog),
        ..trust.question()
    };
    let files = files_for(args.paths.iter().map(PathBuf::as_path));
    let judge = SignatureJudge::new(files, question);
    let survey = with_progress(&tally, || {
        survey_files_seen(files, &args.paths, options, &tally, &judge)
    });
    let demand = SignatureDemand {
        signed: args.require_signed,
        trusted: trust.policy.is_some(),
        logged: log.is_some(),
    };
    let survey = judge.answer(survey, demand).demanding(&demands);
    match args.format {
        AnswerFormat::Human => {
            ui::print_text(&render_survey_human(&survey, ui::screen()))?;
        }
        AnswerFormat::Json => ui::print_asked_json(&render_survey_json(&survey), Dialect::Kernel)?,
        AnswerFormat::Sarif => {
            let folder = std::env::current_dir().ok();
            let folder = folder.as_deref().and_then(Path::to_str);
            ui::print_asked_json(&render_survey_sarif(&survey, folder), Dialect::Kernel)?;
        }
        AnswerFormat::Junit => ui::print_text(&render_survey_junit(&survey))?,
    }
    for journal in survey.journals() {
        let recording = journal.with_extension("");
        ui::note(&format!(
            "`{}` is a recording that was not finished; `runseal proxy finish --recording {}` does",
            journal.display(),
            recording.display()
        ));
    }
    Ok(survey.outcome())
}
