//! Implements the store traits with the functions of this crate's modules.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use runseal_core::digest::Digest;
use runseal_store::store::{
    Cell, ClaimedStep, ClaimedTask, Commit, Copied, DescribeReceipt, Finished, IndexedFile, JobId,
    JobRecord, JobRunId, JobStatus, NewJob, NewSteps, NewTask, Posted, PostedTasks, QueueReader,
    QueueStatus, SectionRecord, StepId, StepRecord, StepResult, Store, StoreError, StoreReader,
    SymbolRecord, Table, TaskEnd, TaskKind, TaskRecord, TaskResult,
};

use crate::address::Address;
use crate::claim::{Claim, KnownJobs, claim_steps};
use crate::connection::Connection;
use crate::{copy, jobs, queue, schema, sections, status, symbols, work};

/// The most steps that a worker holds at once. Each claim and each commit costs a round trip and a
/// flush of the server's write-ahead log, however many steps it covers.
const LARGEST_SHARE: usize = 128;

/// A store on a server.
pub struct PostgresStore {
    connection: Connection,
    known_jobs: KnownJobs,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresStore").field(&self.place()).finish()
    }
}

impl PostgresStore {
    /// Creates the store in the database at this address, or opens the existing one.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses.
    pub fn create(address: &str) -> Result<Self, StoreError> {
        let store = Self::connect(address)?;
        store.connection.run(|client, _| schema::migrate(client))?;
        Ok(store)
    }

    /// Opens a store for writing, and applies missing migrations.
    ///
    /// # Errors
    /// If there is none, or the server cannot be reached or refuses.
    pub fn open(address: &str) -> Result<Self, StoreError> {
        let store = Self::read(address)?;
        store.connection.run(|client, _| schema::migrate(client))?;
        Ok(store)
    }

    /// Opens a store for reading.
    ///
    /// # Errors
    /// If there is none, or the server cannot be reached or refuses.
    pub fn read(address: &str) -> Result<Self, StoreError> {
        let store = Self::connect(address)?;
        let check = |client: &mut postgres::Client, _| schema::check(client, store.place());
        store.connection.run(check)?;
        Ok(store)
    }

    fn connect(address: &str) -> Result<Self, StoreError> {
        let connection = Connection::open(Arc::new(Address::parse(address)?))?;
        Ok(Self::on(connection))
    }

    fn on(connection: Connection) -> Self {
        Self {
            connection,
            known_jobs: KnownJobs::default(),
        }
    }

    /// Returns the server's address, without a password.
    pub fn place(&self) -> &str {
        self.connection.place()
    }
}

impl StoreReader for PostgresStore {
    fn job(&self, run_id: &JobRunId, job_id: &JobId) -> Result<Option<JobRecord>, StoreError> {
        self.connection
            .run(|client, _| jobs::job(client, run_id, job_id))
    }

    fn visit_steps(
        &self,
        job_id: &JobId,
        see: &mut dyn FnMut(StepRecord) -> bool,
    ) -> Result<(), StoreError> {
        // Page by page: the server keeps nothing in between, and `see` may use the store.
        let mut last = None;
        loop {
            let page = self
                .connection
                .run(|client, _| jobs::steps_page(client, job_id, last.as_ref()))?;
            let Some(end) = page.last() else {
                return Ok(());
            };
            last = Some((end.ordinal, end.step_id.as_str().to_owned()));
            for step in page {
                if !see(step) {
                    return Ok(());
                }
            }
        }
    }

    fn posted(
        &self,
        run_id: &JobRunId,
        idempotency_key: &str,
        payload_json: &str,
    ) -> Result<Option<Posted>, StoreError> {
        jobs::storable("the run id", run_id.as_str())?;
        jobs::storable("the idempotency key", idempotency_key)?;
        self.connection
            .run(|client, _| jobs::posted(client, (run_id, idempotency_key), payload_json))
    }

    fn failure_of(&self, step_id: &StepId) -> Result<Option<String>, StoreError> {
        self.connection
            .run(|client, _| jobs::failure_of(client, step_id))
    }

