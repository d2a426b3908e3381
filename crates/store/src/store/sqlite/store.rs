//! Implements the store traits with the functions of this module's files.

use std::collections::BTreeMap;

use runseal_core::digest::Digest;

use super::{SqliteReader, SqliteStore};
use crate::store::{
    Cell, ClaimedStep, ClaimedTask, Commit, Copied, DescribeReceipt, Finished, IndexedFile, JobId,
    JobRecord, JobRunId, JobStatus, NewJob, NewSteps, NewTask, Posted, PostedTasks, QueueReader,
    QueueStatus, SectionRecord, StepId, StepRecord, StepResult, Store, StoreError, StoreReader,
    SymbolRecord, Table, TaskEnd, TaskKind, TaskRecord, TaskResult,
};

/// The most steps that a worker holds at once. They share a file, so more would save no round
/// trips.
const LARGEST_SHARE: usize = 32;

/// Implements reading for both the reader and the store, which contains a reader.
macro_rules! implement_readers {
    ($name:ident) => {
        impl StoreReader for $name {
            fn job(
                &self,
                run_id: &JobRunId,
                job_id: &JobId,
            ) -> Result<Option<JobRecord>, StoreError> {
                SqliteReader::job(self, run_id, job_id)
            }

            fn visit_steps(
                &self,
                job_id: &JobId,
                see: &mut dyn FnMut(StepRecord) -> bool,
            ) -> Result<(), StoreError> {
                SqliteReader::visit_steps(self, job_id, see)
            }

            fn posted(
                &self,
                run_id: &JobRunId,
                idempotency_key: &str,
                payload_json: &str,
            ) -> Result<Option<Posted>, StoreError> {
                SqliteReader::posted(self, run_id, idempotency_key, payload_json)
            }

            fn failure_of(&self, step_id: &StepId) -> Result<Option<String>, StoreError> {
                SqliteReader::failure_of(self, step_id)
            }

            fn has_open_steps(&self, run_id: Option<&JobRunId>) -> Result<bool, StoreError> {
                SqliteReader::has_open_steps(self, run_id)
            }

            fn section(&self, section_id: &str) -> Result<Option<SectionRecord>, StoreError> {
                SqliteReader::section(self, section_id)
            }

            fn sections_of_file(&self, path: &str) -> Result<Vec<SectionRecord>, StoreError> {
                SqliteReader::sections_of_file(self, path)
            }

            fn indexed_files(&self) -> Result<BTreeMap<String, IndexedFile>, StoreError> {
                SqliteReader::indexed_files(self)
            }

            fn section_counts(&self) -> Result<BTreeMap<String, u64>, StoreError> {
                SqliteReader::section_counts(self)
            }

            fn compute_index_hash(&self) -> Result<Digest, StoreError> {
                SqliteReader::compute_index_hash(self)
            }

            fn symbol(&self, symbol_id: &str) -> Result<Option<SymbolRecord>, StoreError> {
                SqliteReader::symbol(self, symbol_id)
            }

            fn symbols(&self) -> Result<Vec<SymbolRecord>, StoreError> {
                SqliteReader::symbols(self)
            }

            fn job_status(
                &self,
                run_id: Option<&JobRunId>,
                job_id: Option<&JobId>,
            ) -> Result<Vec<JobStatus>, StoreError> {
                SqliteReader::job_status(self, run_id, job_id)
            }

            fn visit_rows(
                &self,
                table: &Table,
                see: &mut dyn FnMut(Vec<Cell>) -> Result<(), StoreError>,
            ) -> Result<(), StoreError> {
                SqliteReader::visit_rows(self, table, see)
            }
        }

        impl QueueReader for $name {
            fn queue_status(&self, seconds: f64) -> Result<QueueStatus, StoreError> {
                SqliteReader::queue_status(self, seconds)
            }

            fn visit_tasks(
                &self,
                with_reports: bool,
                see: &mut dyn FnMut(TaskRecord) -> bool,
            ) -> Result<(), StoreError> {
                SqliteReader::visit_tasks(self, with_reports, see)
            }

            fn known_result(
                &self,
                kind: TaskKind,
                done: &str,
                content: &str,
            ) -> Result<Option<TaskResult>, StoreError> {
                SqliteReader::known_result(self, kind, done, content)
            }

            fn has_open_tasks(&self, kinds: &[TaskKind]) -> Result<bool, StoreError> {
                SqliteReader::has_open_tasks(self, kinds)
            }
        }
    };
}

implement_readers!(SqliteReader);
implement_readers!(SqliteStore);

impl Store for SqliteStore {
    fn connect_again(&self) -> Result<Option<Box<dyn Store>>, StoreError> {
        // The file allows only one writer at a time: workers of a process take turns more cheaply
        // than they wait for its lock.
        Ok(None)
    }

    fn as_reader(&self) -> &dyn StoreReader {
        self
    }

    fn largest_share(&self) -> usize {
        LARGEST_SHARE
    }

    fn post_job(&mut self, job: &NewJob<'_>, steps: NewSteps<'_>) -> Result<Posted, StoreError> {
        Self::post_job(self, job, steps)
    }

    fn claim_steps(
        &mut self,
        run_id: Option<&JobRunId>,
        worker_id: &str,
        lease_seconds: f64,
        limit: usize,
    ) -> Result<Vec<ClaimedStep>, StoreError> {
        Self::claim_steps(self, run_id, worker_id, lease_seconds, limit)
    }

    fn extend_leases(
        &mut self,
        worker_id: &str,
        steps: &[ClaimedStep],
        lease_seconds: f64,
    ) -> Result<Vec<bool>, StoreError> {
        Self::extend_leases(self, worker_id, steps, lease_seconds)
    }

    fn commit_steps(
        &mut self,
        worker_id: &str,
        results: &[StepResult],
        describe: DescribeReceipt<'_>,
    ) -> Result<Vec<Commit>, StoreError> {
        Self::commit_steps(self, worker_id, results, describe)
    }

    fn record_index(
        &mut self,
        read: &[(String, IndexedFile, Vec<SectionRecord>)],
        gone: &[String],
    ) -> Result<(), StoreError> {
        Self::record_index(self, read, gone)
    }

    fn put_symbol(&mut self, symbol: &SymbolRecord) -> Result<(), StoreError> {
        Self::put_symbol(self, symbol)
    }

    fn remove_symbol(&mut self, symbol_id: &str) -> Result<bool, StoreError> {
        Self::remove_symbol(self, symbol_id)
    }

    fn post_tasks(&mut self, tasks: &[NewTask]) -> Result<PostedTasks, StoreError> {
        Self::post_tasks(self, tasks)
    }

    fn claim_tasks(
        &mut self,
        kinds: &[TaskKind],
        worker_id: &str,
        lease_seconds: f64,
        limit: usize,
    ) -> Result<Vec<ClaimedTask>, StoreError> {
        Self::claim_tasks(self, kinds, worker_id, lease_seconds, limit)
    }

    fn extend_task(
        &mut self,
        worker_id: &str,
        task: &ClaimedTask,
        lease_seconds: f64,
    ) -> Result<bool, StoreError> {
        Self::extend_task(self, worker_id, task, lease_seconds)
    }

    fn end_task(
        &mut self,
        worker_id: &str,
        task: &ClaimedTask,
        end: &TaskEnd,
    ) -> Result<Finished, StoreError> {
        Self::end_task(self, worker_id, task, end)
    }

    fn import(&mut self, from: &dyn StoreReader) -> Result<Copied, StoreError> {
        Self::import(self, from)
    }
}
