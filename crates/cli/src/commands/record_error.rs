//! Reports why a recording sealed nothing.

use std::path::Path;

use runseal_core::verify::Outcome;
use runseal_fs::models::SECRET_HINT;
use runseal_runs::isolation::diagnose;
use runseal_runs::record::ProgramError;
use runseal_runs::record::apply::ApplyError;
use runseal_runs::record::run::RunError;
use runseal_runs::record::seal::RecordError;
use runseal_sandbox::{Limit, SandboxError};

use super::seal::print_rejected;
use crate::error::CliError;
use crate::ui;

/// How many of the last lines of a failed command's standard error are shown.
const SHOWN_LINES: usize = 20;

/// Why a command was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// To seal the run.
    Record,
    /// To compare it with a sealed one.
    Replay,
}

/// Turns a recording's error into what the command line reports.
///
/// `was_shown` says whether the command's output was shown as it came.
pub fn record_error(
    error: RecordError,
    was_shown: bool,
    doing: Doing,
) -> Result<Outcome, CliError> {
    let message = error.to_string();
    let done = match doing {
        Doing::Record => "sealed",
        Doing::Replay => "compared",
    };
    Err(match error {
        RecordError::Failed { limit, .. } if doing == Doing::Replay => {
            let failure = CliError::new(
                Outcome::Unreadable,
                "LIMIT",
                format!("{message}, which the sealed run did not: nothing was compared"),
            );
            match limit {
                Some(limit) => failure.hint(more_room(limit)),
                None => failure,
            }
        }
        RecordError::Failed {
            stderr,
            is_stopped,
            limit,
            refused,
            ..
        } => {
            if !was_shown {
                show_end(&stderr);
            }
            for asked in refused {
                ui::note(&format!("there is no network in the sandbox: {asked}"));
            }
            let failure = CliError::new(
                Outcome::Invalid,
                "FAILED",
                format!("{message}; nothing was sealed"),
            );
            match limit {
                Some(limit) if is_stopped => failure.hint(format!(
                    "{}; `--keep-failed` seals what there was when it was stopped, marked as that",
                    more_room(limit)
                )),
                Some(limit) => failure.hint(more_room(limit)),
                None => failure.hint(
                    "`--keep-failed` seals a failed run, marked as one; `--show-world` shows what the command sees",
                ),
            }
        }
        RecordError::Interrupted | RecordError::Run(RunError::Sandbox(SandboxError::Cancelled)) => {
            CliError::new(
                Outcome::Interrupted,
                "INTERRUPTED",
                format!("the command was ended and nothing was {done}"),
            )
        }
        RecordError::CommandInterrupted => CliError::new(
            Outcome::Interrupted,
            "INTERRUPTED",
            format!("the command was ended and nothing was {done}"),
        )
        .hint("`--keep-failed` seals what it had written, marked as interrupted"),
        RecordError::Run(error) => run_error(error, doing),
        RecordError::Secret { .. } => CliError::new(
            Outcome::Invalid,
            "SECRET",
            format!("{message}; nothing was sealed"),
        )
        .hint("keep the command from writing and printing it; `--keep GLOB` leaves out files that it writes"),
        RecordError::Room { needed, .. } => CliError::new(
            Outcome::Unreadable,
            "LIMIT",
            format!("{message}: nothing was compared"),
        )
        .hint(format!(
            "`--artifact-bytes` lets it write more, which takes at least {needed}; beyond 1 GiB it writes to your disk"
        )),
        RecordError::Seed(_) => CliError::new(
            Outcome::Invalid,
            "SEED",
            format!("{message}; nothing was sealed"),
        )
        .hint("keep the command from reading the folder of bundles, or keep bundles elsewhere with `--out DIR`"),
        RecordError::Changed(_) => CliError::new(Outcome::Invalid, "CHANGED", message)
            .hint("record again while nothing else writes to the folder"),
        RecordError::Sparse { .. } => CliError::new(
            Outcome::Invalid,
            "SPARSE",
            format!("{message}, and neither is the run"),
        )
        .hint("`--reference-above 64M` seals the hashes of large files only, which have to be read for it"),
        RecordError::Left { .. } => CliError::new(Outcome::Invalid, "LEFT", message).hint(
            "`--keep GLOB` chooses which of the files it writes are sealed; the rest is left out",
        ),
        RecordError::Access(_) => CliError::new(Outcome::Invalid, "NAME", message)
            .hint("rename the file, or keep the command from reading it"),
        RecordError::Output(_) => CliError::new(Outcome::Unreadable, "OUTPUT", message),
        RecordError::NoForm(_) => CliError::new(Outcome::Malformed, "JSON", message),
        RecordError::Files(error) => error.into(),
        RecordError::Read(error) => error.into(),
        RecordError::AskedModels => CliError::new(
            Outcome::Invalid,
            "MODELS",
            "the run asked models, and this build cannot answer for them",
        )
        .hint("build runseal with its feature `net`, as releases are"),
        RecordError::AskedNoModels => CliError::usage(
            message,
            "leave --fork-at out; `runseal record --proxy` records what models are asked",
        ),
        RecordError::NamesNoFiles => CliError::usage(message, "leave --input out"),
        RecordError::UsesNoDevices => CliError::usage(message, "leave --device out"),
        RecordError::ComparesExactly => CliError::usage(message, "leave --compare out"),
        RecordError::ProxySecret(_) => CliError::new(
            Outcome::Invalid,
            "SECRET",
            format!("{message}; nothing was sealed"),
        )
        .hint(SECRET_HINT),
        RecordError::Models(_) => CliError::new(Outcome::Invalid, "MODELS", message)
            .hint("`runseal proxy record --help` says what is recorded, and what is never kept"),
        RecordError::ModelReplay(_) => CliError::new(Outcome::Invalid, "MODELS", message)
            .hint("model_io.json in the bundle has the calls; --fork-at names one of them"),
        RecordError::Rejected(findings) => return print_rejected(&findings),
    })
}

