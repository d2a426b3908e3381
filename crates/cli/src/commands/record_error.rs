//! Reports why a recording sealed nothing.

use std::path::Path;

use runseal_core::verify::Outcome;
use runseal_fs::models::SECRET_HINT;
use runseal_runs::record::ProgramError;
use runseal_runs::record::apply::ApplyError;
use runseal_runs::record::run::RunError;
use runseal_runs::record::seal::RecordError;
use runseal_runs::run::seal::SealError;
use runseal_sandbox::{Limit, SandboxError};

use super::sandbox_level::missing_layer;
use super::seal::{print_rejected, sandbox_error, seal_error};
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
            match (limit, find_scarce(&stderr)) {
                (Some(limit), _) if is_stopped => failure.hint(format!(
                    "{}; a run that a limit stopped is never sealed",
                    more_room(limit)
                )),
                (Some(limit), _) => failure.hint(more_room(limit)),
                (None, Some(scarce)) => failure.hint(scarce.hint()),
                (None, None) => failure.hint("files outside this folder are there with `--input PATH` only; `--keep-failed` seals a failed run, marked as one"),
            }
        }
        RecordError::Interrupted | RecordError::Run(RunError::Sandbox(SandboxError::Cancelled)) => {
            CliError::new(
                Outcome::Interrupted,
                "INTERRUPTED",
                format!("the command was ended and nothing was {done}"),
            )
        }
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
        RecordError::Files(error) => seal_error(SealError::Files(error)),
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
        Limit::WorkBytes => "`--artifact-bytes` lets it write more, in one file and in all",
        Limit::WorkFiles => "it may write that many files at the most: let it pack them into one",
        Limit::Temporary => "`--env TMPDIR=$PWD` leads its temporary files into the folder",
        Limit::Stdout | Limit::Stderr => {
            "let it write its output to a file: `sh -c 'COMMAND > out.txt'`"
        }
        Limit::Memory => "that is the most memory that a recorded command gets",
    }
}

/// What a command says it ran out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scarce {
    Space,
    Memory,
    Files,
    Processes,
}

impl Scarce {
    /// The words for it: those of the C library and of some languages.
    const WORDS: [(&'static str, Scarce); 8] = [
        ("No space left on device", Scarce::Space),
        ("Disk quota exceeded", Scarce::Space),
        ("Cannot allocate memory", Scarce::Memory),
        ("MemoryError", Scarce::Memory),
        ("OutOfMemoryError", Scarce::Memory),
        ("bad_alloc", Scarce::Memory),
        ("Too many open files", Scarce::Files),
        ("Resource temporarily unavailable", Scarce::Processes),
    ];

    fn hint(self) -> String {
        let limits = runseal_runs::record::run::policy();
        let mebibytes = |bytes: u64| bytes >> 20;
        match self {
            Self::Space => format!(
                "/tmp in the sandbox has {} MiB; `--artifact-bytes` bounds what is written in the folder, where \
                 `TMPDIR` may lead to (`--env TMPDIR=$PWD`)",
                mebibytes(limits.tmp_bytes)
            ),
            Self::Memory => format!(
                "a recorded command gets at most {} MiB of memory",
                mebibytes(limits.memory_bytes)
            ),
            Self::Files => format!(
                "a process of a recorded command may have {} files open",
                limits.open_files
            ),
            Self::Processes => format!(
                "a recorded command may have {} processes and threads",
                limits.processes
            ),
        }
    }
}

/// What a failed command ran out of, by the last such words on its standard error.
fn find_scarce(stderr: &[u8]) -> Option<Scarce> {
    let text = String::from_utf8_lossy(stderr);
    let found = Scarce::WORDS
        .iter()
        .filter_map(|(words, scarce)| Some((text.rfind(words)?, *scarce)));
    found.max_by_key(|(at, _)| *at).map(|(_, scarce)| scarce)
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
        RunError::Input { .. } => CliError::new(Outcome::Unreadable, "PLACE", message)
            .hint("RUN_INPUT.json of the bundle names that place"),
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
        RunError::Sandbox(SandboxError::Missing(missing)) => missing_layer(&missing),
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
        .hint("its interpreter may be missing, or where the sandbox does not show it; `--input PATH` shows a folder"),
        RunError::Sandbox(error) => sandbox_error(&error),
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
    use super::{Scarce, find_scarce};

    #[test]
    fn scarce_is_the_last_one_named() {
        let said = |text: &str| find_scarce(text.as_bytes());
        assert_eq!(
            said("OSError: [Errno 28] No space left on device"),
            Some(Scarce::Space)
        );
        assert_eq!(
            said("MemoryError\nOSError: Too many open files"),
            Some(Scarce::Files)
        );
        assert_eq!(
            said("fork: Resource temporarily unavailable"),
            Some(Scarce::Processes)
        );
        assert_eq!(said("No such file or directory"), None);
        assert!(Scarce::Space.hint().contains("256 MiB"));
    }
}
