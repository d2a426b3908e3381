//! Messages, jobs and steps: posts a plan, and reads a job back for building.

use postgres::types::Type;
use postgres::{Client, GenericClient, Row};
use runseal_store::store::{
    JobId, JobRecord, JobRunId, MessageId, NewJob, NewSteps, Posted, StepId, StepRecord, StoreError,
};

use crate::error::DatabaseError;

/// Steps per insert.
const CHUNK: usize = 2000;
/// Steps per page.
const PAGE: i64 = 2000;
/// The least number of new steps after which the planner's statistics are updated at once.
const MANY: usize = 1000;
/// The channel on which waiting workers are notified of new jobs. It is only a hint.
pub(crate) const CHANNEL: &str = "runseal_work";

/// Checks that the server can store a text.
pub(crate) fn storable<'t>(what: &str, text: &'t str) -> Result<&'t str, StoreError> {
    if text.contains('\0') {
        return Err(StoreError::Unstorable {
            what: what.to_owned(),
            reason: "PostgreSQL cannot store text with a NUL character",
        });
    }
    Ok(text)
}

pub(crate) fn job(
    client: &mut Client,
    run_id: &JobRunId,
    job_id: &JobId,
) -> Result<Option<JobRecord>, DatabaseError> {
    let row = client.query_typed_opt(
        "SELECT j.job_id, m.run_id, m.message_id
         FROM cassette_jobs j JOIN cassette_messages m USING (message_id)
         WHERE j.job_id = $1 AND m.run_id = $2",
        &[
            (&job_id.as_str(), Type::TEXT),
            (&run_id.as_str(), Type::TEXT),
        ],
    )?;
    Ok(row.map(|row| JobRecord {
        job_id: JobId::from(row.get::<_, String>(0)),
        run_id: JobRunId::from(row.get::<_, String>(1)),
        message_id: MessageId::from(row.get::<_, String>(2)),
    }))
}

/// Reads the next page of steps after `last`.
pub(crate) fn steps_page(
    client: &mut Client,
    job_id: &JobId,
    last: Option<&(i64, String)>,
) -> Result<Vec<StepRecord>, DatabaseError> {
    let (ordinal, step_id) = match last {
        Some((ordinal, step_id)) => (*ordinal, step_id.as_str()),
        None => (i64::MIN, ""),
    };
    let rows = client.query_typed(
        "SELECT s.step_id, s.ordinal, s.status, s.payload_json,
             (SELECT count(*) FROM cassette_receipts r WHERE r.step_id = s.step_id)
         FROM cassette_steps s
         WHERE s.job_id = $1 AND (s.ordinal, s.step_id) > ($2, $3)
         ORDER BY s.ordinal, s.step_id LIMIT $4",
        &[
            (&job_id.as_str(), Type::TEXT),
            (&ordinal, Type::INT8),
            (&step_id, Type::TEXT),
            (&PAGE, Type::INT8),
        ],
    )?;
    Ok(rows.iter().map(step_from_row).collect())
}

fn step_from_row(row: &Row) -> StepRecord {
    StepRecord {
        step_id: StepId::from(row.get::<_, String>(0)),
        ordinal: row.get(1),
        status: row.get(2),
        payload_json: row.get(3),
        receipts: row.get::<_, i64>(4).unsigned_abs(),
    }
}

pub(crate) fn failure_of(
    client: &mut Client,
    step_id: &StepId,
) -> Result<Option<String>, DatabaseError> {
    let row = client.query_typed_opt(
        "SELECT receipt_json FROM cassette_receipts WHERE step_id = $1 AND outcome <> 'SUCCESS'",
        &[(&step_id.as_str(), Type::TEXT)],
    )?;
    Ok(row.map(|row| row.get(0)))
}

/// Finds the job for this run and key, and whether its content differs.
pub(crate) fn posted(
    client: &mut impl GenericClient,
    (run_id, idempotency_key): (&JobRunId, &str),
    payload_json: &str,
) -> Result<Option<Posted>, DatabaseError> {
    let row = client.query_typed(
        "SELECT m.message_id, j.job_id, m.payload_json = $3,
             (SELECT count(*) FROM cassette_steps s WHERE s.job_id = j.job_id)
         FROM cassette_messages m JOIN cassette_jobs j USING (message_id)
         WHERE m.run_id = $1 AND m.idempotency_key = $2
         ORDER BY j.ordinal, j.job_id LIMIT 1",
        &[
            (&run_id.as_str(), Type::TEXT),
            (&idempotency_key, Type::TEXT),
            (&payload_json, Type::TEXT),
        ],
    )?;
    Ok(row.first().map(|row| Posted {
        message_id: MessageId::from(row.get::<_, String>(0)),
        job_id: JobId::from(row.get::<_, String>(1)),
        differs: !row.get::<_, bool>(2),
        steps: row.get::<_, i64>(3).unsigned_abs(),
        repeated: true,
    }))
}

