//! `runseal inspect`: what something is and contains, on one screen.

use std::path::PathBuf;

use runseal_core::canon::Dialect;
use runseal_core::verify::Outcome;
use runseal_report::terminal::{render_inspection_human, render_inspection_json};

use crate::error::CliError;
use crate::loaded::{load_path, with_exhibit};
use crate::signing::TrustArgs;
use crate::ui;
use crate::verdict::LevelArgs;

/// Show what something is: results, inputs, steps, hashes, signers.
///
/// It also says whether it is intact, whether it is signed and, with --trust, whether it is trusted.
///
/// Exit 0: it was shown, valid or not. Exit 2: it could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal inspect out/bundle")]
pub struct Args {
    /// A folder, file or archive, or something inside one (`evidence.zip!/run`); `-` means standard input;
    /// an artifact of a registry or layout (`oci://host/name:tag`).
    path: PathBuf,
    #[command(flatten)]
    level: LevelArgs,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// `--format human|json`.
#[derive(Debug, clap::Args)]
pub struct FormatArgs {
    /// How to answer.
    #[arg(long, value_enum, default_value_t = TextFormat::Human)]
    format: TextFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TextFormat {
    /// For people.
    Human,
    /// One JSON object.
    Json,
}

impl FormatArgs {
    /// Whether JSON was asked for.
    pub fn is_json(&self) -> bool {
        self.format == TextFormat::Json
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let level = args.level.level();
    let loaded = load_path(&args.path, level)?;
    let trust = args.trust.open()?;
    with_exhibit(&loaded, &trust, |exhibit| {
        if args.format.is_json() {
            ui::print_asked_json(&render_inspection_json(exhibit), Dialect::Kernel)
        } else {
            ui::print_text(&render_inspection_human(exhibit, ui::screen()))
        }
    })?;
    Ok(Outcome::Valid)
}
