//! `runseal canon`: the canonical bytes of a JSON text.

use std::io::{self, Write};
use std::path::PathBuf;

use runseal_core::canon::{CanonError, Dialect, ReadOptions, canonicalize};
use runseal_core::limits::JsonLimits;
use runseal_core::verify::Outcome;
use runseal_fs::atomic;
use runseal_fs::input::Input;

use crate::error::{CliError, Named};
use crate::output::file_named;
use crate::ui;

/// Print the canonical bytes of a JSON text, nothing added.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  printf '{\"b\":1,\"a\":\"é\"}' | runseal canon --dialect job")]
pub struct Args {
    #[command(flatten)]
    pub text: TextArgs,
    /// Write to FILE instead of printing; it appears whole or not at all. `-` means standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A JSON text and the dialect it is put into.
#[derive(Debug, clap::Args)]
pub struct TextArgs {
    /// The dialect: kernel (documents 000, 002, 003), job (001) or jcs (004, RFC 8785).
    #[arg(long, default_value = "kernel", value_parser = ["kernel", "job", "jcs"])]
    dialect: String,
    /// The text; `-`, or nothing, means standard input.
    file: Option<PathBuf>,
}

impl TextArgs {
    /// The dialect that was asked for.
    pub fn dialect(&self) -> Result<Dialect, CliError> {
        let hint = "`--dialect` takes kernel, job or jcs";
        self.dialect
            .parse()
            .map_err(|error| CliError::usage(format!("{error}"), hint))
    }

    /// The text and its name in messages.
    pub fn read(&self) -> Result<(Vec<u8>, String), CliError> {
        let input = Input::from_argument(self.file.as_deref());
        Ok((input.read(JsonLimits::LARGEST_TEXT)?, input.shown()))
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let dialect = args.text.dialect()?;
    let (text, shown) = args.text.read()?;
    let write = |sink: &mut dyn Write| canonicalize(&text, dialect, &ReadOptions::TEXT, sink);
    if let Some(path) = file_named(args.output.as_deref()) {
        atomic::write_file(path, |file| write(file).named(&shown))?;
        return Ok(Outcome::Valid);
    }
    // Canonicalize into a sink first, so that nothing is printed of a text that turns out to be
    // broken.
    write(&mut io::sink()).named(&shown)?;
    match write(&mut io::stdout().lock()) {
        Err(CanonError::Sink(error)) => ui::done(Err(error))?,
        other => other.named(&shown)?,
    }
    ui::done(io::stdout().flush())?;
    Ok(Outcome::Valid)
}
