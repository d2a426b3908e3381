//! `runseal work`: a machine that works on queued tasks.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_text, parse_document};
use runseal_core::verify::Outcome;
use runseal_store::job::worker::{WorkOptions, run_workers};
use runseal_store::queue::worker::{ReplayEnd, TaskTools, TaskWorkOptions, run_task_workers};
use runseal_store::store::TaskKind;

use super::job::place::StoreArgs;
use super::job::work::parse_lease;
use crate::error::CliError;
use crate::places::uncached_files;
use crate::ui;

/// How long a waiting worker sleeps before it looks again, unless it is notified.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// The most bytes that a replay may answer.
const LARGEST_ANSWER: u64 = 64 << 20;

/// Do what is queued in a store, on any number of machines.
///
/// Sealed runs are verified and replayed, and the steps of jobs are read. Any number of machines
/// may work on one store. A machine that dies leaves leases that run out, and others do its work;
/// its late results are refused. Ends when nothing is open, or with --stay when it is stopped.
///
/// Exit 0: all that was done here is valid, reproduced or read. Exit 1: something is not.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  RUNSEAL_STORE=postgres://runseal@db/jobs runseal work --stay --workers 4"
)]
pub struct Args {
    /// Only this kind of work; may be given several times.
    #[arg(long, value_name = "KIND", value_parser = ["verify", "replay", "read"])]
    only: Vec<String>,
    /// The number of workers.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
    /// How long a task is held without a sign of life before others take it over.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = parse_lease)]
    lease: f64,
    /// The name that results carry; several workers add their number. By default the host and the process.
    #[arg(long, value_name = "ID")]
    worker_id: Option<String>,
    /// The folder that paths of tasks and sources of jobs are below; by default this one.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Wait for more when nothing is open.
    #[arg(long)]
    stay: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// What this process has done so far.
#[derive(Default)]
struct Totals {
    good: u64,
    bad: u64,
    not_done: u64,
    overtaken: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let does = |kind: &str| args.only.is_empty() || args.only.iter().any(|only| only == kind);
    let mut store = args.store.open()?;
    let root = args.store.root(args.root.as_deref());
    // Reports name places as they were queued, so relative paths must resolve from the root.
    std::env::set_current_dir(&root).map_err(|error| {
        let message = format!("cannot work in `{}`: {error}", root.display());
        CliError::new(Outcome::Unreadable, "ROOT", message).hint("--root names the folder")
    })?;
    let worker_id = args.worker_id.clone().unwrap_or_else(own_name);
    let kinds: Vec<_> = TaskKind::ALL
        .into_iter()
        .filter(|kind| does(kind.name()))
        .collect();
    let tasks = TaskWorkOptions {
        kinds,
        workers: usize::from(args.workers),
        lease_seconds: args.lease,
        worker_id: worker_id.clone(),
    };
    let steps = WorkOptions {
        run_id: None,
        workers: usize::from(args.workers),
        lease_seconds: args.lease,
        worker_id,
    };
    let mut totals = Totals::default();
    loop {
        if !tasks.kinds.is_empty() {
            let tools = TaskTools {
                files: &uncached_files,
                replay: &replay,
            };
            let done = run_task_workers(again(args)?, &tasks, tools)?;
            totals.good += done.good;
            totals.bad += done.bad;
            totals.not_done += done.not_done;
            totals.overtaken += done.overtaken;
        }
        if does("read") && store.has_open_steps(None)? {
            let done = run_workers(again(args)?, Path::new("."), &steps)?;
            totals.good += done.succeeded;
            totals.bad += done.failed;
            totals.overtaken += done.overtaken;
        }
        if !args.stay {
            break;
        }
        store.wait_for_work(LOOK_AGAIN);
    }
    let printed = Value::object([
        ("good", totals.good),
        ("bad", totals.bad),
        ("not_done", totals.not_done),
        ("overtaken", totals.overtaken),
    ]);
    ui::print_json(&printed, Dialect::Kernel)?;
    Ok(match totals.bad + totals.not_done {
        0 => Outcome::Valid,
        _ => Outcome::Invalid,
    })
}

fn again(args: &Args) -> Result<Box<dyn runseal_store::store::Store>, CliError> {
    args.store.open()
}

/// A name that no other running worker has: host and process id.
fn own_name() -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy().into_owned();
    format!("{host}-{}", std::process::id())
}

/// Replays in a separate process, so that whatever the run does cannot harm the worker.
fn replay(path: &Path, lost: &AtomicBool) -> ReplayEnd {
    let not_here = |error: std::io::Error| ReplayEnd::NotHere(error.to_string());
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return not_here(error),
    };
    let mut command = Command::new(program);
    // A name that starts with a dash is a name.
    command.args(["--quiet", "replay", "--format", "json", "--"]);
    match finish(command.arg(path), LARGEST_ANSWER, lost) {
        Ok(Some((status, out, err))) => judge(status.code(), &out, &err),
        Ok(None) => ReplayEnd::NotHere(format!("its answer has more than {LARGEST_ANSWER} bytes")),
        Err(error) => not_here(error),
    }
}

