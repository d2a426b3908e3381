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

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use runseal_fs::models::SecretSearchError;
    use runseal_runs::record::ProgramError;
    use runseal_sandbox::outputs::OutputError;

    use super::*;

    fn reported(error: RecordError, doing: Doing) -> String {
        let error = record_error(error, true, doing).unwrap_err();
        format!("{:?} {error}", error.outcome)
    }

    fn failed(limit: Option<Limit>, is_stopped: bool) -> RecordError {
        RecordError::Failed {
            how: "exited with 3".to_owned(),
            stderr: Vec::new(),
            is_stopped,
            limit,
            refused: Vec::new(),
        }
    }

    fn execute(errno: i32) -> RecordError {
        RecordError::Run(RunError::Sandbox(SandboxError::Execute {
            program: "tool".to_owned(),
            source: io::Error::from_raw_os_error(errno),
        }))
    }

    fn place() -> RecordError {
        RecordError::Run(RunError::Place {
            path: PathBuf::from("/proc"),
            reason: "it is the kernel's".to_owned(),
        })
    }

    #[test]
    fn recording_errors_are_reported_in_these_words() {
        let program = |error| RecordError::Run(RunError::Program(error));
        let cases = [
            (failed(None, false), "Invalid FAILED: the command exited with 3; nothing was sealed\nhint: `--keep-failed` seals a failed run, marked as one; `--show-world` shows what the command sees"),
            (failed(Some(Limit::Memory), false), "Invalid FAILED: the command exited with 3; nothing was sealed\nhint: `--memory` lets it have more"),
            (failed(Some(Limit::WallTime), true), "Invalid FAILED: the command exited with 3; nothing was sealed\nhint: `--timeout` gives it more time; `--keep-failed` seals what there was when it was stopped, marked as that"),
            (RecordError::Interrupted, "Interrupted INTERRUPTED: the command was ended and nothing was sealed"),
            (RecordError::CommandInterrupted, "Interrupted INTERRUPTED: the command was ended and nothing was sealed\nhint: `--keep-failed` seals what it had written, marked as interrupted"),
            (RecordError::Run(SandboxError::Cancelled.into()), "Interrupted INTERRUPTED: the command was ended and nothing was sealed"),
            (RecordError::Secret { name: "KEY".to_owned(), files: vec!["artifacts/a".to_owned()] }, "Invalid SECRET: the value of `KEY` is not to be sealed, and stands in `artifacts/a`; nothing was sealed\nhint: keep the command from writing and printing it; `--keep GLOB` leaves out files that it writes"),
            (RecordError::Seed("s".to_owned()), "Invalid SEED: the command read `s`, the seed of a redactable bundle, which is for you alone; nothing was sealed\nhint: keep the command from reading the folder of bundles, or keep bundles elsewhere with `--out DIR`"),
            (RecordError::Changed("a".to_owned()), "Invalid CHANGED: `a` changed while the command ran: what was read cannot be sealed\nhint: record again while nothing else writes to the folder"),
            (RecordError::Sparse { path: "a".to_owned(), bytes: 7 }, "Invalid SPARSE: `a` has 7 bytes, of which hardly any are on disk: it is not sealed, and neither is the run\nhint: `--reference-above 64M` seals the hashes of large files only, which have to be read for it"),
            (RecordError::Left { path: "a".to_owned(), reason: "it is a socket".to_owned() }, "Invalid LEFT: the command left `a`, which cannot be sealed: it is a socket\nhint: `--keep GLOB` chooses which of the files it writes are sealed; the rest is left out"),
            (RecordError::Output(OutputError::TooMany { most: 3 }), "Unreadable OUTPUT: more than 3 files and folders"),
            (RecordError::AskedNoModels, "Usage USAGE: the run asked no models, so there is no call to fork at\nhint: leave --fork-at out; `runseal record --proxy` records what models are asked"),
            (RecordError::NamesNoFiles, "Usage USAGE: an engine's run has all of its input in the bundle, so no file can be given for it\nhint: leave --input out"),
            (RecordError::ComparesExactly, "Usage USAGE: an engine's results are compared exactly, as document 004 demands\nhint: leave --compare out"),
            (RecordError::AskedModels, "Invalid MODELS: the run asked models, and this build cannot answer for them\nhint: build runseal with its feature `net`, as releases are"),
            (RecordError::Models("x".to_owned()), "Invalid MODELS: what models were asked cannot be sealed: x\nhint: `runseal proxy record --help` says what is recorded, and what is never kept"),
            (RecordError::ModelReplay("x".to_owned()), "Invalid MODELS: the recorded calls of models cannot be answered: x\nhint: model_io.json in the bundle has the calls; --fork-at names one of them"),
            (RecordError::ProxySecret(SecretSearchError::Found { file: "a".to_owned(), kind: "key".to_owned() }), "Invalid SECRET: `a` holds a secret of kind `key`, which went through the proxy; nothing was sealed\nhint: nothing was kept; let the command neither print nor write it, or leave the file out with `--keep`"),
            (RecordError::Run(RunError::NoCommand), "Usage USAGE: there is no command\nhint: write it after `--`"),
            (program(ProgramError::NotOnPath("tool".to_owned())), "Unreadable NO_PROGRAM: there is no program `tool`: it is not on the PATH\nhint: check its name; a script of the current folder is written as `./script`"),
            (program(ProgramError::Missing("./tool".to_owned())), "Unreadable NO_PROGRAM: there is no file `./tool`\nhint: check its name and its rights"),
            (place(), "Unreadable PLACE: `/proc` cannot be shown to the command: it is the kernel's\nhint: record in a folder of your own, such as one in your home"),
            (RecordError::Run(RunError::Home(PathBuf::from("/root"))), "Unreadable PLACE: `/root` is your home folder: everything in it would be shown to the command\nhint: change into the folder of the project"),
            (RecordError::Run(RunError::Temporary { path: PathBuf::from("/t"), reason: "it is full".to_owned() }), "Unreadable TMPDIR: temporary files cannot be kept in `/t`: it is full\nhint: set TMPDIR to a folder that you may write to, outside the recorded one"),
            (RecordError::Run(RunError::Read { path: PathBuf::from("a"), source: io::Error::other("no disk") }), "Unreadable INPUT: `a` could not be read: no disk\nhint: check the name and your right to read it"),
            (RecordError::Run(RunError::Loopback(io::Error::other("no port"))), "Unreadable LISTEN: no port can be listened on for models: no port"),
            (execute(8), "Unreadable EXECUTE: `tool` could not be started: Exec format error (os error 8)\nhint: a script says in its first line what runs it, such as `#!/bin/sh`; or name that: `sh SCRIPT`"),
            (execute(2), "Unreadable EXECUTE: `tool` could not be started: No such file or directory (os error 2)\nhint: its interpreter may be missing, or hidden from commands; `--show-world` shows what they see, `--input PATH` opens more"),
        ];
        for (error, expected) in cases {
            assert_eq!(reported(error, Doing::Record), expected);
        }
    }

    #[test]
    fn replay_errors_are_reported_in_these_words() {
        let cases = [
            (failed(Some(Limit::WorkBytes), true), "Unreadable LIMIT: the command exited with 3, which the sealed run did not: nothing was compared\nhint: `--disk` lets it write more"),
            (RecordError::Interrupted, "Interrupted INTERRUPTED: the command was ended and nothing was compared"),
            (RecordError::Room { needed: 9, allowed: 4 }, "Unreadable LIMIT: the sealed run left 9 bytes, and its replay may write 4: nothing was compared\nhint: `--artifact-bytes` lets it write more, which takes at least 9; beyond 1 GiB it writes to your disk"),
            (place(), "Unreadable PLACE: `/proc` cannot be shown to the command: it is the kernel's\nhint: RUN_ENVIRONMENT.json and RUN_INPUT.json of the bundle name that place; no command was recorded there"),
        ];
        for (error, expected) in cases {
            assert_eq!(reported(error, Doing::Replay), expected);
        }
    }
}
