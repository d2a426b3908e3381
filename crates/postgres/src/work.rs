//! Commits steps in one statement, and extends their leases until then.
//!
//! The UPDATE that commits a step has the fencing token in its condition: a worker whose lease was
//! taken over changes no row, and receipts are added only for changed rows. Only commits of a job
//! with a budget must take turns, in a transaction of a few statements, which the server ends if the
//! worker disappears.

use std::collections::{BTreeMap, BTreeSet};

use postgres::types::Type;
use postgres::{Client, GenericClient};
use runseal_core::formats::job_bundle::op::Op;
use runseal_store::store::{
    ClaimedStep, Commit, DescribeReceipt, JobRunId, Outcome, ReceiptId, StepResult,
};

use crate::error::DatabaseError;

pub(crate) fn has_open_steps(
    client: &mut Client,
    run_id: Option<&JobRunId>,
) -> Result<bool, DatabaseError> {
    // Query each status through its own partial index; one query for both may scan the whole table.
    let row = match run_id {
        None => client.query_typed_one(
            "SELECT EXISTS(SELECT 1 FROM cassette_steps WHERE status = 'PENDING')
                 OR EXISTS(SELECT 1 FROM cassette_steps WHERE status = 'LEASED')",
            &[],
        )?,
        Some(run_id) => client.query_typed_one(
            "WITH jobs AS (SELECT j.job_id FROM cassette_jobs j
                 JOIN cassette_messages m USING (message_id) WHERE m.run_id = $1)
             SELECT EXISTS(SELECT 1 FROM jobs JOIN cassette_steps s USING (job_id)
                     WHERE s.status = 'PENDING')
                 OR EXISTS(SELECT 1 FROM jobs JOIN cassette_steps s USING (job_id)
                     WHERE s.status = 'LEASED')",
            &[(&run_id.as_str(), Type::TEXT)],
        )?,
    };
    Ok(row.get(0))
}

pub(crate) fn extend_leases(
    client: &mut Client,
    worker_id: &str,
    steps: &[ClaimedStep],
    lease_seconds: f64,
) -> Result<Vec<bool>, DatabaseError> {
    let ids: Vec<_> = steps.iter().map(|step| step.step_id.as_str()).collect();
    let tokens: Vec<_> = steps.iter().map(|step| step.fencing_token).collect();
    let rows = client.query_typed(
        "UPDATE cassette_steps s
         SET lease_expires_at = clock_timestamp() + $4 * interval '1 second'
         FROM UNNEST($1, $2) AS held(step_id, token)
         WHERE s.step_id = held.step_id AND s.step_id = ANY($1) AND s.status = 'LEASED'
             AND s.fencing_token = held.token AND s.lease_owner = $3
         RETURNING s.step_id",
        &[
            (&ids, Type::TEXT_ARRAY),
            (&tokens, Type::INT8_ARRAY),
            (&worker_id, Type::TEXT),
            (&lease_seconds, Type::FLOAT8),
        ],
    )?;
    let held: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    Ok(ids.iter().map(|id| held.contains(*id)).collect())
}

/// A result to be written, with its receipt.
struct ReadyResult<'r> {
    result: &'r StepResult,
    receipt_id: ReceiptId,
    receipt_json: String,
    commit: Commit,
}

impl<'r> ReadyResult<'r> {
    fn new(
        result: &'r StepResult,
        outcome: &Outcome,
        describe: DescribeReceipt<'_>,
    ) -> Result<Self, DatabaseError> {
        let described = describe(result, outcome);
        let (receipt_id, receipt_json) =
            described.map_err(|error| DatabaseError::Store(error.into()))?;
        let commit = match outcome {
            Outcome::Success { .. } => Commit::Succeeded,
            Outcome::Failure { .. } => Commit::Failed,
        };
        Ok(Self {
            result,
            receipt_id,
            receipt_json,
            commit,
        })
    }
}

