//! Messages, jobs and steps: posts a plan, and reads a job back for building.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::{SqliteReader, SqliteStore};
use crate::store::{
    JobId, JobRecord, JobRunId, MessageId, NewJob, NewSteps, Posted, StepId, StepRecord, StoreError,
};

fn step_from_row(row: &Row<'_>) -> rusqlite::Result<StepRecord> {
    Ok(StepRecord {
        step_id: row.get(0)?,
        ordinal: row.get(1)?,
        status: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
        payload_json: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
        receipts: row.get(4)?,
    })
}

impl SqliteReader {
    /// Returns the job of this run, if there is one.
    pub(super) fn job(
        &self,
        run_id: &JobRunId,
        job_id: &JobId,
    ) -> Result<Option<JobRecord>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT j.job_id, m.run_id, m.message_id
             FROM cassette_jobs j JOIN cassette_messages m ON m.message_id = j.message_id
             WHERE j.job_id = ?1 AND m.run_id = ?2",
        )?;
        let job = statement.query_row(params![job_id, run_id], |row| {
            Ok(JobRecord {
                job_id: row.get(0)?,
                run_id: row.get(1)?,
                message_id: row.get(2)?,
            })
        });
        Ok(job.optional()?)
    }

    /// Calls `see` with the steps of a job by (ordinal, step id), until it returns false.
    pub(super) fn visit_steps(
        &self,
        job_id: &JobId,
        see: &mut dyn FnMut(StepRecord) -> bool,
    ) -> Result<(), StoreError> {
        // A single pass over the receipts, so that a store without indexes is read in linear time.
        let query = "SELECT s.step_id, s.ordinal, s.status, s.payload_json, COALESCE(r.receipts, 0)
             FROM cassette_steps s
             LEFT JOIN (SELECT step_id, COUNT(*) AS receipts FROM cassette_receipts
                 GROUP BY step_id) r ON r.step_id = s.step_id
             WHERE s.job_id = ?1 ORDER BY s.ordinal, s.step_id";
        let mut statement = self.connection.prepare(query)?;
        let mut rows = statement.query([job_id])?;
        while let Some(row) = rows.next()? {
            if !see(step_from_row(row)?) {
                break;
            }
        }
        Ok(())
    }

    /// Returns the job that a plan with this run and key already has.
    pub(super) fn posted(
        &self,
        run_id: &JobRunId,
        idempotency_key: &str,
        payload_json: &str,
    ) -> Result<Option<Posted>, StoreError> {
        find_posted(&self.connection, (run_id, idempotency_key), payload_json)
    }

    /// Returns the reason a step failed, if it has a receipt that says so.
    pub(super) fn failure_of(&self, step_id: &StepId) -> Result<Option<String>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT receipt_json FROM cassette_receipts
             WHERE step_id = ?1 AND outcome <> 'SUCCESS' ORDER BY receipt_id LIMIT 1",
        )?;
        Ok(statement
            .query_row([step_id], |row| row.get(0))
            .optional()?)
    }
}

impl SqliteStore {
    pub(super) fn post_job(
        &mut self,
        job: &NewJob<'_>,
        steps: NewSteps<'_>,
    ) -> Result<Posted, StoreError> {
        let transaction = self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Under the lock, so that two programs that post the same plan at once get the same job.
        let key = (&job.run_id, job.idempotency_key.as_str());
        if let Some(posted) = find_posted(&transaction, key, &job.payload_json)? {
            return Ok(posted);
        }
        transaction.execute(
            "INSERT INTO cassette_messages(message_id, run_id, source, idempotency_key,
                 payload_json, created_at)
             VALUES(?1, ?2, 'USER', ?3, ?4, datetime('now'))",
            params![
                job.message_id,
                job.run_id,
                job.idempotency_key,
                &*job.payload_json
            ],
        )?;
        transaction.execute(
            "INSERT INTO cassette_jobs(job_id, message_id, intent, ordinal, created_at)
             VALUES(?1, ?2, ?3, 1, datetime('now'))",
            params![job.job_id, job.message_id, job.intent],
        )?;
        transaction.execute(
            "INSERT INTO cassette_job_budgets(job_id, bytes_consumed, symbols_consumed)
             VALUES(?1, 0, 0)",
            [&job.job_id],
        )?;
        transaction.execute(
            "INSERT INTO job_limits(job_id, max_bytes, max_symbols) VALUES(?1, ?2, ?3)",
            params![job.job_id, job.limits.max_bytes, job.limits.max_symbols],
        )?;
        {
            let mut taken = transaction
                .prepare_cached("SELECT job_id FROM cassette_steps WHERE step_id = ?1")?;
            let mut add = transaction.prepare_cached(
                "INSERT INTO cassette_steps(step_id, job_id, ordinal, status, fencing_token,
                     payload_json, created_at)
                 VALUES(?1, ?2, ?3, 'PENDING', 0, ?4, datetime('now'))",
            )?;
            for at in 0..steps.count {
                let step = (steps.make)(at)?;
                let owner = taken
                    .query_row([&step.step_id], |row| row.get(0))
                    .optional()?;
                if let Some(job_id) = owner {
                    return Err(StoreError::StepTaken {
                        step_id: step.step_id.clone(),
                        job_id,
                    });
                }
                add.execute(params![
                    step.step_id,
                    job.job_id,
                    step.ordinal,
                    step.payload_json
                ])?;
            }
        }
        transaction.commit()?;
        Ok(Posted {
            message_id: job.message_id.clone(),
            job_id: job.job_id.clone(),
            steps: steps.count as u64,
            repeated: false,
            differs: false,
        })
    }
}

/// Returns the job for this run and key, if there is one, and whether its content is the same.
fn find_posted(
    connection: &Connection,
    (run_id, idempotency_key): (&JobRunId, &str),
    payload_json: &str,
) -> Result<Option<Posted>, StoreError> {
    let known: Option<(MessageId, JobId, String)> = connection
        .query_row(
            "SELECT m.message_id, j.job_id, m.payload_json
             FROM cassette_messages m JOIN cassette_jobs j ON j.message_id = m.message_id
             WHERE m.run_id = ?1 AND m.idempotency_key = ?2
             ORDER BY j.ordinal, j.job_id LIMIT 1",
            params![run_id, idempotency_key],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    let Some((message_id, job_id, recorded)) = known else {
        return Ok(None);
    };
    let steps = connection.query_row(
        "SELECT COUNT(*) FROM cassette_steps WHERE job_id = ?1",
        [&job_id],
        |row| row.get(0),
    )?;
    let differs = recorded != payload_json;
    Ok(Some(Posted {
        message_id,
        job_id,
        steps,
        repeated: true,
        differs,
    }))
}