    fn has_open_steps(&self, run_id: Option<&JobRunId>) -> Result<bool, StoreError> {
        self.connection
            .run(|client, _| work::has_open_steps(client, run_id))
    }

    fn section(&self, section_id: &str) -> Result<Option<SectionRecord>, StoreError> {
        Ok(self.sections(&[section_id])?.pop())
    }

    fn sections(&self, ids: &[&str]) -> Result<Vec<SectionRecord>, StoreError> {
        // PostgreSQL cannot store NUL, so no such id exists here.
        let ids: Vec<_> = ids
            .iter()
            .copied()
            .filter(|id| !id.contains('\0'))
            .collect();
        self.connection
            .run(|client, _| sections::sections(client, &ids))
    }

    fn sections_of_file(&self, path: &str) -> Result<Vec<SectionRecord>, StoreError> {
        jobs::storable("the path", path)?;
        self.connection
            .run(|client, _| sections::sections_of_file(client, path))
    }

    fn indexed_files(&self) -> Result<BTreeMap<String, IndexedFile>, StoreError> {
        self.connection
            .run(|client, _| sections::indexed_files(client))
    }

    fn section_counts(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        self.connection
            .run(|client, _| sections::section_counts(client))
    }

    fn compute_index_hash(&self) -> Result<Digest, StoreError> {
        self.connection
            .run(|client, _| sections::compute_index_hash(client))
    }

    fn symbol(&self, symbol_id: &str) -> Result<Option<SymbolRecord>, StoreError> {
        Ok(self.symbols_named(&[symbol_id])?.pop())
    }

    fn symbols_named(&self, names: &[&str]) -> Result<Vec<SymbolRecord>, StoreError> {
        let names: Vec<_> = names
            .iter()
            .copied()
            .filter(|id| !id.contains('\0'))
            .collect();
        self.connection
            .run(|client, _| symbols::symbols_named(client, &names))
    }

    fn symbols(&self) -> Result<Vec<SymbolRecord>, StoreError> {
        self.connection.run(|client, _| symbols::symbols(client))
    }

    fn job_status(
        &self,
        run_id: Option<&JobRunId>,
        job_id: Option<&JobId>,
    ) -> Result<Vec<JobStatus>, StoreError> {
        self.connection
            .run(|client, _| status::job_status(client, run_id, job_id))
    }

    fn visit_rows(
        &self,
        table: &Table,
        see: &mut dyn FnMut(Vec<Cell>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut last: Option<Vec<String>> = None;
        loop {
            let page = self
                .connection
                .run(|client, _| copy::rows_page(client, table, last.as_deref()))?;
            let Some(end) = page.last() else {
                return Ok(());
            };
            last = Some(copy::key_of(table, end));
            for row in page {
                see(row)?;
            }
        }
    }
}

impl QueueReader for PostgresStore {
    fn queue_status(&self, seconds: f64) -> Result<QueueStatus, StoreError> {
        self.connection
            .run(|client, _| queue::queue_status(client, seconds))
    }

    fn visit_tasks(
        &self,
        with_reports: bool,
        see: &mut dyn FnMut(TaskRecord) -> bool,
    ) -> Result<(), StoreError> {
        let mut last = None;
        loop {
            let page = self
                .connection
                .run(|client, _| queue::tasks_page(client, with_reports, last.as_ref()))?;
            let Some(end) = page.last() else {
                return Ok(());
            };
            last = Some((
                end.location.clone(),
                end.kind.name().to_owned(),
                end.task_id.as_str().to_owned(),
            ));
            for task in page {
                if !see(task) {
                    return Ok(());
                }
            }
        }
    }

    fn known_result(
        &self,
        kind: TaskKind,
        done: &str,
        content: &str,
    ) -> Result<Option<TaskResult>, StoreError> {
        self.connection
            .run(|client, _| queue::known_result(client, kind, done, content))
    }