/// Commits the steps that the worker still holds. If `tries` is not 0, an earlier try whose answer was
/// lost may already have committed them.
pub(crate) fn commit_steps(
    client: &mut Client,
    worker_id: &str,
    results: &[StepResult],
    describe: DescribeReceipt<'_>,
    tries: u32,
) -> Result<Vec<Commit>, DatabaseError> {
    let limited = results.iter().any(|result| {
        !result.step.limits.is_none() && matches!(result.outcome, Outcome::Success { .. })
    });
    let mut done = BTreeMap::new();
    if tries > 0 {
        done = committed_before(client, worker_id, results)?;
    }
    let open: Vec<_> = results
        .iter()
        .filter(|result| !done.contains_key(result.step.step_id.as_str()))
        .collect();
    if !open.is_empty() {
        if limited {
            done.extend(commit_limited(client, worker_id, &open, describe)?);
        } else {
            let ready = open
                .iter()
                .map(|result| ReadyResult::new(result, &result.outcome, describe))
                .collect::<Result<Vec<_>, _>>()?;
            done.extend(write(client, worker_id, &ready)?);
        }
    }
    let commits = results.iter().map(|result| {
        let commit = done.get(result.step.step_id.as_str());
        commit.copied().unwrap_or(Commit::Overtaken)
    });
    Ok(commits.collect())
}

/// Finds the steps that this worker has already committed under the same leases.
fn committed_before(
    client: &mut Client,
    worker_id: &str,
    results: &[StepResult],
) -> Result<BTreeMap<String, Commit>, DatabaseError> {
    let steps = results.iter().map(|result| &result.step);
    let ids: Vec<_> = steps.clone().map(|step| step.step_id.as_str()).collect();
    let tokens: Vec<_> = steps.map(|step| step.fencing_token).collect();
    let rows = client.query_typed(
        "SELECT r.step_id, r.outcome = 'SUCCESS' FROM cassette_receipts r
         JOIN UNNEST($1, $2) AS held(step_id, token)
             ON r.step_id = held.step_id AND r.fencing_token = held.token
         WHERE r.worker_id = $3 AND r.step_id = ANY($1)",
        &[
            (&ids, Type::TEXT_ARRAY),
            (&tokens, Type::INT8_ARRAY),
            (&worker_id, Type::TEXT),
        ],
    )?;
    let commits = rows.iter().map(|row| {
        let commit = if row.get(1) {
            Commit::Succeeded
        } else {
            Commit::Failed
        };
        (row.get(0), commit)
    });
    Ok(commits.collect())
}

/// Commits with a single statement: changes the steps whose tokens still match, and adds a receipt for
/// each.
fn write(
    client: &mut impl GenericClient,
    worker_id: &str,
    ready: &[ReadyResult<'_>],
) -> Result<BTreeMap<String, Commit>, DatabaseError> {
    let steps = || ready.iter().map(|ready| &ready.result.step);
    let ids: Vec<_> = steps().map(|step| step.step_id.as_str()).collect();
    let tokens: Vec<_> = steps().map(|step| step.fencing_token).collect();
    let receipt_ids: Vec<_> = ready.iter().map(|one| one.receipt_id.as_str()).collect();
    let outcomes: Vec<_> = ready
        .iter()
        .map(|one| match one.commit {
            Commit::Succeeded => "SUCCESS",
            _ => "FAILURE",
        })
        .collect();
    let receipts: Vec<_> = ready.iter().map(|one| one.receipt_json.as_str()).collect();
    let rows = client.query_typed(
        "WITH result AS (
             SELECT * FROM UNNEST($2, $3, $4, $5, $6)
                 AS result(step_id, token, receipt_id, outcome, receipt_json)),
         won AS (
             UPDATE cassette_steps s SET status = 'COMMITTED' FROM result
             WHERE s.step_id = result.step_id AND s.step_id = ANY($2) AND s.status = 'LEASED'
                 AND s.fencing_token = result.token AND s.lease_owner = $1
             RETURNING s.step_id, s.job_id, s.fencing_token, result.receipt_id, result.outcome,
                 result.receipt_json)
         INSERT INTO cassette_receipts(receipt_id, step_id, job_id, worker_id, fencing_token,
             outcome, receipt_json)
         SELECT receipt_id, step_id, job_id, $1, fencing_token, outcome, receipt_json FROM won
         RETURNING step_id",
        &[
            (&worker_id, Type::TEXT),
            (&ids, Type::TEXT_ARRAY),
            (&tokens, Type::INT8_ARRAY),
            (&receipt_ids, Type::TEXT_ARRAY),
            (&outcomes, Type::TEXT_ARRAY),
            (&receipts, Type::TEXT_ARRAY),
        ],
    )?;
    let won: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    let commits = ready.iter().map(|ready| {
        let id = ready.result.step.step_id.as_str();
        (id.to_owned(), ready.commit)
    });
    Ok(commits.filter(|(id, _)| won.contains(id)).collect())
}

