//! Tasks: verifying and replaying what is sealed, queued for whichever machine takes it.
//!
//! A task names a place; its result belongs to the content that was found there, by digest, and to how
//! the work was done. The same content under two names, or queued twice, has one result. A task ends
//! once: whoever comes late under an older lease changes nothing.
//!
//! A task that one worker cannot do is left to others: those who gave it back take it again only when
//! nobody is at work who has not tried it, and each time after a longer pause.

use std::collections::BTreeMap;

use runseal_core::digest::Digest;

use super::{StoreError, TaskId};

/// How often a task is taken before it is given up: a task that ends every worker that takes it
/// must not end all of them. One that is given back is given up later, where somebody at work has not
/// tried it.
pub const MOST_ATTEMPTS: i64 = 5;

/// A worker that ended something this many seconds ago is still at work.
pub const LATELY: f64 = 5.0;

/// Seconds for which those who gave a task back leave it to others, when it was taken so often.
pub fn pause_after(attempts: i64) -> f64 {
    let doublings = u32::try_from(attempts.clamp(1, 8) - 1).unwrap_or_default();
    0.5 * f64::from(1_u32 << doublings)
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskKind {
    /// `runseal verify`.
    Verify,
    /// `runseal replay`.
    Replay,
}

impl TaskKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Verify, Self::Replay];

    /// As stores and commands spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Replay => "replay",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskState {
    /// Nobody has taken it.
    Pending,
    /// Somebody works on it.
    Leased,
    /// It has a result.
    Done,
    /// It could not be done, and was given up.
    Failed,
}

impl TaskState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Leased, Self::Done, Self::Failed];

    /// As stores spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Leased => "LEASED",
            Self::Done => "DONE",
            Self::Failed => "FAILED",
        }
    }

    /// The state of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// A task to queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    /// Derived from all else.
    pub task_id: TaskId,
    /// What to do.
    pub kind: TaskKind,
    /// How, as canonical JSON.
    pub options: String,
    /// The path, relative to the root that each machine has of its own.
    pub location: String,
}

impl NewTask {
    /// The task that does this.
    pub fn new(kind: TaskKind, options: &str, location: &str) -> Self {
        let text = format!("{}\n{options}\n{location}", kind.name());
        let digest = Digest::of(text.as_bytes()).to_string();
        Self {
            task_id: TaskId::new(format!("task_{}", &digest[..16])),
            kind,
            options: options.to_owned(),
            location: location.to_owned(),
        }
    }
}

/// What became of tasks that were to be queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostedTasks {
    /// How many of them were not known before.
    pub queued: u64,
    /// Ended before, and queued again.
    pub again: u64,
    /// Queued before and still open.
    pub open: u64,
}

/// A task that a worker holds a lease on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedTask {
    /// Its id.
    pub task_id: TaskId,
    /// What to do.
    pub kind: TaskKind,
    /// How, as canonical JSON.
    pub options: String,
    /// The location as it was queued: a path or an address.
    pub location: String,
    /// The token of this lease.
    pub fencing_token: i64,
    /// How often it was taken since it was queued, this time included.
    pub attempts: i64,
}

/// What came of a task, for the content that it was done on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskResult {
    /// How it was done, as canonical JSON: the task's options, by which version of the program, and
    /// whatever else the outcome depends on beside the content.
    pub done: String,
    /// The digest of the content.
    pub content: String,
    /// The verdict in a word: `valid`, `invalid`, `reproduced`, …
    pub outcome: String,
    /// The report as JSON.
    pub report: String,
}

impl TaskResult {
    /// Its id, which is that of every result of the same work on the same content.
    pub fn derive_id(&self, kind: TaskKind) -> String {
        let key = format!("{}\n{}\n{}", kind.name(), self.done, self.content);
        format!("result_{}", &Digest::of(key.as_bytes()).to_string()[..32])
    }
}

/// How a task ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// With a result. Where the content has one already, that one stays.
    Result(TaskResult),
    /// Not by this worker: another may try, as long as it was not tried too often.
    GivenBack {
        /// What hindered it, for people.
        reason: String,
    },
}

