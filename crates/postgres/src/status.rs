//! What `job status` shows: counts by state, receipts, workers.

use std::collections::BTreeMap;

use postgres::Client;
use postgres::types::Type;
use runseal_store::store::{FailedStep, JobId, JobRunId, JobStatus, StateCounts, StepId};

use crate::error::DatabaseError;

pub(crate) fn job_status(
    client: &mut Client,
    run_id: Option<&JobRunId>,
    job_id: Option<&JobId>,
) -> Result<Vec<JobStatus>, DatabaseError> {
    // Read everything at the same moment.
    let mut transaction = client
        .build_transaction()
        .read_only(true)
        .isolation_level(postgres::IsolationLevel::RepeatableRead)
        .start()?;
    let run_id = run_id.map(JobRunId::as_str);
    let job_id = job_id.map(JobId::as_str);
    let found = transaction.query_typed(
        "SELECT m.run_id, j.job_id, j.intent
         FROM cassette_jobs j JOIN cassette_messages m USING (message_id)
         WHERE ($1 IS NULL OR m.run_id = $1) AND ($2 IS NULL OR j.job_id = $2)
         ORDER BY m.run_id, j.job_id",
        &[(&run_id, Type::TEXT), (&job_id, Type::TEXT)],
    )?;
    let ids: Vec<String> = found.iter().map(|row| row.get(1)).collect();
    let mut jobs: BTreeMap<String, JobStatus> = BTreeMap::new();
    for row in &found {
        let id: String = row.get(1);
        let status = JobStatus {
            run_id: JobRunId::from(row.get::<_, String>(0)),
            job_id: JobId::from(id.clone()),
            intent: row.get(2),
            states: StateCounts::default(),
            succeeded: 0,
            failed: 0,
            workers: Vec::new(),
            failures: Vec::new(),
        };
        jobs.insert(id, status);
    }
    let mut each = |query: &str, note: &mut dyn FnMut(&mut JobStatus, &postgres::Row)| {
        for row in transaction.query_typed(query, &[(&ids, Type::TEXT_ARRAY)])? {
            if let Some(job) = jobs.get_mut(row.get::<_, &str>(0)) {
                note(job, &row);
            }
        }
        Ok::<_, DatabaseError>(())
    };
    let count = |row: &postgres::Row, at: usize| row.get::<_, i64>(at).unsigned_abs();
    each(
        "SELECT job_id, count(*) FILTER (WHERE status = 'PENDING'),
             count(*) FILTER (WHERE status = 'LEASED'),
             count(*) FILTER (WHERE status = 'COMMITTED')
         FROM cassette_steps WHERE job_id = ANY($1) GROUP BY job_id",
        &mut |job, row| {
            job.states = StateCounts {
                pending: count(row, 1),
                leased: count(row, 2),
                committed: count(row, 3),
            };
        },
    )?;
    each(
        "SELECT job_id, count(*) FILTER (WHERE outcome = 'SUCCESS'),
             count(*) FILTER (WHERE outcome <> 'SUCCESS')
         FROM cassette_receipts WHERE job_id = ANY($1) GROUP BY job_id",
        &mut |job, row| (job.succeeded, job.failed) = (count(row, 1), count(row, 2)),
    )?;
    each(
        "SELECT job_id, worker_id FROM cassette_receipts WHERE job_id = ANY($1)
         UNION SELECT job_id, lease_owner COLLATE \"C\" FROM cassette_steps
             WHERE job_id = ANY($1) AND status = 'LEASED'
         ORDER BY 1, 2",
        &mut |job, row| job.workers.push(row.get(1)),
    )?;
    each(
        "SELECT r.job_id, s.step_id, s.ordinal, r.receipt_json
         FROM cassette_receipts r JOIN cassette_steps s USING (step_id)
         WHERE r.job_id = ANY($1) AND r.outcome <> 'SUCCESS' ORDER BY s.ordinal, s.step_id",
        &mut |job, row| {
            job.failures.push(FailedStep {
                step_id: StepId::from(row.get::<_, String>(1)),
                ordinal: row.get(2),
                reason: row.get(3),
            });
        },
    )?;
    transaction.commit()?;
    Ok(ids.iter().filter_map(|id| jobs.remove(id)).collect())
}