/// Commits results of jobs with a read budget, in the given order and one worker at a time.
fn commit_limited(
    client: &mut Client,
    worker_id: &str,
    results: &[&StepResult],
    describe: DescribeReceipt<'_>,
) -> Result<BTreeMap<String, Commit>, DatabaseError> {
    let mut transaction = client.transaction()?;
    // The server ends this transaction if the worker stops in the middle, so that others can continue.
    transaction.batch_execute("SET LOCAL idle_in_transaction_session_timeout = '5s'")?;
    let jobs: BTreeSet<_> = results.iter().map(|one| one.step.job_id.as_str()).collect();
    let jobs: Vec<_> = jobs.into_iter().collect();
    let rows = transaction.query_typed(
        "SELECT job_id, COALESCE(bytes_consumed, 0), COALESCE(symbols_consumed, 0)
         FROM cassette_job_budgets WHERE job_id = ANY($1) ORDER BY job_id FOR UPDATE",
        &[(&jobs, Type::TEXT_ARRAY)],
    )?;
    let mut used: BTreeMap<String, (i64, i64)> = rows
        .iter()
        .map(|row| (row.get(0), (row.get(1), row.get(2))))
        .collect();
    let live = live_steps(&mut transaction, worker_id, results)?;
    let mut ready = Vec::with_capacity(live.len());
    for result in results {
        let step = &result.step;
        if !live.contains(step.step_id.as_str()) {
            continue;
        }
        let mut outcome = result.outcome.clone();
        if let Outcome::Success { bytes, .. } = &result.outcome {
            let is_symbol = matches!(result.target, Some((Op::ReadSymbol, _)));
            let so_far = used.entry(step.job_id.as_str().to_owned()).or_default();
            match step.limits.consume(*so_far, *bytes, is_symbol) {
                Ok(now) => *so_far = now,
                Err(broken) => outcome = broken,
            }
        }
        ready.push(ReadyResult::new(result, &outcome, describe)?);
    }
    let done = write(&mut transaction, worker_id, &ready)?;
    let (jobs, amounts): (Vec<_>, Vec<_>) = used.iter().unzip();
    let (bytes, symbols): (Vec<_>, Vec<_>) = amounts.into_iter().copied().unzip();
    transaction.execute_typed(
        "INSERT INTO cassette_job_budgets(job_id, bytes_consumed, symbols_consumed)
         SELECT * FROM UNNEST($1, $2, $3)
         ON CONFLICT (job_id) DO UPDATE SET bytes_consumed = excluded.bytes_consumed,
             symbols_consumed = excluded.symbols_consumed",
        &[
            (&jobs, Type::TEXT_ARRAY),
            (&bytes, Type::INT8_ARRAY),
            (&symbols, Type::INT8_ARRAY),
        ],
    )?;
    transaction.commit()?;
    Ok(done)
}

/// Finds the steps that the worker still holds; they stay locked until the transaction ends.
fn live_steps(
    transaction: &mut postgres::Transaction<'_>,
    worker_id: &str,
    results: &[&StepResult],
) -> Result<BTreeSet<String>, DatabaseError> {
    let steps = || results.iter().map(|result| &result.step);
    let ids: Vec<_> = steps().map(|step| step.step_id.as_str()).collect();
    let tokens: Vec<_> = steps().map(|step| step.fencing_token).collect();
    let rows = transaction.query_typed(
        "SELECT s.step_id FROM cassette_steps s
         JOIN UNNEST($1, $2) AS held(step_id, token)
             ON s.step_id = held.step_id AND s.fencing_token = held.token
         WHERE s.step_id = ANY($1) AND s.status = 'LEASED' AND s.lease_owner = $3
         ORDER BY s.step_id FOR UPDATE OF s",
        &[
            (&ids, Type::TEXT_ARRAY),
            (&tokens, Type::INT8_ARRAY),
            (&worker_id, Type::TEXT),
        ],
    )?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
