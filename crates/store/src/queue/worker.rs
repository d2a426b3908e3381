//! Works on tasks: claims one, does it while keeping its lease alive, and ends it with a result.
//!
//! If a worker dies, its lease expires and another takes over the task. If it was only stopped and
//! comes back late, its result is refused. Either way nothing is lost or done twice.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::Duration;

use runseal_core::canon::{Dialect, Value, canonical_text};
use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::digest::Digest;
use runseal_core::verify::Level;
use runseal_core::verify::Outcome;
use runseal_survey::Files;
use thiserror::Error;

use super::level_of;
use super::verify::{Examined, examine};
use crate::store::{ClaimedTask, Finished, Store, StoreError, TaskEnd, TaskKind, TaskResult};
use runseal_fs::threads::Task;

/// The first and the longest pause of a worker that found nothing to do.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// Why work stopped.
#[derive(Debug, Error)]
pub enum TaskWorkError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A worker thread panicked.
    #[error("a worker ended early")]
    Lost,
}

impl Diagnose for TaskWorkError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Store(error) => error.diagnosis(),
            Self::Lost => Diagnosis::of(self, Outcome::Internal, "WORKER"),
        }
    }
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayEnd {
    /// The replay came to a verdict.
    Judged {
        /// The verdict in a word or two: `reproduced`, `diverged`, `not replayable`.
        outcome: String,
        /// The report as JSON.
        report: String,
    },
    /// It could not be done on this machine.
    NotHere(String),
}

/// What a worker needs from its caller to do a task.
#[derive(Clone, Copy)]
pub struct TaskTools<'t> {
    /// Returns the files among which a task's place is.
    pub files: &'t (dyn Fn(&Path) -> Box<dyn Files> + Sync),
    /// Replays what is at a path, and stops when the flag is set.
    pub replay: &'t (dyn Fn(&Path, &AtomicBool) -> ReplayEnd + Sync),
}

/// How to work.
#[derive(Clone, Debug)]
pub struct TaskWorkOptions {
    /// The kinds of tasks to take.
    pub kinds: Vec<TaskKind>,
    /// The number of concurrent workers; at least one.
    pub workers: usize,
    /// The duration of a lease; it is renewed three times within that.
    pub lease_seconds: f64,
    /// The name in results; several workers append their number.
    pub worker_id: String,
}

/// What the workers did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskWorkSummary {
    /// Tasks that ended with a good result.
    pub good: u64,
    /// Tasks that ended with any other result.
    pub bad: u64,
    /// Tasks that were returned to the queue or given up.
    pub not_done: u64,
    /// Results refused because another worker had taken over the task.
    pub overtaken: u64,
}

type Connection = Mutex<Box<dyn Store>>;

/// Works until no task of these kinds is open.
pub fn run_task_workers(
    store: Box<dyn Store>,
    options: &TaskWorkOptions,
    tools: TaskTools<'_>,
) -> Result<TaskWorkSummary, TaskWorkError> {
    let count = options.workers.max(1);
    let mut connections: Vec<Connection> = Vec::with_capacity(count);
    while connections.len() + 1 < count {
        match store.connect_again()? {
            Some(another) => connections.push(Mutex::new(another)),
            None => break,
        }
    }
    connections.push(Mutex::new(store));
    let summaries = thread::scope(|scope| {
        let workers: Vec<_> = (0..count)
            .map(|number| {
                let name = match count {
                    1 => options.worker_id.clone(),
                    _ => format!("{}-{number}", options.worker_id),
                };
                let store = &connections[number % connections.len()];
                Task::begin(scope, move || work(store, options, &name, tools))
            })
            .collect();
        // A worker for which no thread could be started works here, in turn.
        let ended = workers.into_iter().map(Task::finish);
        ended
            .map(|ended| ended.map_err(|_| TaskWorkError::Lost)?)
            .collect::<Result<Vec<_>, _>>()
    })?;
    Ok(summaries
        .into_iter()
        .fold(TaskWorkSummary::default(), |all, one| TaskWorkSummary {
            good: all.good + one.good,
            bad: all.bad + one.bad,
            not_done: all.not_done + one.not_done,
            overtaken: all.overtaken + one.overtaken,
        }))
}

fn lock(store: &Connection) -> Result<MutexGuard<'_, Box<dyn Store>>, TaskWorkError> {
    store.lock().map_err(|_| TaskWorkError::Lost)
}

