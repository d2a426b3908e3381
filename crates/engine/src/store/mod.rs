//! Stores: where messages, jobs, steps, receipts, sections, symbols and queued tasks are kept.
//!
//! [`StoreReader`] looks, [`Store`] also writes. What they promise is said here and tried on every
//! store by the same tests; how it is kept is each store's own affair. [`sqlite`] keeps it in one
//! file for the programs of one machine; `crates/postgres` on a server for many machines.
//!
//! What holds in each: a claim hands out a lease with a fencing token above every earlier one of
//! the step; a commit is taken only under the token that the step still has, together with its one
//! receipt; leases are measured with the store's clock and never with a worker's.

mod copy;
mod ids;
mod queue;
mod records;
pub mod sqlite;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use runseal_core::canon::NoCanonicalForm;
use runseal_core::digest::Digest;
use runseal_core::formats::job_bundle::plan::PlanFault;
use thiserror::Error;

pub use copy::{Cell, ColumnKind, Copied, TABLES, Table, copy_store};
pub use ids::{JobId, JobRunId, MessageId, ReceiptId, StepId, TaskId};
pub use queue::{
    ClaimedTask, Finished, LATELY, MOST_ATTEMPTS, NewTask, PostedTasks, QueueReader, QueueStatus,
    TaskEnd, TaskKind, TaskRecord, TaskResult, TaskState, WorkerLoad, pause_after,
};
pub use records::{
    ClaimedStep, Commit, DescribeReceipt, FailedStep, IndexedFile, JobLimits, JobRecord, JobStatus,
    NewJob, NewStep, NewSteps, Outcome, Posted, SectionRecord, StateCounts, StepRecord, StepResult,
    SymbolRecord,
};

/// What a server's refusal means for whoever asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// Nobody answers at its address, or the connection was lost and did not come back in time.
    Unreachable,
    /// The name or the password is wrong or missing.
    Denied,
    /// The name may not do this.
    Forbidden,
    /// The connection cannot be secured as it was asked for.
    Insecure,
    /// Its disk or memory is full.
    Full,
    /// It kept refusing for the moment: others hold what is needed.
    Busy,
    /// Anything else it says.
    Failed,
}

