//! `runseal model-io verify`: model_io.json, MI1-MI17.

use std::path::PathBuf;

use runseal_core::canon::{Node, Value};
use runseal_core::formats::model_io::bodies::BodyFacts;
use runseal_core::formats::model_io::{ModelIoView, compute_model_io_hash, verify_model_io};
use runseal_core::verify::{Level, Outcome};
use runseal_fs::survey::{FolderFiles, LocalFiles};

use crate::error::CliError;
use crate::verdict::{self, StrictArgs};

/// Work with recordings of model calls.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: ModelIoCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ModelIoCommand {
    Verify(VerifyArgs),
}

/// Verify a recording of model calls.
///
/// Exit 0: valid. Exit 1: it could not be read. Exit 2: it is not JSON. Exit 3: invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal model-io verify pack/model_io.json")]
struct VerifyArgs {
    /// The file; `-` means standard input.
    file: PathBuf,
    #[command(flatten)]
    strict: StrictArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let ModelIoCommand::Verify(args) = &args.command;
    let level = args.strict.level();
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    let is_file = args.file.as_os_str() != "-";
    let verify = |root: Node<'_>| {
        let files = FolderFiles::of_document(&LocalFiles, &args.file);
        let bodies = if level < Level::Integrity {
            None
        } else if is_file {
            Some(BodyFacts::collect(root, &files, &name))
        } else {
            BodyFacts::held(root)
        };
        let bodies = bodies.as_ref();
        verify_model_io(&ModelIoView { root, bodies }, level)
    };
    verdict::verify_document_with(&args.file, verify, |root| {
        let count = root.get("interactions").map_or(0, |list| list.len());
        let hash = compute_model_io_hash(root).map(|hash| hash.to_string());
        vec![
            ("interactions_count", Value::from(count)),
            ("model_io_hash", Value::from(hash)),
        ]
    })
}
