//! Reports why a recording sealed nothing.

use runseal_core::verify::Outcome;
use runseal_runs::record::error::limit_hint;
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
    let reported = CliError::from(&error);
    let done = match doing {
        Doing::Record => "sealed",
        Doing::Replay => "compared",
    };
    let ended = format!("the command was ended and nothing was {done}");
    Err(match error {
        RecordError::Failed { how, limit, .. } if doing == Doing::Replay => {
            let stopped = reported.instead(Outcome::Unreadable, "LIMIT").message(format!(
                "the command {how}, which the sealed run did not: nothing was compared"
            ));
            match limit {
                Some(Limit::Temporary | Limit::Stdin | Limit::Stdout | Limit::Stderr) => stopped.hint(
                    "no option raises this one, which the sealed run did not reach: the command does something else here",
                ),
                _ => stopped,
            }
        }
        RecordError::Failed {
            how,
            stderr,
            is_stopped,
            limit,
            refused,
        } => {
            if !was_shown {
                show_end(&stderr);
            }
            for asked in refused {
                ui::note(&format!("there is no network in the sandbox: {asked}"));
            }
            let failure = reported.message(format!("the command {how}; nothing was sealed"));
            match limit {
                Some(limit) if is_stopped => failure.hint(format!(
                    "{}; `--keep-failed` seals what there was when it was stopped, marked as that",
                    limit_hint(limit)
                )),
                Some(_) => failure,
                None => failure.hint(
                    "`--keep-failed` seals a failed run, marked as one; `--show-world` shows what the command sees",
                ),
            }
        }
        RecordError::Interrupted | RecordError::Run(RunError::Sandbox(SandboxError::Cancelled)) => {
            reported.message(ended)
        }
        RecordError::CommandInterrupted => reported
            .message(ended)
            .hint("`--keep-failed` seals what it had written, marked as interrupted"),
        RecordError::Run(RunError::Place { .. }) => reported.hint(match doing {
            Doing::Record => "record in a folder of your own, such as one in your home",
            Doing::Replay => {
                "RUN_ENVIRONMENT.json and RUN_INPUT.json of the bundle name that place; no command was recorded there"
            }
        }),
        RecordError::AskedModels => reported
            .message("the run asked models, and this build cannot answer for them")
            .hint("build runseal with its feature `net`, as releases are"),
        RecordError::Rejected(findings) => return print_rejected(&findings),
        _ => reported,
    })
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
            (
                failed(None, false),
                "Invalid FAILED: the command exited with 3; nothing was sealed\nhint: `--keep-failed` seals a failed run, marked as one; `--show-world` shows what the command sees",
            ),
            (
                failed(Some(Limit::Memory), false),
                "Invalid FAILED: the command exited with 3; nothing was sealed\nhint: `--memory` lets it have more",
            ),
            (
                failed(Some(Limit::WallTime), true),
                "Invalid FAILED: the command exited with 3; nothing was sealed\nhint: `--timeout` gives it more time; `--keep-failed` seals what there was when it was stopped, marked as that",
            ),
            (
                RecordError::Interrupted,
                "Interrupted INTERRUPTED: the command was ended and nothing was sealed",
            ),
            (
                RecordError::CommandInterrupted,
                "Interrupted INTERRUPTED: the command was ended and nothing was sealed\nhint: `--keep-failed` seals what it had written, marked as interrupted",
            ),
            (
                RecordError::Run(SandboxError::Cancelled.into()),
                "Interrupted INTERRUPTED: the command was ended and nothing was sealed",
            ),
            (
                RecordError::Secrets {
                    found: Vec::new(),
                    kept: Some(PathBuf::from("/k")),
                },
                "Invalid SECRET: secrets are not sealed unasked, and there are some in ; nothing was sealed, and what the command left is in `/k`\nhint: `--hide PATH` keeps a file from the command, `--keep GLOB` leaves out files that it writes, `--secret NAME` gives it a variable unsealed; `--allow-secret GLOB` seals a file with what looks like one, and says so",
            ),
            (
                RecordError::Seed("s".to_owned()),
                "Invalid SEED: the command read `s`, the seed of a redactable bundle, which is for you alone; nothing was sealed\nhint: keep the command from reading the folder of bundles, or keep bundles elsewhere with `--out DIR`",
            ),
            (
                RecordError::Changed("a".to_owned()),
                "Invalid CHANGED: `a` changed while the command ran: what was read cannot be sealed\nhint: record again while nothing else writes to the folder",
            ),
            (
                RecordError::Sparse {
                    path: "a".to_owned(),
                    bytes: 7,
                },
                "Invalid SPARSE: `a` has 7 bytes, and hardly any of them are on disk: it is not sealed, and neither is the run\nhint: `--reference-above 64M` seals the hashes of large files only, which have to be read for it",
            ),
            (
                RecordError::Left {
                    path: "a".to_owned(),
                    reason: "it is a socket".to_owned(),
                },
                "Invalid LEFT: the command left `a`, which cannot be sealed: it is a socket\nhint: `--keep GLOB` chooses which of the files it writes are sealed; the rest is left out",
            ),
            (
                RecordError::Output(OutputError::TooMany { most: 3 }),
                "Unreadable OUTPUT: more than 3 files and folders",
            ),
            (
                RecordError::AskedNoModels,
                "Usage USAGE: the run asked no models, so there is no call to fork at\nhint: leave --fork-at out; `runseal record --proxy` records what models are asked",
            ),
            (
                RecordError::NamesNoFiles,
                "Usage USAGE: an engine's run has all of its input in the bundle, so no file can be given for it\nhint: leave --input out",
            ),
            (
                RecordError::ComparesExactly,
                "Usage USAGE: an engine's results are compared exactly, as document 004 demands\nhint: leave --compare out",
            ),
            (
                RecordError::AskedModels,
                "Invalid MODELS: the run asked models, and this build cannot answer for them\nhint: build runseal with its feature `net`, as releases are",
            ),
            (
                RecordError::Models("x".to_owned()),
                "Invalid MODELS: what models were asked cannot be sealed: x\nhint: `runseal proxy record --help` says what is recorded, and what is never kept",
            ),
            (
                RecordError::ModelReplay("x".to_owned()),
                "Invalid MODELS: the recorded calls of models cannot be answered: x\nhint: model_io.json in the bundle has the calls; --fork-at names one of them",
            ),
            (
                RecordError::ProxySecret(SecretSearchError::Found {
                    file: "a".to_owned(),
                    kind: "key".to_owned(),
                }),
                "Invalid SECRET: `a` holds a secret of kind `key`, which went through the proxy; nothing was sealed\nhint: nothing was kept; let the command neither print nor write it, or leave the file out with `--keep`",
            ),
            (
                RecordError::Run(RunError::NoCommand),
                "Usage USAGE: there is no command\nhint: write it after `--`",
            ),
            (
                program(ProgramError::NotOnPath("tool".to_owned())),
                "Unreadable NO_PROGRAM: there is no program `tool`: it is not on the PATH\nhint: check its name; a script of the current folder is written as `./script`",
            ),
            (
                program(ProgramError::Missing("./tool".to_owned())),
                "Unreadable NO_PROGRAM: there is no file `./tool`\nhint: check its name and its rights",
            ),
            (
                place(),
                "Unreadable PLACE: `/proc` cannot be shown to the command: it is the kernel's\nhint: record in a folder of your own, such as one in your home",
            ),
            (
                RecordError::Run(RunError::Home(PathBuf::from("/root"))),
                "Unreadable PLACE: `/root` is your home folder: everything in it would be shown to the command\nhint: change into the folder of the project",
            ),
            (
                RecordError::Run(RunError::Temporary {
                    path: PathBuf::from("/t"),
                    reason: "it is full".to_owned(),
                }),
                "Unreadable TMPDIR: temporary files cannot be kept in `/t`: it is full\nhint: set TMPDIR to a folder that you may write to, outside the recorded one",
            ),
            (
                RecordError::Run(RunError::Read {
                    path: PathBuf::from("a"),
                    source: io::Error::other("no disk"),
                }),
                "Unreadable INPUT: `a` could not be read: no disk\nhint: check the name and your right to read it",
            ),
            (
                RecordError::Run(RunError::Loopback(io::Error::other("no port"))),
                "Unreadable LISTEN: no port can be listened on for models: no port",
            ),
            (
                execute(8),
                "Unreadable EXECUTE: `tool` could not be started: Exec format error (os error 8)\nhint: a script says in its first line what runs it, such as `#!/bin/sh`; or name that: `sh SCRIPT`",
            ),
            (
                execute(2),
                "Unreadable EXECUTE: `tool` could not be started: No such file or directory (os error 2)\nhint: its interpreter may be missing, or hidden from commands; `--show-world` shows what they see, `--input PATH` opens more",
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(reported(error, Doing::Record), expected);
        }
    }

    #[test]
    fn replay_errors_are_reported_in_these_words() {
        let cases = [
            (
                failed(Some(Limit::WorkBytes), true),
                "Unreadable LIMIT: the command exited with 3, which the sealed run did not: nothing was compared\nhint: `--disk` lets it write more",
            ),
            (
                RecordError::Interrupted,
                "Interrupted INTERRUPTED: the command was ended and nothing was compared",
            ),
            (
                RecordError::Room {
                    what: "bytes",
                    needed: 9,
                    allowed: 4,
                    option: "--disk",
                },
                "Unreadable LIMIT: the sealed run left 9 bytes, and its replay may write 4: nothing was compared\nhint: `--disk 9` lets it write as much",
            ),
            (
                place(),
                "Unreadable PLACE: `/proc` cannot be shown to the command: it is the kernel's\nhint: RUN_ENVIRONMENT.json and RUN_INPUT.json of the bundle name that place; no command was recorded there",
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(reported(error, Doing::Replay), expected);
        }
    }
}
