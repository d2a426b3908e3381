//! `runseal log`: an append-only log of what was sealed and signed.

mod append;
mod audit;
mod checkpoint;
mod cosign;
mod init;
mod place;
mod prove;
mod verify;

use std::path::Path;

use runseal_core::digest::Digest;
use runseal_core::formats::ledger::{LedgerView, line_hash, parse_lines, verify_ledger};
use runseal_core::limits::JsonLimits;
use runseal_core::verify::{Level, Outcome, Surface};
use runseal_fs::input::read_file;
use runseal_survey::signing::{Signable, read_beside, read_signable};
use runseal_trust::budget::Budget;
use runseal_trust::check::{FoundSignature, KnownSigners, SignatureChecker};
use runseal_trust::log::{LogEntry, SignedNote};

pub use place::LogPlace;
pub use verify::PolicyArgs;

use super::commands;
use crate::error::{CliError, Named};
use crate::places::files_for;

/// Keep an append-only log that shows when something is missing.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: LogCommand,
}

commands! {
    /// The commands for logs.
    enum LogCommand {
        Init(init),
        Append(append),
        Checkpoint(checkpoint),
        Cosign(cosign),
        Prove(prove),
        Verify(verify),
        Audit(audit),
    }
}

impl Args {
    /// Whose exit codes the command has.
    pub fn surface(&self) -> Surface {
        self.command.surface()
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    args.command.run()
}

/// Reads the checkpoint in a file.
fn read_note(path: &Path) -> Result<SignedNote, CliError> {
    let bytes = read_file(path, 1 << 20)?;
    let text = String::from_utf8(bytes).ok();
    let note = text.and_then(|text| SignedNote::parse(&text).ok());
    note.ok_or_else(|| {
        CliError::new(
            Outcome::Unreadable,
            "CHECKPOINT",
            "it is not a signed checkpoint",
        )
        .at(path.display().to_string())
        .hint("`runseal log checkpoint LOG` prints one")
    })
}

/// Appends the digests of what was just made to a log, and the ledger's line about it if a ledger
/// is given. Both are on disk when this returns. Where the digest of the file that stands for it is
/// known, nothing else at `path` is taken for it.
pub fn append_target(
    log: &LogPlace,
    (path, made): (&Path, Option<&Digest>),
    ledger: Option<(&Path, &str)>,
) -> Result<(), CliError> {
    let target = signable_at(path)?.target;
    let found = target.file.as_ref().map(|(_, digest)| digest);
    if made.is_some() && made != found {
        let message = "it was swapped for something else after it was made; nothing was logged";
        return Err(CliError::new(Outcome::Unreadable, "SWAPPED", message)
            .at(path.display().to_string())
            .hint("name a folder with `--out` that nobody else can change"));
    }
    let mut entries = vec![LogEntry::of_target(&target)];
    if let Some((ledger, run_id)) = ledger {
        let lines = ledger_entries(ledger)?;
        let line = lines.into_iter().find(|(id, _)| id == run_id);
        entries.extend(line.map(|(_, entry)| entry));
    }
    let entries: Result<Vec<_>, _> = entries.iter().map(LogEntry::to_bytes).collect();
    let entries = entries.map_err(|error| CliError::internal(error.to_string()))?;
    let append = || {
        let mut appender = log.open_to_append()?;
        let appended = appender
            .check_last()
            .and_then(|()| appender.append(&entries));
        appended.map(drop).map_err(|error| log.error(&error))
    };
    append().map_err(|error| {
        error.hint(
            "it was made, but is not in the log yet: `runseal log append --unsigned` appends it",
        )
    })
}

/// The unit at `path`, as statements and entries name it.
fn signable_at(path: &Path) -> Result<Signable, CliError> {
    let signable = read_signable(files_for([path]), path, Level::Integrity);
    signable.named(path.display())
}

/// The entries that can be of what is at `path`: of statements signed about it, and of its digests,
/// by which it may have been logged before it was signed. What else lies beside it does not count.
fn entries_for(path: &Path) -> Result<Vec<LogEntry>, CliError> {
    let signable = signable_at(path)?;
    let beside = entries_beside(path, &signable)?.into_iter();
    let entries = beside.filter_map(Result::ok);
    let own = LogEntry::of_target(&signable.target);
    Ok(entries.chain([own]).collect())
}

/// The entry of each line of a ledger, with the line's run id. The ledger must be valid.
fn ledger_entries(path: &Path) -> Result<Vec<(String, LogEntry)>, CliError> {
    let bytes = read_file(path, JsonLimits::LARGEST_DOCUMENT)?;
    let lines = parse_lines(&bytes);
    let report = verify_ledger(&LedgerView { lines: &lines }, Level::Integrity);
    if let Some(finding) = report.findings().first() {
        let message = format!("it is not a valid ledger: {}", finding.message);
        return Err(CliError::new(Outcome::Unreadable, "LEDGER", message)
            .at(path.display().to_string())
            .hint("`runseal ledger verify` says more; nothing was appended"));
    }
    let entries = lines.iter().filter_map(|line| {
        let document = line.entry.as_ref().ok()?;
        let run_id = document.root().get("run_id")?.as_lossy_str()?.into_owned();
        let hash = line_hash(line.text);
        Some((run_id, LogEntry::of_ledger_line(&hash.digest())))
    });
    Ok(entries.collect())
}

/// The entry of each statement next to what is at `path`; an error for a statement that is about something
/// else, names more than this, or whose signature is not valid.
fn entries_beside(
    path: &Path,
    signable: &Signable,
) -> Result<Vec<Result<LogEntry, CliError>>, CliError> {
    let refused = |fault: &str, place: &str| {
        CliError::new(Outcome::Unreadable, "SIGNATURES", fault)
            .at(place)
            .hint("nothing was appended")
    };
    let found = read_beside(files_for([path]), path);
    for one in &found {
        if let FoundSignature::Damaged(_, fault) | FoundSignature::Unread(_, fault) = &one.signature
        {
            return Err(refused(fault, &one.place));
        }
    }
    let (known, mut budget) = (KnownSigners::default(), Budget::of_unit());
    let mut checker = SignatureChecker::new(&found, &known, &mut budget);
    let statements = checker.find_statements(signable.about()).into_iter();
    let entries = statements.map(|one| match (one.fault, one.names_more) {
        (Some(fault), _) => Err(refused(fault, one.place)),
        // An entry is about one run: the others could be kept back, and nothing would be missing.
        (None, true) => Err(refused(
            "the statement names more than this, but an entry is about one thing",
            one.place,
        )),
        (None, false) => LogEntry::of_envelope(one.envelope)
            .map_err(|error| refused(&error.to_string(), one.place)),
    });
    Ok(entries.collect())
}
