//! What `job status` shows: counts by state, receipts, workers.

use rusqlite::params;

use super::SqliteReader;
use crate::store::{FailedStep, JobId, JobRunId, JobStatus, StateCounts, StoreError};

impl SqliteReader {
    /// Returns the jobs of the store, or of one run, or the one job; by run and job id.
    pub(super) fn job_status(
        &self,
        run_id: Option<&JobRunId>,
        job_id: Option<&JobId>,
    ) -> Result<Vec<JobStatus>, StoreError> {
        let mut jobs = self.connection.prepare(
            "SELECT m.run_id, j.job_id, COALESCE(j.intent, '')
             FROM cassette_jobs j JOIN cassette_messages m ON m.message_id = j.message_id
             WHERE (?1 IS NULL OR m.run_id = ?1) AND (?2 IS NULL OR j.job_id = ?2)
             ORDER BY m.run_id, j.job_id",
        )?;
        let found = jobs.query_map(params![run_id, job_id], |row| {
            Ok((
                row.get::<_, JobRunId>(0)?,
                row.get::<_, JobId>(1)?,
                row.get::<_, String>(2)?,
            ))
        })?;
        let mut states = self.connection.prepare(
            "SELECT COALESCE(SUM(status = 'PENDING'), 0), COALESCE(SUM(status = 'LEASED'), 0),
                 COALESCE(SUM(status = 'COMMITTED'), 0)
             FROM cassette_steps WHERE job_id = ?1",
        )?;
        let mut receipts = self.connection.prepare(
            "SELECT COALESCE(SUM(outcome = 'SUCCESS'), 0), COALESCE(SUM(outcome <> 'SUCCESS'), 0)
             FROM cassette_receipts WHERE job_id = ?1",
        )?;
        let mut workers = self.connection.prepare(
            "SELECT worker_id FROM cassette_receipts WHERE job_id = ?1
             UNION SELECT lease_owner FROM cassette_steps
             WHERE job_id = ?1 AND status = 'LEASED' AND lease_owner IS NOT NULL ORDER BY 1",
        )?;
        let mut failures = self.connection.prepare(
            "SELECT s.step_id, s.ordinal, COALESCE(r.receipt_json, '')
             FROM cassette_receipts r JOIN cassette_steps s ON s.step_id = r.step_id
             WHERE r.job_id = ?1 AND r.outcome <> 'SUCCESS' ORDER BY s.ordinal, s.step_id",
        )?;
        let mut all = Vec::new();
        for job in found {
            let (run_id, job_id, intent) = job?;
            let states = states.query_row([&job_id], |row| {
                Ok(StateCounts {
                    pending: row.get(0)?,
                    leased: row.get(1)?,
                    committed: row.get(2)?,
                })
            })?;
            let (succeeded, failed) =
                receipts.query_row([&job_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let workers = workers
                .query_map([&job_id], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            let failures = failures
                .query_map([&job_id], |row| {
                    Ok(FailedStep {
                        step_id: row.get(0)?,
                        ordinal: row.get(1)?,
                        reason: row.get(2)?,
                    })
                })?
                .collect::<Result<_, _>>()?;
            all.push(JobStatus {
                run_id,
                job_id,
                intent,
                states,
                succeeded,
                failed,
                workers,
                failures,
            });
        }
        Ok(all)
    }
}