fn work(
    store: &Connection,
    options: &TaskWorkOptions,
    name: &str,
    tools: TaskTools<'_>,
) -> Result<TaskWorkSummary, TaskWorkError> {
    let mut summary = TaskWorkSummary::default();
    let mut pause = PAUSES.0;
    loop {
        let claimed = lock(store)?.claim_tasks(&options.kinds, name, options.lease_seconds, 1)?;
        let Some(task) = claimed.into_iter().next() else {
            if !lock(store)?.has_open_tasks(&options.kinds)? {
                return Ok(summary);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
            continue;
        };
        pause = PAUSES.0;
        let end = keep_lease(store, options, name, &task, |lost| {
            do_task(store, &task, tools, lost)
        })?;
        let finished = lock(store)?.end_task(name, &task, &end)?;
        match (finished, &end) {
            (Finished::Overtaken, _) => summary.overtaken += 1,
            (_, TaskEnd::Result(result)) if is_good(&result.outcome) => summary.good += 1,
            (_, TaskEnd::Result(_)) => summary.bad += 1,
            (_, TaskEnd::GivenBack { .. }) => {
                // The store offers it to others first.
                summary.not_done += 1;
            }
        }
    }
}

fn is_good(outcome: &str) -> bool {
    matches!(outcome, "valid" | "reproduced")
}

/// Calls `work` while renewing the lease. The flag passed to it is set when the lease is lost.
fn keep_lease<T: Send>(
    store: &Connection,
    options: &TaskWorkOptions,
    name: &str,
    task: &ClaimedTask,
    work: impl FnOnce(&AtomicBool) -> Result<T, TaskWorkError>,
) -> Result<T, TaskWorkError> {
    let lost = AtomicBool::new(false);
    let (done, waiting) = mpsc::channel::<()>();
    let between = Duration::from_secs_f64(options.lease_seconds / 3.0);
    thread::scope(|scope| {
        let lost = &lost;
        let renew = move || {
            while waiting.recv_timeout(between) == Err(mpsc::RecvTimeoutError::Timeout) {
                let held = lock(store).and_then(|mut store| {
                    Ok(store.extend_task(name, task, options.lease_seconds)?)
                });
                // An unreachable store may be back in time; ending the task will show.
                if let Ok(false) = held {
                    lost.store(true, Ordering::Relaxed);
                    return;
                }
            }
        };
        // If the system refuses the thread, the lease may expire; ending the task will show.
        let _ = thread::Builder::new().spawn_scoped(scope, renew);
        let result = work(lost);
        drop(done);
        result
    })
}

fn do_task(
    store: &Connection,
    task: &ClaimedTask,
    tools: TaskTools<'_>,
    lost: &AtomicBool,
) -> Result<TaskEnd, TaskWorkError> {
    let level = match task.kind {
        TaskKind::Verify => level_of(&task.options),
        TaskKind::Replay => Level::Document,
    };
    let place = Path::new(&task.location);
    let examine_place = || examine(&*(tools.files)(place), &task.location, level);
    let (content, is_valid, report) = match examine_place() {
        Examined::Judged {
            content,
            is_valid,
            report,
        } => (content, is_valid, report),
        Examined::Unreadable(reason) => return Ok(TaskEnd::GivenBack { reason }),
    };
    if task.kind == TaskKind::Verify {
        let outcome = if is_valid { "valid" } else { "invalid" };
        return Ok(TaskEnd::Result(TaskResult {
            done: done_with(&task.options, Some(&report)),
            content: content.to_string(),
            outcome: outcome.to_owned(),
            report,
        }));
    }
    let done = done_with(&task.options, None);
    let known = lock(store)?.known_result(task.kind, &done, &content.to_string())?;
    if let Some(known) = known {
        return Ok(TaskEnd::Result(known));
    }
    Ok(match (tools.replay)(place, lost) {
        ReplayEnd::Judged { outcome, report } => match examine_place() {
            // The replay opened the place on its own.
            Examined::Judged { content: after, .. } if after == content => {
                TaskEnd::Result(TaskResult {
                    done,
                    content: content.to_string(),
                    outcome,
                    report,
                })
            }
            _ => TaskEnd::GivenBack {
                reason: "it changed while it was replayed".to_owned(),
            },
        },
        ReplayEnd::NotHere(reason) => TaskEnd::GivenBack { reason },
    })
}

/// Describes how work is done: with the task's options, by this version. Another report on the same
/// bytes is another result, because what is next to a document counts too.
fn done_with(options: &str, report: Option<&str>) -> String {
    let mut done = Value::object([("options", options), ("program", env!("CARGO_PKG_VERSION"))]);
    if let Some(report) = report {
        done.insert("report", Digest::of(report.as_bytes()).to_string());
    }
    // Texts have a form in every dialect.
    canonical_text(&done, Dialect::Kernel).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::queue::find_tasks;
    use crate::store::sqlite::SqliteStore;
    use runseal_fs::survey::LocalFiles;

    #[test]
    fn replay_of_changed_content_is_not_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let pack = folder.path().join("pack");
        fs::create_dir(&pack).unwrap();
        fs::write(pack.join("run.json"), "{}").unwrap();
        let mut store = SqliteStore::create(&folder.path().join("jobs.db")).unwrap();
        let tasks = find_tasks(
            &LocalFiles,
            TaskKind::Replay,
            Level::Document,
            std::slice::from_ref(&pack),
        );
        Store::post_tasks(&mut store, &tasks).unwrap();
        let taken = Store::claim_tasks(&mut store, &TaskKind::ALL, "w", 60.0, 1).unwrap();
        let connection: Connection = Mutex::new(Box::new(store));
        let swaps = AtomicBool::new(true);
        let replay = |place: &Path, _: &AtomicBool| {
            if swaps.swap(false, Ordering::Relaxed) {
                fs::write(place.join("run.json"), "{\"other\":1}").unwrap();
            }
            ReplayEnd::Judged {
                outcome: "reproduced".to_owned(),
                report: "{}".to_owned(),
            }
        };
        let files = |_: &Path| -> Box<dyn Files> { Box::new(LocalFiles) };
        let tools = TaskTools {
            files: &files,
            replay: &replay,
        };
        let lost = AtomicBool::new(false);
        let run_task = || do_task(&connection, &taken[0], tools, &lost).unwrap();
        let changed = run_task();
        assert!(
            matches!(&changed, TaskEnd::GivenBack { reason } if reason.contains("changed")),
            "{changed:?}"
        );
        let end = run_task();
        assert!(matches!(end, TaskEnd::Result(_)), "{end:?}");
    }
}