/// Why the store could not be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no such file.
    #[error("there is no store at `{0}`")]
    Missing(PathBuf),
    /// The server has no store in this database.
    #[error("there is no store in the database at `{0}`")]
    NoStore(String),
    /// The folder for it could not be made.
    #[error("cannot make the folder `{path}`")]
    Folder {
        /// The folder in which the store was to be made.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is SQLite, but holds something else.
    #[error("`{path}` is no job store: it has no table `{table}`")]
    Foreign {
        /// The path of the store's file.
        path: PathBuf,
        /// The first table missing.
        table: &'static str,
    },
    /// The file was written by a later version.
    #[error("the store has schema version {found}, this program knows {known}")]
    Newer {
        /// Version in the file.
        found: i64,
        /// Latest version known here.
        known: i64,
    },
    /// A step id of the plan is taken by another job.
    #[error("step id `{step_id}` already belongs to job `{job_id}`")]
    StepTaken {
        /// The step's id, which is taken.
        step_id: StepId,
        /// The job that has it.
        job_id: JobId,
    },
    /// A store that is to be copied into holds something already.
    #[error("the store to copy to is not empty: it has rows in `{0}`")]
    NotEmpty(&'static str),
    /// A text that the store has no place for.
    #[error("{what} cannot be stored: {reason}")]
    Unstorable {
        /// What was to be stored, as a phrase.
        what: String,
        /// What about it the store cannot take.
        reason: &'static str,
    },
    /// A step of a plan cannot be read.
    #[error(transparent)]
    Step(#[from] PlanFault),
    /// A step or a receipt has no canonical form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
    /// SQLite refused or failed.
    #[error("the store failed")]
    Sql(#[from] rusqlite::Error),
    /// A server refused or failed. `place` and `source` hold no password.
    #[error("the store at `{place}` {problem}")]
    Server {
        /// Its address, without a password.
        place: String,
        /// What kind of trouble it is, by which exit codes and hints are chosen.
        fault: ServerFault,
        /// The same in words.
        problem: &'static str,
        /// What the server or the system said.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// A store, to look at.
pub trait StoreReader: QueueReader {
    /// The job of this run, if there is one.
    fn job(&self, run_id: &JobRunId, job_id: &JobId) -> Result<Option<JobRecord>, StoreError>;

    /// Shows `see` the steps of a job by (ordinal, step id), each with its count of receipts, until
    /// it says no. It may look at the store meanwhile.
    fn visit_steps(
        &self,
        job_id: &JobId,
        see: &mut dyn FnMut(StepRecord) -> bool,
    ) -> Result<(), StoreError>;

    /// The job that a plan of this run and key already has.
    fn posted(
        &self,
        run_id: &JobRunId,
        idempotency_key: &str,
        payload_json: &str,
    ) -> Result<Option<Posted>, StoreError>;

    /// The reason a step failed, if it has a receipt that says so.
    fn failure_of(&self, step_id: &StepId) -> Result<Option<String>, StoreError>;

    /// Whether any step, of the run or of all, is not yet committed.
    fn has_open_steps(&self, run_id: Option<&JobRunId>) -> Result<bool, StoreError>;

    /// The section with this id.
    fn section(&self, section_id: &str) -> Result<Option<SectionRecord>, StoreError>;

    /// The sections with these ids, as far as there are any.
    fn sections(&self, ids: &[&str]) -> Result<Vec<SectionRecord>, StoreError> {
        let found = ids.iter().map(|id| self.section(id));
        found.filter_map(Result::transpose).collect()
    }

    /// The current sections of a file, in order of their lines, widest first.
    fn sections_of_file(&self, path: &str) -> Result<Vec<SectionRecord>, StoreError>;

    /// Every indexed file.
    fn indexed_files(&self) -> Result<BTreeMap<String, IndexedFile>, StoreError>;

    /// How many current sections each file has.
    fn section_counts(&self) -> Result<BTreeMap<String, u64>, StoreError>;

    /// SHA-256 over the ids of all current sections, sorted, one a line.
    fn compute_index_hash(&self) -> Result<Digest, StoreError>;

    /// The symbol of this name.
    fn symbol(&self, symbol_id: &str) -> Result<Option<SymbolRecord>, StoreError>;

    /// The symbols of these names, as far as there are any.
    fn symbols_named(&self, names: &[&str]) -> Result<Vec<SymbolRecord>, StoreError> {
        let found = names.iter().map(|name| self.symbol(name));
        found.filter_map(Result::transpose).collect()
    }

    /// Every symbol, by name.
    fn symbols(&self) -> Result<Vec<SymbolRecord>, StoreError>;

    /// The jobs of the store, or of one run, or the one job; by run and job id.
    fn job_status(
        &self,
        run_id: Option<&JobRunId>,
        job_id: Option<&JobId>,
    ) -> Result<Vec<JobStatus>, StoreError>;

    /// The steps of a job by (ordinal, step id), each with its count of receipts.
    fn job_steps(&self, job_id: &JobId) -> Result<Vec<StepRecord>, StoreError> {
        let mut steps = Vec::new();
        self.visit_steps(job_id, &mut |step| {
            steps.push(step);
            true
        })?;
        Ok(steps)
    }

    /// Shows `see` every row of a table, in the order of its key, for copying.
    fn visit_rows(
        &self,
        table: &Table,
        see: &mut dyn FnMut(Vec<Cell>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
}

/// A store, to write to.
pub trait Store: StoreReader + Send {
    /// The same store once more, for a worker of its own; none where workers had better take
    /// turns on this one.
    fn connect_again(&self) -> Result<Option<Box<dyn Store>>, StoreError>;

    /// This store, to look at.
    fn as_reader(&self) -> &dyn StoreReader;

    /// The most steps that a worker should hold at once.
    fn largest_share(&self) -> usize;

    /// Waits until there may be something to claim, and never longer than `at_most`.
    fn wait_for_work(&mut self, at_most: Duration) {
        std::thread::sleep(at_most);
    }

    /// Records a plan as message, job and steps, or finds the job its key already has.
    fn post_job(&mut self, job: &NewJob<'_>, steps: NewSteps<'_>) -> Result<Posted, StoreError>;

    /// Takes up to `limit` steps that are pending or whose lease has run out, each under a new
    /// token. An empty list means that nothing can be claimed now.
    fn claim_steps(
        &mut self,
        run_id: Option<&JobRunId>,
        worker_id: &str,
        lease_seconds: f64,
        limit: usize,
    ) -> Result<Vec<ClaimedStep>, StoreError>;

    /// Makes the leases of these steps last `lease_seconds` from now. Says of each whether the
    /// worker still holds it; one that another has taken over is not touched.
    fn extend_leases(
        &mut self,
        worker_id: &str,
        steps: &[ClaimedStep],
        lease_seconds: f64,
    ) -> Result<Vec<bool>, StoreError>;

    /// Commits results, each with its one receipt, in one transaction. `describe` makes the
    /// receipt's id and JSON from a step and its outcome; it is asked again with a failure when
    /// a success would break the job's budget.
    fn commit_steps(
        &mut self,
        worker_id: &str,
        results: &[StepResult],
        describe: DescribeReceipt<'_>,
    ) -> Result<Vec<Commit>, StoreError>;

    /// Records what an index run found: files read anew with their sections, files whose stamp
    /// alone changed, files that are gone. All of it or nothing.
    fn record_index(
        &mut self,
        read: &[(String, IndexedFile, Vec<SectionRecord>)],
        gone: &[String],
    ) -> Result<(), StoreError>;

    /// Adds a symbol or points it elsewhere. The section must be known.
    fn put_symbol(&mut self, symbol: &SymbolRecord) -> Result<(), StoreError>;

    /// Removes a symbol; says whether it was there.
    fn remove_symbol(&mut self, symbol_id: &str) -> Result<bool, StoreError>;

    /// Queues tasks. One that is queued already stays as it is; one that is done is queued again.
    fn post_tasks(&mut self, tasks: &[NewTask]) -> Result<PostedTasks, StoreError>;

    /// Takes up to `limit` tasks of these kinds that wait or whose lease has run out, each under
    /// a new token. A task that was taken `attempts` times without an end is given up instead.
    fn claim_tasks(
        &mut self,
        kinds: &[TaskKind],
        worker_id: &str,
        lease_seconds: f64,
        limit: usize,
    ) -> Result<Vec<ClaimedTask>, StoreError>;

    /// Makes the lease of a task last `lease_seconds` from now; says whether the worker still
    /// holds it.
    fn extend_task(
        &mut self,
        worker_id: &str,
        task: &ClaimedTask,
        lease_seconds: f64,
    ) -> Result<bool, StoreError>;

    /// Ends a task with its result, or gives it back.
    fn end_task(
        &mut self,
        worker_id: &str,
        task: &ClaimedTask,
        end: &TaskEnd,
    ) -> Result<Finished, StoreError>;

    /// Takes over every row of another store, which must fit; all of it or nothing. This store
    /// must be empty. Gives the number of rows by table.
    fn import(&mut self, from: &dyn StoreReader) -> Result<Copied, StoreError>;
}

/// Shows `see` the steps of a job by (ordinal, step id), until it fails.
pub fn try_visit_steps<E: From<StoreError>>(
    store: &dyn StoreReader,
    job_id: &JobId,
    mut see: impl FnMut(StepRecord) -> Result<(), E>,
) -> Result<(), E> {
    let mut failed = None;
    store.visit_steps(job_id, &mut |step| match see(step) {
        Ok(()) => true,
        Err(error) => {
            failed = Some(error);
            false
        }
    })?;
    failed.map_or(Ok(()), Err)
}
