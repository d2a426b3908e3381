//! `runseal queue verify` and `runseal queue replay`: add tasks to the queue.

use std::path::PathBuf;

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::{Level, Outcome};
use runseal_store::queue::find_tasks;
use runseal_store::store::TaskKind;

use super::super::job::place::StoreArgs;
use crate::error::CliError;
use crate::places::{check_readable, files_for};
use crate::ui;

fn queue(
    kind: TaskKind,
    level: Level,
    paths: &[PathBuf],
    store: &StoreArgs,
) -> Result<Outcome, CliError> {
    // A path on this machine may be missing here and be there for a worker; an address is the same
    // for everybody.
    for path in paths {
        check_readable(path)?;
    }
    let files = files_for(paths.iter().map(PathBuf::as_path));
    let tasks = find_tasks(files, kind, level, paths);
    if tasks.is_empty() {
        let message = "nothing that could be queued was found";
        let hint = match kind {
            TaskKind::Verify => "name folders with bundles in them, or archives",
            TaskKind::Replay => {
                "name folders with run bundles, job bundles or packs in them, or archives"
            }
        };
        return Err(CliError::new(Outcome::Unreadable, "NOT_FOUND", message).hint(hint));
    }
    let mut store = store.open()?;
    let posted = store.post_tasks(&tasks)?;
    let printed = Value::object([
        ("queued", posted.queued),
        ("again", posted.again),
        ("open", posted.open),
    ]);
    ui::print_json(&printed, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

/// `runseal queue verify`.
pub mod verify {
    use super::{CliError, Outcome, PathBuf, StoreArgs, TaskKind};
    use crate::verdict::LevelArgs;

    /// Queue everything at and below each PATH to be verified.
    ///
    /// Paths are kept as they are given: workers look them up below their own working folder or
    /// --root. An address (`s3://…`, `oci://…`) must be readable now, or nothing is queued. What is
    /// queued already stays so; what has ended is queued again.
    #[derive(Debug, clap::Args)]
    #[command(after_help = "Example:\n  runseal queue verify runs/2026-11")]
    pub struct Args {
        /// What to verify: bundles, archives, or folders with such things in them.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        level: LevelArgs,
        #[command(flatten)]
        store: StoreArgs,
    }

    /// Runs the command.
    pub fn run(args: &Args) -> Result<Outcome, CliError> {
        super::queue(
            TaskKind::Verify,
            args.level.level(),
            &args.paths,
            &args.store,
        )
    }
}

/// `runseal queue replay`.
pub mod replay {
    use super::{CliError, Level, Outcome, PathBuf, StoreArgs, TaskKind};

    /// Queue what can be replayed at and below each PATH.
    ///
    /// That is run bundles, job bundles and packs, and archives that may contain some. The same content is
    /// replayed once by the same version of this program, whatever its name and however often it is queued.
    /// An address (`s3://…`, `oci://…`) must be readable now, or nothing is queued.
    #[derive(Debug, clap::Args)]
    #[command(after_help = "Example:\n  runseal queue replay runs/2026-11")]
    pub struct Args {
        /// What to replay: bundles, archives, or folders with such things in them.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        store: StoreArgs,
    }

    /// Runs the command.
    pub fn run(args: &Args) -> Result<Outcome, CliError> {
        super::queue(TaskKind::Replay, Level::Document, &args.paths, &args.store)
    }
}