/// What became of a task's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It has its result, which is new.
    Recorded,
    /// It has the result that its content had already.
    Known,
    /// It waits for another try.
    Waiting,
    /// It was tried too often, and is given up.
    GivenUp,
    /// Refused: another has taken it over, or it has ended.
    Overtaken,
}

/// A task as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its id.
    pub task_id: TaskId,
    /// What to do.
    pub kind: TaskKind,
    /// The options of the task, as canonical JSON.
    pub options: String,
    /// The location as it was queued: a path or an address.
    pub location: String,
    /// Whether it waits, is held, is done or was given up.
    pub state: TaskState,
    /// Who works on it or ended it.
    pub worker_id: Option<String>,
    /// How often it was taken.
    pub attempts: i64,
    /// Why it was given back or given up.
    pub reason: Option<String>,
    /// Its result, once it is done.
    pub result: Option<TaskResult>,
}

/// What a worker has in hand and has done lately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerLoad {
    /// How many tasks it holds a lease on.
    pub leased: u64,
    /// Tasks it ended within the time that was asked about.
    pub ended: u64,
}

/// The queue at a glance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueStatus {
    /// How many tasks are in each state.
    pub states: BTreeMap<&'static str, u64>,
    /// Results of tasks that are done, by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Tasks that ended within the time that was asked about.
    pub recent: u64,
    /// Seconds from the first of those to now.
    pub recent_seconds: f64,
    /// Workers that hold leases or ended something within that time, by name.
    pub workers: BTreeMap<String, WorkerLoad>,
    /// Seconds since the oldest lease was taken.
    pub oldest_lease: Option<f64>,
    /// Leases that have run out and that nobody has taken over.
    pub expired: u64,
}

impl QueueStatus {
    /// Tasks in this state.
    pub fn count(&self, state: TaskState) -> u64 {
        self.states.get(state.name()).copied().unwrap_or_default()
    }

    /// Tasks that have not ended.
    pub fn open(&self) -> u64 {
        self.count(TaskState::Pending) + self.count(TaskState::Leased)
    }

    /// Tasks that end in a second, as of late.
    pub fn rate(&self) -> f64 {
        match self.recent {
            0 => 0.0,
            recent => recent as f64 / self.recent_seconds.max(1.0),
        }
    }

    /// Seconds until nothing is open, if it goes on like this.
    pub fn seconds_left(&self) -> Option<f64> {
        (self.rate() > 0.0).then(|| self.open() as f64 / self.rate())
    }
}

/// The queue of a store, to look at.
pub trait QueueReader {
    /// The queue at a glance; what happened lately is what happened in the last `seconds`.
    fn queue_status(&self, seconds: f64) -> Result<QueueStatus, StoreError>;

    /// Shows `see` every task by its place, until it says no. Reports are read where asked for.
    fn visit_tasks(
        &self,
        with_reports: bool,
        see: &mut dyn FnMut(TaskRecord) -> bool,
    ) -> Result<(), StoreError>;

    /// The result that this content has for this work, done in this way.
    fn known_result(
        &self,
        kind: TaskKind,
        done: &str,
        content: &str,
    ) -> Result<Option<TaskResult>, StoreError>;

    /// Whether any task of these kinds has not ended.
    fn has_open_tasks(&self, kinds: &[TaskKind]) -> Result<bool, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_done_by_another_version_is_another_result() {
        let result = |done: &str| TaskResult {
            done: done.to_owned(),
            content: "c".to_owned(),
            outcome: "valid".to_owned(),
            report: "{}".to_owned(),
        };
        let id = |done: &str| result(done).derive_id(TaskKind::Verify);
        assert_eq!(id("1"), id("1"));
        assert_ne!(id("1"), id("2"));
        let pauses: Vec<_> = (1..=5).map(pause_after).collect();
        assert_eq!(pauses, [0.5, 1.0, 2.0, 4.0, 8.0]);
        assert_eq!(pause_after(i64::MAX), 64.0);
    }
}
