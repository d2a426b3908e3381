//! `runseal verify`: whatever it is.

use std::path::PathBuf;

use runseal_core::canon::Dialect;
use runseal_core::verify::answer::{
    render_survey_human, render_survey_json, render_survey_junit, render_survey_sarif,
};
use runseal_core::verify::{Demand, Outcome};
use runseal_engine::signing::judge_survey;
use runseal_engine::survey::{SurveyOptions, Tally, survey_paths};

use crate::error::CliError;
use crate::progress::with_progress;
use crate::signing::TrustArgs;
use crate::ui;
use crate::verdict::StrictArgs;

/// Verify anything: finds out what each PATH is and verifies it.
///
/// Known are the context bundle, proposal, pack, job bundle, run bundle, receipt, patch set, model
/// recording, runner record, evidence, ledger and engine; as a folder, as a file, and inside a
/// .tar, .tar.gz, .tar.zst or .zip, which is not unpacked. What something is is told by its
/// content. Nothing found is never a success.
///
/// Says three things of each: whether it is intact (the rules), whether it is signed (beside it, as
/// `runseal sign` writes it, or by cosign, ssh-keygen or minisign), and with --trust whether a
/// policy trusts who signed. Unsigned is no fault unless it is demanded.
///
/// Exit 0: everything valid. Exit 1: something invalid, or a demand not met. Exit 2: something could not be read, or
/// nothing was found. Exit 3: the command line is wrong.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal verify -r evidence/ --format junit\n  tar -cf - run | runseal verify -\n  runseal verify run_1 --trust trust.toml"
)]
pub struct Args {
    /// What to verify; standard input where `-`.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Look below folders, and everywhere inside archives.
    #[arg(long, short)]
    recursive: bool,
    #[command(flatten)]
    strict: StrictArgs,
    #[command(flatten)]
    trust: TrustArgs,
    /// Demand a signature that holds, whoever's it is.
    #[arg(long)]
    require_signed: bool,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = AnswerFormat::Human)]
    format: AnswerFormat,
    /// How many threads verify; where not given, as many as there are processors.
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

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let options = SurveyOptions {
        level: args.strict.level(),
        recursive: args.recursive,
        jobs: args.jobs.map(usize::from),
    };
    let tally = Tally::default();
    let trust = args.trust.open()?;
    let survey = with_progress(&tally, || survey_paths(&args.paths, options, &tally));
    let demand = Demand {
        signed: args.require_signed,
        trusted: trust.policy.is_some(),
    };
    let survey = judge_survey(survey, trust.question(), demand);
    match args.format {
        AnswerFormat::Human => ui::print_bytes(render_survey_human(&survey).as_bytes())?,
        AnswerFormat::Json => ui::print_json(&render_survey_json(&survey), Dialect::Kernel)?,
        AnswerFormat::Sarif => ui::print_json(&render_survey_sarif(&survey), Dialect::Kernel)?,
        AnswerFormat::Junit => ui::print_bytes(render_survey_junit(&survey).as_bytes())?,
    }
    Ok(survey.outcome())
}