/// How a process ended, and what it wrote to standard output and standard error.
type Finished = (ExitStatus, Vec<u8>, Vec<u8>);

/// Runs a command to its end, or until the task is lost. `None` if it was stopped because it wrote more than
/// `limit` bytes.
fn finish(
    command: &mut Command,
    limit: u64,
    lost: &AtomicBool,
) -> std::io::Result<Option<Finished>> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let is_too_long = AtomicBool::new(false);
    thread::scope(|scope| {
        // Each pipe ends with its reader, so nothing waits for what is not read.
        let out = thread::Builder::new().spawn_scoped(scope, || read_all(out, limit, &is_too_long));
        let err = thread::Builder::new().spawn_scoped(scope, || read_all(err, limit, &is_too_long));
        let (out, err) = match (out, err) {
            (Ok(out), Ok(err)) => (out, err),
            (Err(error), _) | (_, Err(error)) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        };
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if lost.load(Ordering::Relaxed) || is_too_long.load(Ordering::Relaxed) => {
                    let _ = child.kill();
                    break child.wait();
                }
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Err(error) => break Err(error),
            }
        };
        let (out, err) = (
            out.join().unwrap_or_default(),
            err.join().unwrap_or_default(),
        );
        let status = status?;
        Ok((!is_too_long.load(Ordering::Relaxed)).then_some((status, out, err)))
    })
}

fn read_all(from: Option<impl Read>, limit: u64, is_too_long: &AtomicBool) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // On an error, what was read so far is still worth showing.
        let _ = from.take(limit + 1).read_to_end(&mut bytes);
    }
    if bytes.len() as u64 > limit {
        is_too_long.store(true, Ordering::Relaxed);
    }
    bytes
}

/// Interprets a replay's exit code and output.
///
/// A result is kept for the content, so only a verdict that the replay printed becomes one. How else it
/// ended (an option that is missing or wrong, a file that cannot be read) says nothing about the content.
fn judge(code: Option<i32>, out: &[u8], err: &[u8]) -> ReplayEnd {
    let said = String::from_utf8_lossy(err).trim().to_owned();
    let document = parse_document(out, &ReadOptions::default()).ok();
    let report = document
        .as_ref()
        .and_then(|document| canonical_text(document.root(), Dialect::Kernel).ok());
    let verdict = document.as_ref().and_then(|document| {
        let verdict = document.root().get("verdict")?;
        verdict
            .as_str()
            .map(|text| text.to_lowercase().replace('_', " "))
    });
    match (code, verdict, report) {
        (Some(0 | 1), Some(outcome), Some(report)) => ReplayEnd::Judged { outcome, report },
        // The replay of a job bundle prints a receipt, not a verdict.
        (Some(0), None, Some(report)) => ReplayEnd::Judged {
            outcome: "reproduced".to_owned(),
            report,
        },
        _ => ReplayEnd::NotHere(said.lines().next().unwrap_or("it was stopped").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replay_without_a_verdict_gives_no_result() {
        let verdict = br#"{"verdict":"NOT REPLAYABLE"}"#;
        let judged = judge(Some(1), verdict, b"");
        assert!(
            matches!(&judged, ReplayEnd::Judged { outcome, .. } if outcome == "not replayable"),
            "{judged:?}"
        );
        for (code, out) in [
            (Some(64), &b""[..]),
            (Some(64), verdict),
            (Some(1), b""),
            (Some(1), b"{}"),
            (Some(2), verdict),
            (None, verdict),
        ] {
            let end = judge(code, out, b"error: why\nhint: how");
            let why = ReplayEnd::NotHere("error: why".to_owned());
            assert_eq!(end, why, "{code:?} {}", out.escape_ascii());
        }
    }

    fn run(script: &str, limit: u64) -> Option<Finished> {
        let mut command = Command::new("sh");
        let lost = AtomicBool::new(false);
        finish(command.args(["-c", script]), limit, &lost).unwrap()
    }

    #[test]
    fn process_that_writes_more_than_the_limit_is_stopped() {
        for script in [
            "exec yes",
            "exec yes >&2",
            "trap '' PIPE; exec yes; sleep 1000",
        ] {
            assert_eq!(run(script, 100_000), None, "{script}");
        }
    }

    #[test]
    fn process_that_writes_up_to_the_limit_is_read() {
        let (status, out, err) = run("printf 12345; printf 678 >&2; exit 3", 5).unwrap();
        assert_eq!(
            (status.code(), &*out, &*err),
            (Some(3), &b"12345"[..], &b"678"[..])
        );
        assert_eq!(run("printf 123456", 5), None);
    }
}
