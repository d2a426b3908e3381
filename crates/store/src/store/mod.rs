//! Stores of messages, jobs, steps, receipts, sections, symbols and queued tasks.
//!
//! [`StoreReader`] reads, [`Store`] also writes. Their contract is defined here and checked by the
//! same tests for every implementation. [`sqlite`] keeps a store in one file for the programs of
//! one machine; `crates/postgres` keeps it on a server for many machines.
//!
//! Guarantees: a claim grants a lease with a fencing token above every earlier one of the step; a
//! commit is accepted only under the step's current token, together with its one receipt; leases
//! are measured by the store's clock, never by a worker's.

mod copy;
mod ids;
mod queue;
mod records;
#[cfg(feature = "sqlite")]
pub mod sqlite;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use runseal_core::canon::NoCanonicalForm;
use runseal_core::diagnosis::{Diagnose, Diagnosis, Location, with_cause};
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

/// What a server's refusal means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// Nothing answers at its address, or the connection was lost and did not come back in time.
    Unreachable,
    /// The user name or password is wrong or missing.
    Denied,
    /// The user may not do this.
    Forbidden,
    /// The connection cannot be secured as requested.
    Insecure,
    /// Its disk or memory is full.
    Full,
    /// It kept refusing temporarily, because others hold locks.
    Busy,
    /// Any other failure.
    Failed,
}

