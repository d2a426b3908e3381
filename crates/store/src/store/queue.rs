//! Tasks: verification and replay of sealed units, queued for whichever machine is free.
//!
//! A task names a place; its result belongs to the content found there, by digest, and to how the
//! work was done. The same content under two names, or queued twice, has one result. A task ends
//! once: a worker that comes late under an older lease changes nothing.
//!
//! A task that one worker cannot do is left to others. Workers that gave it back take it again only
//! when no active worker is left that has not tried it, and each time after a longer pause.

use std::collections::BTreeMap;

use runseal_core::digest::Digest;

use super::{StoreError, TaskId};

/// How often a task is claimed before it is given up: a task that kills every worker must not kill
/// all of them. A task that is given back is kept longer if an active worker has not tried it.
pub const MOST_ATTEMPTS: i64 = 5;

/// A worker that ended a task at most this many seconds ago is active.
pub const LATELY: f64 = 5.0;

/// Returns the seconds for which workers that gave a task back leave it to others, after this many
/// claims.
pub fn pause_after(attempts: i64) -> f64 {
    let doublings = u32::try_from(attempts.clamp(1, 8) - 1).unwrap_or_default();
    0.5 * f64::from(1_u32 << doublings)
}

/// The work of a task.
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

    /// Returns its name in stores and commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Replay => "replay",
        }
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskState {
    /// No worker has claimed it.
    Pending,
    /// A worker holds a lease on it.
    Leased,
    /// It has a result.
    Done,
    /// It could not be done, and was given up.
    Failed,
}

impl TaskState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Leased, Self::Done, Self::Failed];

    /// Returns its name in stores.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Leased => "LEASED",
            Self::Done => "DONE",
            Self::Failed => "FAILED",
        }
    }

    /// Returns the state with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// A task to queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    /// The id, derived from everything else.
    pub task_id: TaskId,
    /// What to do.
    pub kind: TaskKind,
    /// The options, as canonical JSON.
    pub options: String,
    /// The path, relative to the root that each machine chooses for itself.
    pub location: String,
}

impl NewTask {
    /// Makes a task for this work.
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

/// The result of queueing tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostedTasks {
    /// The number of new tasks.
    pub queued: u64,
    /// The number of tasks that had ended and are queued again.
    pub again: u64,
    /// The number of tasks that were already queued and are open.
    pub open: u64,
}

/// A task that a worker holds a lease on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedTask {
    /// Its id.
    pub task_id: TaskId,
    /// What to do.
    pub kind: TaskKind,
    /// The options, as canonical JSON.
    pub options: String,
    /// The location as it was queued: a path or an address.
    pub location: String,
    /// The token of this lease.
    pub fencing_token: i64,
    /// How often it was claimed since it was queued, including this time.
    pub attempts: i64,
}

/// The result of a task, for the content that it examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskResult {
    /// How it was done, as canonical JSON: the task's options, the version of the program, and
    /// whatever else besides the content affects the outcome.
    pub done: String,
    /// The digest of the content.
    pub content: String,
    /// The verdict in a word: `valid`, `invalid`, `reproduced`, …
    pub outcome: String,
    /// The report as JSON.
    pub report: String,
}

impl TaskResult {
    /// Derives its id, which is the same for every result of the same work on the same content.
    pub fn derive_id(&self, kind: TaskKind) -> String {
        let key = format!("{}\n{}\n{}", kind.name(), self.done, self.content);
        format!("result_{}", &Digest::of(key.as_bytes()).to_string()[..32])
    }
}

/// How a task ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// With a result. If the content already has one, that one stays.
    Result(TaskResult),
    /// This worker could not do it; another may try, unless it was tried too often.
    GivenBack {
        /// Why it could not be done, for people.
        reason: String,
    },
}

/// The effect of ending a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Its result was stored.
    Recorded,
    /// Its content already had a result, which was kept.
    Known,
    /// It waits for another try.
    Waiting,
    /// It was tried too often and is given up.
    GivenUp,
    /// Refused: another worker has taken it over, or it has ended.
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
    /// Whether it is pending, leased, done or given up.
    pub state: TaskState,
    /// The worker that holds it or ended it.
    pub worker_id: Option<String>,
    /// How often it was claimed.
    pub attempts: i64,
    /// Why it was returned or given up.
    pub reason: Option<String>,
    /// Its result, once it is done.
    pub result: Option<TaskResult>,
}

/// What a worker is doing and has done recently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerLoad {
    /// How many tasks it holds a lease on.
    pub leased: u64,
    /// Tasks that it ended within the requested period.
    pub ended: u64,
}

/// A summary of the queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueStatus {
    /// How many tasks are in each state.
    pub states: BTreeMap<&'static str, u64>,
    /// Results of completed tasks, by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Tasks that ended within the requested period.
    pub recent: u64,
    /// Seconds from the first of those to now.
    pub recent_seconds: f64,
    /// Workers that hold leases or ended something within that period, by name.
    pub workers: BTreeMap<String, WorkerLoad>,
    /// Seconds since the oldest lease was taken.
    pub oldest_lease: Option<f64>,
    /// Expired leases that no worker has taken over.
    pub expired: u64,
}

impl QueueStatus {
    /// Returns the number of tasks in this state.
    pub fn count(&self, state: TaskState) -> u64 {
        self.states.get(state.name()).copied().unwrap_or_default()
    }

    /// Returns the number of tasks that have not ended.
    pub fn open(&self) -> u64 {
        self.count(TaskState::Pending) + self.count(TaskState::Leased)
    }

    /// Returns how many tasks ended per second recently.
    pub fn rate(&self) -> f64 {
        match self.recent {
            0 => 0.0,
            recent => recent as f64 / self.recent_seconds.max(1.0),
        }
    }

    /// Returns the seconds until nothing is open, at the recent rate.
    pub fn seconds_left(&self) -> Option<f64> {
        (self.rate() > 0.0).then(|| self.open() as f64 / self.rate())
    }
}

/// The queue of a store, for reading.
pub trait QueueReader {
    /// Summarizes the queue; recent means within the last `seconds`.
    fn queue_status(&self, seconds: f64) -> Result<QueueStatus, StoreError>;

    /// Calls `see` with every task, by place, until it returns false. Reports are read only on
    /// request.
    fn visit_tasks(
        &self,
        with_reports: bool,
        see: &mut dyn FnMut(TaskRecord) -> bool,
    ) -> Result<(), StoreError>;

    /// Returns the result of this work on this content, done in this way.
    fn known_result(
        &self,
        kind: TaskKind,
        done: &str,
        content: &str,
    ) -> Result<Option<TaskResult>, StoreError>;

    /// Returns whether any task of these kinds has not ended.
    fn has_open_tasks(&self, kinds: &[TaskKind]) -> Result<bool, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_of_another_version_is_a_different_result() {
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