/// How to raise the limit that a command reached.
fn more_room(limit: Limit) -> &'static str {
    match limit {
        Limit::WallTime => "`--timeout` gives it more time",
        Limit::WorkBytes => "`--disk` lets it write more",
        Limit::WorkFiles => "it may write that many files at the most: let it pack them into one",
        Limit::Temporary => "`--env TMPDIR=$PWD` leads its temporary files into the folder",
        Limit::FreeSpace => {
            "free some space, or set TMPDIR to a folder on a larger disk: what it writes is kept there"
        }
        Limit::SharedMemory => "it holds as much as the machine has memory, or as `--memory` says",
        Limit::Processes => "`--processes` lets it have more",
        Limit::Stdin => "`--stdin-bytes` lets more be read and sealed",
        Limit::Stdout | Limit::Stderr => {
            "let it write its output to a file: `sh -c 'COMMAND > out.txt'`"
        }
        Limit::Memory => "`--memory` lets it have more",
    }
}

/// The kernel's error for a file that is not a program of any kind that it knows.
const NO_PROGRAM_FORMAT: i32 = 8;

fn run_error(error: RunError, doing: Doing) -> CliError {
    let message = error.to_string();
    match error {
        RunError::NoCommand => CliError::usage(message, "write it after `--`"),
        RunError::Program(ProgramError::NotOnPath(_)) => {
            CliError::new(Outcome::Unreadable, "NO_PROGRAM", message)
                .hint("check its name; a script of the current folder is written as `./script`")
        }
        RunError::Program(_) => CliError::new(Outcome::Unreadable, "NO_PROGRAM", message)
            .hint("check its name and its rights"),
        RunError::Place { .. } => CliError::new(Outcome::Unreadable, "PLACE", message).hint(match doing {
            Doing::Record => "record in a folder of your own, such as one in your home",
            Doing::Replay => {
                "RUN_ENVIRONMENT.json and RUN_INPUT.json of the bundle name that place; no command was recorded there"
            }
        }),
        RunError::Home(_) => CliError::new(Outcome::Unreadable, "PLACE", message)
            .hint("change into the folder of the project"),
        RunError::Temporary { .. } => CliError::new(Outcome::Unreadable, "TMPDIR", message).hint(
            "set TMPDIR to a folder that you may write to, outside the recorded one",
        ),
        RunError::Read { source, .. } => {
            CliError::new(Outcome::Unreadable, "INPUT", format!("{message}: {source}"))
                .hint("check the name and your right to read it")
        }
        RunError::Loopback(source) => CliError::new(
            Outcome::Unreadable,
            "LISTEN",
            format!("{message}: {source}"),
        ),
                RunError::Sandbox(SandboxError::Execute { program, source })
            if source.raw_os_error() == Some(NO_PROGRAM_FORMAT) =>
        {
            CliError::new(
                Outcome::Unreadable,
                "EXECUTE",
                format!("`{}` could not be started: {source}", program.escape_debug()),
            )
            .hint("a script says in its first line what runs it, such as `#!/bin/sh`; or name that: `sh SCRIPT`")
        }
        RunError::Sandbox(SandboxError::Execute { program, source }) => CliError::new(
            Outcome::Unreadable,
            "EXECUTE",
            format!("`{}` could not be started: {source}", program.escape_debug()),
        )
        .hint("its interpreter may be missing, or hidden from commands; `--show-world` shows what they see, `--input PATH` opens more"),
        RunError::Sandbox(error) => CliError::diagnosed(diagnose(&error), None),
    }
}

/// Shows the last lines of a failed command's standard error, with hidden characters written out.
fn show_end(stderr: &[u8]) {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().collect();
    let skipped = lines.len().saturating_sub(SHOWN_LINES);
    if skipped > 0 {
        ui::tell(&format!("… {skipped} lines before"));
    }
    for line in &lines[skipped..] {
        ui::tell(line);
    }
}

/// Reports why artifacts were not copied into the folder. The bundle is complete anyway.
pub fn apply_error(error: ApplyError, bundle: &Path) -> CliError {
    let message = error.to_string();
    let failure = match error {
        ApplyError::Changed(_) => CliError::new(Outcome::Invalid, "CHANGED", message),
        ApplyError::OtherKind(_) | ApplyError::Mounted(_) => {
            CliError::new(Outcome::Invalid, "APPLY", message)
        }
        ApplyError::Output(_) => CliError::new(Outcome::Unreadable, "OUTPUT", message),
        ApplyError::Write(error) => CliError::new(
            Outcome::Unreadable,
            "WRITE",
            format!("{error}: {}; nothing was applied", error.source),
        ),
        ApplyError::Partly { source, .. } => CliError::new(
            Outcome::Unreadable,
            "WRITE",
            format!("{source}: {}; {message}", source.source),
        ),
    };
    failure.hint(format!(
        "the run is sealed: `{}` has everything under artifacts/",
        bundle.display()
    ))
}