    fn has_open_tasks(&self, kinds: &[TaskKind]) -> Result<bool, StoreError> {
        self.connection
            .run(|client, _| queue::has_open_tasks(client, kinds))
    }
}

impl Store for PostgresStore {
    fn connect_again(&self) -> Result<Option<Box<dyn Store>>, StoreError> {
        let connection = self.connection.again()?;
        Ok(Some(Box::new(Self::on(connection))))
    }

    fn as_reader(&self) -> &dyn StoreReader {
        self
    }

    fn largest_share(&self) -> usize {
        LARGEST_SHARE
    }

    fn wait_for_work(&mut self, at_most: Duration) {
        self.connection.wait(jobs::CHANNEL, at_most);
    }

    fn post_job(&mut self, job: &NewJob<'_>, steps: NewSteps<'_>) -> Result<Posted, StoreError> {
        self.connection
            .run(|client, _| jobs::post_job(client, job, steps))
    }

    fn claim_steps(
        &mut self,
        run_id: Option<&JobRunId>,
        worker_id: &str,
        lease_seconds: f64,
        limit: usize,
    ) -> Result<Vec<ClaimedStep>, StoreError> {
        let claim = Claim {
            run_id,
            worker_id,
            lease_seconds,
            limit,
        };
        let (connection, known) = (&self.connection, &mut self.known_jobs);
        connection.run(|client, _| claim_steps(client, known, connection.place(), claim))
    }

    fn extend_leases(
        &mut self,
        worker_id: &str,
        steps: &[ClaimedStep],
        lease_seconds: f64,
    ) -> Result<Vec<bool>, StoreError> {
        self.connection
            .run(|client, _| work::extend_leases(client, worker_id, steps, lease_seconds))
    }

    fn commit_steps(
        &mut self,
        worker_id: &str,
        results: &[StepResult],
        describe: DescribeReceipt<'_>,
    ) -> Result<Vec<Commit>, StoreError> {
        self.connection
            .run(|client, tries| work::commit_steps(client, worker_id, results, describe, tries))
    }

    fn record_index(
        &mut self,
        read: &[(String, IndexedFile, Vec<SectionRecord>)],
        gone: &[String],
    ) -> Result<(), StoreError> {
        self.connection
            .run(|client, _| sections::record_index(client, read, gone))
    }

    fn put_symbol(&mut self, symbol: &SymbolRecord) -> Result<(), StoreError> {
        self.connection
            .run(|client, _| symbols::put_symbol(client, symbol))
    }

    fn remove_symbol(&mut self, symbol_id: &str) -> Result<bool, StoreError> {
        self.connection
            .run(|client, _| symbols::remove_symbol(client, symbol_id))
    }

    fn post_tasks(&mut self, tasks: &[NewTask]) -> Result<PostedTasks, StoreError> {
        self.connection
            .run(|client, _| queue::post_tasks(client, tasks))
    }

    fn claim_tasks(
        &mut self,
        kinds: &[TaskKind],
        worker_id: &str,
        lease_seconds: f64,
        limit: usize,
    ) -> Result<Vec<ClaimedTask>, StoreError> {
        self.connection
            .run(|client, _| queue::claim_tasks(client, kinds, worker_id, lease_seconds, limit))
    }

    fn extend_task(
        &mut self,
        worker_id: &str,
        task: &ClaimedTask,
        lease_seconds: f64,
    ) -> Result<bool, StoreError> {
        self.connection
            .run(|client, _| queue::extend_task(client, worker_id, task, lease_seconds))
    }

    fn end_task(
        &mut self,
        worker_id: &str,
        task: &ClaimedTask,
        end: &TaskEnd,
    ) -> Result<Finished, StoreError> {
        self.connection
            .run(|client, tries| queue::end_task(client, worker_id, task, end, tries))
    }

    fn import(&mut self, from: &dyn StoreReader) -> Result<Copied, StoreError> {
        // Never retried: the first try may have succeeded although its answer was lost.
        self.connection
            .run_once(|client| copy::import(client, from))
    }
}
