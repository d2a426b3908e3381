//! `runseal trust explain`: which line of a policy accepts or refuses something, and why.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::{Level, Outcome, one_line};
use runseal_fs::signing::{ArchiveSignatures, TrustQuestion};

use crate::commands::inspect::FormatArgs;
use crate::error::CliError;
use crate::loaded::load_path;
use crate::places::files_for;
use crate::signing::{open_policy, trust_time};
use crate::ui;

/// Explain for one thing which line of a policy accepts or refuses it.
///
/// Exit 0: trusted. Exit 1: not trusted. Exit 2: something could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal trust explain trust.toml RUN_BUNDLE/run_1")]
pub struct Args {
    /// The policy.
    #[arg(value_name = "POLICY")]
    policy: PathBuf,
    /// What to ask the policy about.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The time at which it is asked, in UTC; by default now.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    #[command(flatten)]
    format: FormatArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let now = trust_time(args.at.as_deref())?;
    let policy = open_policy(&args.policy, now)?;
    let judged = load_path(&args.path, Level::Integrity)?;
    let question = TrustQuestion {
        policy: Some(&policy),
        keys: &[],
        now,
        log: None,
    };
    let asked = (question, &ArchiveSignatures::default());
    let files = files_for([args.path.as_path()]);
    let (authenticity, decision) = judged.judge_trust(files, Path::new(&judged.path), asked);
    let is_trusted = authenticity
        .trusted
        .as_ref()
        .is_some_and(|trust| trust.is_trusted);
    let steps = decision.map(|decision| decision.steps).unwrap_or_default();
    if args.format.is_json() {
        let mut answer = Value::object([
            ("path", Value::from(judged.path.as_str())),
            ("format", Value::from(judged.format().name())),
            ("intact", Value::from(judged.is_valid())),
        ]);
        authenticity.add_to_json(&mut answer);
        let steps = steps.iter().map(|step| {
            Value::object([
                ("line", Value::from(step.line)),
                ("text", Value::from(step.text.as_str())),
            ])
        });
        answer.insert("steps", Value::array(steps));
        ui::print_json(&answer, Dialect::Kernel)?;
    } else {
        let mut text = format!("{}: {}\n", one_line(&judged.path), judged.format().name());
        let intact = if judged.is_valid() {
            "intact"
        } else {
            "NOT intact"
        };
        text.push_str(&format!("  {intact}\n"));
        for line in authenticity.lines() {
            text.push_str(&format!("  {}\n", one_line(&line)));
        }
        for step in &steps {
            let line = format!("{}:{}: {}", policy.shown, step.line, step.text);
            text.push_str(&format!("  {}\n", one_line(&line)));
        }
        ui::print_text(&text)?;
    }
    Ok(if is_trusted {
        Outcome::Valid
    } else {
        Outcome::Invalid
    })
}