impl ServerFault {
    const fn hint(self) -> Option<&'static str> {
        match self {
            Self::Unreachable => Some("check host and port, and that the server runs"),
            Self::Denied => Some(
                "check the name and the password; RUNSEAL_STORE or PGPASSWORD keep it off the command line",
            ),
            Self::Forbidden => Some(
                "ask its owner for the right: to make the tables, GRANT CREATE ON SCHEMA; to use them, GRANT SELECT, INSERT, UPDATE",
            ),
            Self::Insecure => Some(
                "check sslmode, sslrootcert and the server's certificate; docs/stores.md says more",
            ),
            Self::Full => {
                Some("make room on the server, then run it again; nothing was recorded by half")
            }
            Self::Busy => Some("try again; nothing of this was recorded"),
            Self::Failed => None,
        }
    }
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
    /// Its folder could not be created.
    #[error("cannot create the folder `{path}`")]
    Folder {
        /// The folder to create the store in.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Its file may not be written to.
    #[error(transparent)]
    Write(#[from] runseal_fs::atomic::WriteError),
    /// The file is an SQLite database, but not a store.
    #[error("`{path}` is not a job store: it has no table `{table}`")]
    Foreign {
        /// The path of the store's file.
        path: PathBuf,
        /// The first missing table.
        table: String,
    },
    /// The file was written by a later version.
    #[error("the store has schema version {found}, this program supports up to {known}")]
    Newer {
        /// The version in the file.
        found: i64,
        /// The newest version that this program supports.
        known: i64,
    },
    /// A step id of the plan belongs to another job.
    #[error("step id `{step_id}` already belongs to job `{job_id}`")]
    StepTaken {
        /// The step's id.
        step_id: StepId,
        /// The job that has it.
        job_id: JobId,
    },
    /// The target of a copy is not empty.
    #[error("the store to copy to is not empty: it has rows in `{0}`")]
    NotEmpty(&'static str),
    /// A text that cannot be stored.
    #[error("{what} cannot be stored: {reason}")]
    Unstorable {
        /// What the text is, as a phrase.
        what: String,
        /// Why the store cannot store it.
        reason: &'static str,
    },
    /// A step of a plan cannot be read.
    #[error(transparent)]
    Step(#[from] PlanFault),
    /// A step or a receipt has no canonical form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
    /// SQLite refused or failed.
    #[cfg(feature = "sqlite")]
    #[error("the store failed")]
    Sql(#[from] rusqlite::Error),
    /// A server refused or failed. `place` and `source` contain no password.
    #[error("the store at `{place}` {problem}")]
    Server {
        /// Its address, without a password.
        place: String,
        /// The kind of failure, which determines exit codes and hints.
        fault: ServerFault,
        /// A description of the failure.
        problem: &'static str,
        /// The message of the server or the system.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl Diagnose for StoreError {
    fn diagnosis(&self) -> Diagnosis {
        let reported = Diagnosis::unreadable(self, "STORE").message(with_cause(self));
        match self {
            Self::Missing(_) => {
                reported.hint("`runseal job init` makes a store; --store names one")
            }
            Self::NoStore(_) => {
                reported.hint("`runseal job init` makes a store in it; --store names another")
            }
            Self::Server { fault, .. } => match fault.hint() {
                Some(hint) => reported.hint(hint),
                None => reported,
            },
            Self::NotEmpty(_) => reported.hint("copy into a store that was just made"),
            Self::Newer { .. } => reported
                .located(Location::Named)
                .hint("use the program that wrote it, or a later one"),
            #[cfg(feature = "sqlite")]
            Self::Sql(_) => reported.located(Location::Named),
            _ => reported,
        }
    }
}

/// A store, for reading.
pub trait StoreReader: QueueReader {
    /// Returns the job of this run, if there is one.
    fn job(&self, run_id: &JobRunId, job_id: &JobId) -> Result<Option<JobRecord>, StoreError>;

    /// Calls `see` with the steps of a job by (ordinal, step id), each with its number of receipts,
    /// until it returns false. It may use the store meanwhile.
    fn visit_steps(
        &self,
        job_id: &JobId,
        see: &mut dyn FnMut(StepRecord) -> bool,
    ) -> Result<(), StoreError>;

    /// Returns the job that a plan with this run and key already has.
    fn posted(
        &self,
        run_id: &JobRunId,
        idempotency_key: &str,
        payload_json: &str,
    ) -> Result<Option<Posted>, StoreError>;

    /// Returns the reason a step failed, if it has a receipt that says so.
    fn failure_of(&self, step_id: &StepId) -> Result<Option<String>, StoreError>;

    /// Returns whether any step of the run, or of all runs, is not committed yet.
    fn has_open_steps(&self, run_id: Option<&JobRunId>) -> Result<bool, StoreError>;

    /// Returns the section with this id.
    fn section(&self, section_id: &str) -> Result<Option<SectionRecord>, StoreError>;

    /// Those of the sections with these ids that exist.
    fn sections(&self, ids: &[&str]) -> Result<Vec<SectionRecord>, StoreError> {
        let found = ids.iter().map(|id| self.section(id));
        found.filter_map(Result::transpose).collect()
    }

    /// Returns the current sections of a file, in order of their lines, widest first.
    fn sections_of_file(&self, path: &str) -> Result<Vec<SectionRecord>, StoreError>;

    /// Returns every indexed file.
    fn indexed_files(&self) -> Result<BTreeMap<String, IndexedFile>, StoreError>;

    /// Returns how many current sections each file has.
    fn section_counts(&self) -> Result<BTreeMap<String, u64>, StoreError>;

    /// SHA-256 over the ids of all current sections, sorted, one per line.
    fn compute_index_hash(&self) -> Result<Digest, StoreError>;

    /// Returns the symbol of this name.
    fn symbol(&self, symbol_id: &str) -> Result<Option<SymbolRecord>, StoreError>;

    /// Those of the symbols with these names that exist.
    fn symbols_named(&self, names: &[&str]) -> Result<Vec<SymbolRecord>, StoreError> {
        let found = names.iter().map(|name| self.symbol(name));
        found.filter_map(Result::transpose).collect()
    }

    /// Returns every symbol, by name.
    fn symbols(&self) -> Result<Vec<SymbolRecord>, StoreError>;

    /// Returns the jobs of the store, of one run, or a single job; by run and job id.
    fn job_status(
        &self,
        run_id: Option<&JobRunId>,
        job_id: Option<&JobId>,
    ) -> Result<Vec<JobStatus>, StoreError>;

    /// Returns the steps of a job by (ordinal, step id), each with its count of receipts.
    fn job_steps(&self, job_id: &JobId) -> Result<Vec<StepRecord>, StoreError> {
        let mut steps = Vec::new();
        self.visit_steps(job_id, &mut |step| {
            steps.push(step);
            true
        })?;
        Ok(steps)
    }

    /// Calls `see` with every row of a table, in the order of its key, for copying.
    fn visit_rows(
        &self,
        table: &Table,
        see: &mut dyn FnMut(Vec<Cell>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
}

/// A store, for writing.
pub trait Store: StoreReader + Send {
    /// A second connection to the same store, for another worker; `None` if workers should take
    /// turns on this one.
    fn connect_again(&self) -> Result<Option<Box<dyn Store>>, StoreError>;

    /// This store, for reading.
    fn as_reader(&self) -> &dyn StoreReader;

    /// Returns the most steps that a worker should hold at once.
    fn largest_share(&self) -> usize;

    /// Waits until there may be something to claim, but at most `at_most`.
    fn wait_for_work(&mut self, at_most: Duration) {
        std::thread::sleep(at_most);
    }

    /// Stores a plan as message, job and steps, or finds the job that its key already has.
    fn post_job(&mut self, job: &NewJob<'_>, steps: NewSteps<'_>) -> Result<Posted, StoreError>;

    /// Claims up to `limit` steps that are pending or whose lease has expired, each with a new
    /// token. An empty list means that there is nothing to claim now.
    fn claim_steps(
        &mut self,
        run_id: Option<&JobRunId>,
        worker_id: &str,
        lease_seconds: f64,
        limit: usize,
    ) -> Result<Vec<ClaimedStep>, StoreError>;

    /// Extends the leases of these steps to `lease_seconds` from now. Returns for each whether the
    /// worker still holds it; a step that another worker has taken over is not touched.
    fn extend_leases(
        &mut self,
        worker_id: &str,
        steps: &[ClaimedStep],
        lease_seconds: f64,
    ) -> Result<Vec<bool>, StoreError>;

    /// Commits results, each with its one receipt, in one transaction. `describe` makes the
    /// receipt's id and JSON from a step and its outcome; it is called again with a failure if a
    /// success would exceed the job's budget.
    fn commit_steps(
        &mut self,
        worker_id: &str,
        results: &[StepResult],
        describe: DescribeReceipt<'_>,
    ) -> Result<Vec<Commit>, StoreError>;

    /// Stores the result of an index run: files read again with their sections, files of which only
    /// the stamp changed, and deleted files. All of it or nothing.
    fn record_index(
        &mut self,
        read: &[(String, IndexedFile, Vec<SectionRecord>)],
        gone: &[String],
    ) -> Result<(), StoreError>;

    /// Adds or redirects a symbol. Its section must exist.
    fn put_symbol(&mut self, symbol: &SymbolRecord) -> Result<(), StoreError>;

    /// Removes a symbol; returns whether it existed.
    fn remove_symbol(&mut self, symbol_id: &str) -> Result<bool, StoreError>;

    /// Queues tasks. A task that is already queued stays as it is; a task that has ended is queued
    /// again.
    fn post_tasks(&mut self, tasks: &[NewTask]) -> Result<PostedTasks, StoreError>;

    /// Claims up to `limit` tasks of these kinds that are pending or whose lease has expired, each
    /// with a new token. A task that was claimed `attempts` times without ending is given up
    /// instead.
    fn claim_tasks(
        &mut self,
        kinds: &[TaskKind],
        worker_id: &str,
        lease_seconds: f64,
        limit: usize,
    ) -> Result<Vec<ClaimedTask>, StoreError>;

    /// Extends the lease of a task to `lease_seconds` from now; returns whether the worker still
    /// holds it.
    fn extend_task(
        &mut self,
        worker_id: &str,
        task: &ClaimedTask,
        lease_seconds: f64,
    ) -> Result<bool, StoreError>;

    /// Ends a task with its result, or returns it to the queue.
    fn end_task(
        &mut self,
        worker_id: &str,
        task: &ClaimedTask,
        end: &TaskEnd,
    ) -> Result<Finished, StoreError>;

    /// Imports every row of another store with the same tables into this one, which must be empty;
    /// all of it or nothing. Returns the number of rows by table.
    fn import(&mut self, from: &dyn StoreReader) -> Result<Copied, StoreError>;
}

/// Calls `see` with the steps of a job by (ordinal, step id), until it fails.
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