/// Stores a plan, or finds the job that its key already has; all in one transaction.
pub(crate) fn post_job(
    client: &mut Client,
    job: &NewJob<'_>,
    steps: NewSteps<'_>,
) -> Result<Posted, DatabaseError> {
    storable("the run id", job.run_id.as_str())?;
    storable("the idempotency key", &job.idempotency_key)?;
    storable("the intent", &job.intent)?;
    let key = (&job.run_id, job.idempotency_key.as_str());
    let mut transaction = client.transaction()?;
    if let Some(posted) = posted(&mut transaction, key, &job.payload_json)? {
        return Ok(posted);
    }
    // A concurrent post of the same plan waits here for the first one.
    let added = transaction.execute_typed(
        "INSERT INTO cassette_messages(message_id, run_id, source, idempotency_key, payload_json)
         VALUES($1, $2, 'USER', $3, $4) ON CONFLICT (message_id) DO NOTHING",
        &[
            (&job.message_id.as_str(), Type::TEXT),
            (&job.run_id.as_str(), Type::TEXT),
            (&job.idempotency_key, Type::TEXT),
            (&&*job.payload_json, Type::TEXT),
        ],
    )?;
    if added == 0
        && let Some(posted) = posted(&mut transaction, key, &job.payload_json)?
    {
        return Ok(posted);
    }
    let job_id = job.job_id.as_str();
    transaction.execute_typed(
        "INSERT INTO cassette_jobs(job_id, message_id, intent, ordinal) VALUES($1, $2, $3, 1)",
        &[
            (&job_id, Type::TEXT),
            (&job.message_id.as_str(), Type::TEXT),
            (&job.intent, Type::TEXT),
        ],
    )?;
    transaction.execute_typed(
        "INSERT INTO job_limits(job_id, max_bytes, max_symbols) VALUES($1, $2, $3)",
        &[
            (&job_id, Type::TEXT),
            (&job.limits.max_bytes, Type::INT8),
            (&job.limits.max_symbols, Type::INT8),
        ],
    )?;
    transaction.execute_typed(
        "INSERT INTO cassette_job_budgets(job_id, bytes_consumed, symbols_consumed)
         VALUES($1, 0, 0)",
        &[(&job_id, Type::TEXT)],
    )?;
    let mut at = 0;
    while at < steps.count {
        let until = steps.count.min(at + CHUNK);
        add_steps(&mut transaction, job_id, at..until, steps)?;
        at = until;
    }
    transaction.batch_execute(&format!("NOTIFY {CHANNEL}"))?;
    transaction.commit()?;
    if steps.count >= MANY {
        // Query plans made while the table was empty would scan all of it for each claim. A failure here
        // only costs speed.
        let _ = client.batch_execute("ANALYZE cassette_steps");
    }
    Ok(Posted {
        message_id: job.message_id.clone(),
        job_id: job.job_id.clone(),
        steps: steps.count as u64,
        repeated: false,
        differs: false,
    })
}

fn add_steps(
    transaction: &mut postgres::Transaction<'_>,
    job_id: &str,
    range: std::ops::Range<usize>,
    steps: NewSteps<'_>,
) -> Result<(), DatabaseError> {
    let mut ids = Vec::with_capacity(range.len());
    let mut ordinals = Vec::with_capacity(range.len());
    let mut payloads = Vec::with_capacity(range.len());
    for at in range {
        let step = (steps.make)(at)?;
        storable("a step's id", step.step_id.as_str())?;
        ids.push(step.step_id.as_str().to_owned());
        ordinals.push(step.ordinal);
        payloads.push(step.payload_json);
    }
    let added = transaction.execute_typed(
        "INSERT INTO cassette_steps(step_id, job_id, ordinal, status, payload_json)
         SELECT step_id, $1, ordinal, 'PENDING', payload_json
         FROM UNNEST($2, $3, $4) AS new(step_id, ordinal, payload_json)
         ON CONFLICT (step_id) DO NOTHING",
        &[
            (&job_id, Type::TEXT),
            (&ids, Type::TEXT_ARRAY),
            (&ordinals, Type::INT8_ARRAY),
            (&payloads, Type::TEXT_ARRAY),
        ],
    )?;
    if added == ids.len() as u64 {
        return Ok(());
    }
    let taken = transaction.query_typed(
        "SELECT s.step_id, s.job_id FROM UNNEST($1) WITH ORDINALITY AS new(step_id, place)
         JOIN cassette_steps s USING (step_id) WHERE s.job_id <> $2 ORDER BY new.place LIMIT 1",
        &[(&ids, Type::TEXT_ARRAY), (&job_id, Type::TEXT)],
    )?;
    let (step_id, owner) = match taken.first() {
        Some(row) => (row.get::<_, String>(0), row.get::<_, String>(1)),
        // The plan itself contains a step id twice.
        None => (first_repeated(&ids), job_id.to_owned()),
    };
    Err(DatabaseError::Store(StoreError::StepTaken {
        step_id: StepId::from(step_id),
        job_id: JobId::from(owner),
    }))
}

fn first_repeated(ids: &[String]) -> String {
    let mut seen = std::collections::BTreeSet::new();
    let repeated = ids.iter().find(|id| !seen.insert(*id));
    repeated.or(ids.first()).cloned().unwrap_or_default()
}
