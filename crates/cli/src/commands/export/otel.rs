//! `runseal export otel`.

use std::path::PathBuf;

use runseal_core::canon::{Dialect, canonical_bytes};
use runseal_core::verify::Outcome;
use runseal_engine::atomic;
use runseal_net::otel::export_spans;
use runseal_net::recording::Recording;

use super::super::proxy::net_error;
use crate::error::CliError;
use crate::inside::refuse_inside;
use crate::ui;

/// Write a recording of the proxy as OpenTelemetry spans (OTLP JSON, conventions for generative AI).
///
/// Ids follow from the recording, times from its latencies, beginning at zero. Exit 2: it cannot be
/// read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal export otel model_io.json -o spans.json")]
pub struct Args {
    /// The recording, or a folder that holds a model_io.json.
    path: PathBuf,
    /// The file to write; standard output where it is not given.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let path = match args.path.is_dir() {
        true => args.path.join("model_io.json"),
        false => args.path.clone(),
    };
    let recording = Recording::load(&path).map_err(|error| {
        let mut error = net_error(error);
        error.outcome = Outcome::Unreadable;
        error
    })?;
    let spans = export_spans(&recording);
    let Some(output) = &args.output else {
        ui::print_json(&spans, Dialect::Kernel)?;
        return Ok(Outcome::Valid);
    };
    let mut bytes = canonical_bytes(&spans, Dialect::Kernel)
        .map_err(|error| CliError::no_form(&error, &output.display().to_string()))?;
    bytes.push(b'\n');
    refuse_inside(output)?;
    atomic::write_bytes(output, &bytes)?;
    Ok(Outcome::Valid)
}
