//! `runseal export otel`.

use std::path::PathBuf;

use runseal_core::verify::Outcome;
use runseal_net::otel::export_spans;
use runseal_net::recording::Recording;

use crate::error::CliError;
use crate::inside::refuse_inside;
use crate::output::put_json;

/// Write a recording of the proxy as OpenTelemetry spans (OTLP JSON, conventions for generative AI).
///
/// Ids follow from the recording, times from its latencies, beginning at zero. Exit 2: it cannot be
/// read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal export otel model_io.json -o spans.json")]
pub struct Args {
    /// The recording, or a folder with a model_io.json.
    path: PathBuf,
    /// The file to write; by default, or with `-`, standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let path = if args.path.is_dir() {
        args.path.join("model_io.json")
    } else {
        args.path.clone()
    };
    let recording = Recording::load(&path)?;
    let spans = export_spans(&recording);
    if let Some(output) = &args.output {
        refuse_inside(output)?;
    }
    put_json(&spans, args.output.as_deref())?;
    Ok(Outcome::Valid)
}
