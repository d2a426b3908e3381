//! Claims steps with one statement that locks free steps and skips those that others have locked.
//!
//! A job's run, key and limits are read once and cached: they never change after posting, and joining
//! three more tables for every claim costs a tenth of the throughput.

use std::collections::{BTreeMap, BTreeSet};

use postgres::Client;
use postgres::types::Type;
use runseal_store::store::{
    ClaimedStep, JobId, JobLimits, JobRunId, ServerFault, StepId, StoreError,
};

use crate::error::DatabaseError;
use crate::jobs::storable;

/// The most jobs that are cached; beyond that the cache is emptied.
const MOST_KNOWN: usize = 10_000;

/// The steps to claim: first unclaimed ones, then those whose lease has expired.
const READY: &str = "
    SELECT step_id FROM cassette_steps WHERE status = 'PENDING' AND $4::text IS NULL
    ORDER BY job_id, ordinal, step_id LIMIT $3 FOR UPDATE SKIP LOCKED";
const EXPIRED: &str = "
    SELECT step_id FROM cassette_steps
    WHERE status = 'LEASED' AND lease_expires_at <= statement_timestamp() AND $4::text IS NULL
    ORDER BY lease_expires_at LIMIT $3 - (SELECT count(*) FROM ready)
    FOR UPDATE SKIP LOCKED";

/// The same for one run, job by job, so that each job uses its own part of the index.
const READY_OF_RUN: &str = "
    SELECT s.step_id FROM (SELECT j.job_id FROM cassette_jobs j
        JOIN cassette_messages m USING (message_id) WHERE m.run_id = $4 ORDER BY j.job_id) j,
    LATERAL (SELECT step_id FROM cassette_steps
        WHERE status = 'PENDING' AND job_id = j.job_id
        ORDER BY ordinal, step_id LIMIT $3 FOR UPDATE SKIP LOCKED) s LIMIT $3";
const EXPIRED_OF_RUN: &str = "
    SELECT step_id FROM cassette_steps
    WHERE status = 'LEASED' AND lease_expires_at <= statement_timestamp()
        AND job_id IN (SELECT j.job_id FROM cassette_jobs j
            JOIN cassette_messages m USING (message_id) WHERE m.run_id = $4)
    ORDER BY lease_expires_at LIMIT $3 - (SELECT count(*) FROM ready)
    FOR UPDATE SKIP LOCKED";

/// Who claims steps, for how long, and how many at most.
#[derive(Clone, Copy)]
pub(crate) struct Claim<'a> {
    pub(crate) run_id: Option<&'a JobRunId>,
    pub(crate) worker_id: &'a str,
    pub(crate) lease_seconds: f64,
    pub(crate) limit: usize,
}

/// What all steps of a job share.
#[derive(Debug)]
struct KnownJob {
    run_id: JobRunId,
    idempotency_key: String,
    limits: JobLimits,
}

/// The jobs that this connection has cached.
#[derive(Debug, Default)]
pub(crate) struct KnownJobs(BTreeMap<String, KnownJob>);

impl KnownJobs {
    /// Loads those of `ids` that are not cached yet.
    fn learn(&mut self, client: &mut Client, ids: BTreeSet<String>) -> Result<(), DatabaseError> {
        let unknown = |id: &String| !self.0.contains_key(id);
        let ids: Vec<String> = ids.into_iter().filter(unknown).collect();
        if ids.is_empty() {
            return Ok(());
        }
        if self.0.len() + ids.len() > MOST_KNOWN {
            self.0.clear();
        }
        let rows = client.query_typed(
            "SELECT j.job_id, m.run_id, COALESCE(m.idempotency_key, ''), l.max_bytes, l.max_symbols
             FROM cassette_jobs j JOIN cassette_messages m ON m.message_id = j.message_id
             LEFT JOIN job_limits l ON l.job_id = j.job_id WHERE j.job_id = ANY($1)",
            &[(&ids, Type::TEXT_ARRAY)],
        )?;
        for row in &rows {
            let job = KnownJob {
                run_id: JobRunId::from(row.get::<_, String>(1)),
                idempotency_key: row.get(2),
                limits: JobLimits {
                    max_bytes: row.get(3),
                    max_symbols: row.get(4),
                },
            };
            self.0.insert(row.get(0), job);
        }
        Ok(())
    }
}

pub(crate) fn claim_steps(
    client: &mut Client,
    known: &mut KnownJobs,
    place: &str,
    claim: Claim<'_>,
) -> Result<Vec<ClaimedStep>, DatabaseError> {
    storable("the worker's name", claim.worker_id)?;
    let (ready, expired) = match claim.run_id {
        None => (READY, EXPIRED),
        Some(_) => (READY_OF_RUN, EXPIRED_OF_RUN),
    };
    let query = format!(
        "WITH ready AS MATERIALIZED ({ready}), expired AS MATERIALIZED ({expired}),
         claimed AS (
             UPDATE cassette_steps s SET status = 'LEASED', lease_owner = $1,
                 lease_expires_at = clock_timestamp() + $2 * interval '1 second',
                 fencing_token = s.fencing_token + 1
             WHERE s.step_id = ANY(ARRAY(SELECT step_id FROM ready
                 UNION ALL SELECT step_id FROM expired))
             RETURNING s.step_id, s.job_id, s.ordinal, s.payload_json, s.fencing_token)
         SELECT * FROM claimed ORDER BY job_id, ordinal, step_id"
    );
    let limit = i64::try_from(claim.limit).unwrap_or(i64::MAX);
    let run_id = claim.run_id.map(JobRunId::as_str);
    let rows = client.query_typed(
        &query,
        &[
            (&claim.worker_id, Type::TEXT),
            (&claim.lease_seconds, Type::FLOAT8),
            (&limit, Type::INT8),
            (&run_id, Type::TEXT),
        ],
    )?;
    // If this fails, the claimed steps become available again when their leases expire.
    known.learn(client, rows.iter().map(|row| row.get(1)).collect())?;
    let claimed = rows
        .iter()
        .map(|row| -> Result<ClaimedStep, DatabaseError> {
            let job_id: String = row.get(1);
            let job = known.0.get(&job_id).ok_or_else(|| StoreError::Server {
                place: place.to_owned(),
                fault: ServerFault::Failed,
                problem: "has steps of a missing job",
                source: format!("job `{job_id}`").into(),
            })?;
            Ok(ClaimedStep {
                step_id: StepId::from(row.get::<_, String>(0)),
                run_id: job.run_id.clone(),
                idempotency_key: job.idempotency_key.clone(),
                limits: job.limits,
                ordinal: row.get(2),
                payload_json: row.get(3),
                fencing_token: row.get(4),
                job_id: JobId::from(job_id),
            })
        });
    claimed.collect()
}
