//! Claiming and committing steps.
//!
//! A claim grants a lease with a fencing token one above the step's last one. A commit is accepted
//! only under the step's current token, so a worker whose step was taken over cannot write a second
//! receipt. Both are immediate transactions: no two programs see the same step as free.

use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior, named_params, params};

use runseal_core::formats::job_bundle::op::Op;

use super::{NOW, SqliteReader, SqliteStore, lease_until};
use crate::store::{
    ClaimedStep, Commit, DescribeReceipt, JobId, JobLimits, JobRunId, Outcome, ReceiptId,
    StepResult, StoreError,
};

impl SqliteStore {
    /// Claims up to `limit` steps that are pending or whose lease has expired, each with a new
    /// token. An empty list means that there is nothing to claim now.
    pub(super) fn claim_steps(
        &mut self,
        run_id: Option<&JobRunId>,
        worker_id: &str,
        lease_seconds: f64,
        limit: usize,
    ) -> Result<Vec<ClaimedStep>, StoreError> {
        let transaction = self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut claimed = find_steps(&transaction, run_id, limit, "s.status = 'PENDING'")?;
        if claimed.len() < limit {
            let expired = format!("s.status = 'LEASED' AND s.lease_expires_at <= {NOW}");
            claimed.extend(find_steps(
                &transaction,
                run_id,
                limit - claimed.len(),
                &expired,
            )?);
        }
        if !claimed.is_empty() {
            let mut lease = transaction.prepare_cached(
                "UPDATE cassette_steps SET status = 'LEASED', lease_owner = ?2,
                     lease_expires_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', ?3),
                     fencing_token = ?4
                 WHERE step_id = ?1",
            )?;
            let until = lease_until(lease_seconds);
            let mut known: Option<(JobId, JobLimits)> = None;
            for step in &mut claimed {
                let of_job = known.as_ref().filter(|(job_id, _)| *job_id == step.job_id);
                let limits = match of_job.map(|(_, limits)| *limits) {
                    Some(limits) => limits,
                    None => {
                        let limits = limits_of(&transaction, &step.job_id)?;
                        known = Some((step.job_id.clone(), limits));
                        limits
                    }
                };
                step.limits = limits;
                step.fencing_token += 1;
                lease.execute(params![step.step_id, worker_id, until, step.fencing_token])?;
            }
        }
        transaction.commit()?;
        Ok(claimed)
    }

    /// Commits results, each with its one receipt, in one transaction. `describe` makes the
    /// receipt's id and JSON from a step and its outcome; it is called again with a failure if a
    /// success would exceed the job's budget.
    pub(super) fn commit_steps(
        &mut self,
        worker_id: &str,
        results: &[StepResult],
        describe: DescribeReceipt<'_>,
    ) -> Result<Vec<Commit>, StoreError> {
        // Made before the lock is taken, so that a stopped worker does not hold it.
        let receipts = results
            .iter()
            .map(|result| describe(result, &result.outcome))
            .collect::<Result<Vec<_>, _>>()?;
        let transaction = self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut commits = Vec::with_capacity(results.len());
        for (result, receipt) in results.iter().zip(receipts) {
            commits.push(commit_one(
                &transaction,
                worker_id,
                (result, receipt),
                describe,
            )?);
        }
        transaction.commit()?;
        Ok(commits)
    }

    /// Extends leases; returns for each whether the worker still holds it.
    pub(super) fn extend_leases(
        &mut self,
        worker_id: &str,
        steps: &[ClaimedStep],
        lease_seconds: f64,
    ) -> Result<Vec<bool>, StoreError> {
        let transaction = self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut held = Vec::with_capacity(steps.len());
        {
            let mut extend = transaction.prepare_cached(
                "UPDATE cassette_steps
                 SET lease_expires_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', ?4)
                 WHERE step_id = ?1 AND status = 'LEASED' AND fencing_token = ?2
                     AND lease_owner = ?3",
            )?;
            let until = lease_until(lease_seconds);
            for step in steps {
                let lease = params![step.step_id, step.fencing_token, worker_id, until];
                held.push(extend.execute(lease)? == 1);
            }
        }
        transaction.commit()?;
        Ok(held)
    }
}

impl SqliteReader {
    /// Returns whether any step of the run, or of all runs, is not committed yet.
    pub(super) fn has_open_steps(&self, run_id: Option<&JobRunId>) -> Result<bool, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT EXISTS(SELECT 1 FROM cassette_steps s
                 WHERE s.status IN ('PENDING', 'LEASED') AND (?1 IS NULL OR s.job_id IN
                     (SELECT j.job_id FROM cassette_jobs j JOIN cassette_messages m
                      ON m.message_id = j.message_id WHERE m.run_id = ?1)))",
        )?;
        Ok(statement.query_row([run_id], |row| row.get(0))?)
    }
}

fn find_steps(
    transaction: &Transaction<'_>,
    run_id: Option<&JobRunId>,
    limit: usize,
    state: &str,
) -> Result<Vec<ClaimedStep>, StoreError> {
    let of_run = if run_id.is_some() {
        "m.run_id = :run"
    } else {
        ":run IS NULL"
    };
    let mut statement = transaction.prepare_cached(&format!(
        "SELECT s.step_id, s.job_id, m.run_id, COALESCE(m.idempotency_key, ''), s.ordinal,
             s.payload_json, COALESCE(s.fencing_token, 0)
         FROM cassette_steps s
         JOIN cassette_jobs j ON j.job_id = s.job_id
         JOIN cassette_messages m ON m.message_id = j.message_id
         WHERE {state} AND {of_run}
         ORDER BY s.job_id, s.ordinal, s.step_id LIMIT :limit"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(named_params! {":run": run_id, ":limit": limit}, |row| {
        Ok(ClaimedStep {
            step_id: row.get(0)?,
            job_id: row.get(1)?,
            run_id: row.get(2)?,
            idempotency_key: row.get(3)?,
            ordinal: row.get(4)?,
            payload_json: row.get(5)?,
            fencing_token: row.get(6)?,
            limits: JobLimits::default(),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the limits of a job. They are in its message, which may be long, so they are cached in
/// our own table.
fn limits_of(transaction: &Transaction<'_>, job_id: &JobId) -> Result<JobLimits, StoreError> {
    let mut known = transaction
        .prepare_cached("SELECT max_bytes, max_symbols FROM job_limits WHERE job_id = ?1")?;
    let pair = |row: &Row<'_>| {
        Ok(JobLimits {
            max_bytes: row.get(0)?,
            max_symbols: row.get(1)?,
        })
    };
    if let Some(limits) = known.query_row([job_id], pair).optional()? {
        return Ok(limits);
    }
    let limit = |name: &str| {
        let path = format!("$.budgets.{name}");
        let found = transaction.query_row(
            "SELECT CASE WHEN json_valid(m.payload_json)
                 THEN json_extract(m.payload_json, ?2) END
             FROM cassette_jobs j JOIN cassette_messages m ON m.message_id = j.message_id
             WHERE j.job_id = ?1",
            params![job_id, path],
            // A limit that is not an integer does not count: plans posted here were checked.
            |row| Ok(row.get::<_, Option<i64>>(0).unwrap_or(None)),
        );
        found.optional().map(Option::flatten)
    };
    let limits = JobLimits {
        max_bytes: limit("max_bytes")?,
        max_symbols: limit("max_symbols")?,
    };
    transaction.execute(
        "INSERT INTO job_limits(job_id, max_bytes, max_symbols) VALUES(?1, ?2, ?3)",
        params![job_id, limits.max_bytes, limits.max_symbols],
    )?;
    Ok(limits)
}

fn commit_one(
    transaction: &Transaction<'_>,
    worker_id: &str,
    (result, receipt): (&StepResult, (ReceiptId, String)),
    describe: DescribeReceipt<'_>,
) -> Result<Commit, StoreError> {
    let step = &result.step;
    let mut live = transaction.prepare_cached(
        "SELECT EXISTS(SELECT 1 FROM cassette_steps WHERE step_id = ?1 AND status = 'LEASED'
             AND fencing_token = ?2 AND lease_owner = ?3)",
    )?;
    if !live.query_row(
        params![step.step_id, step.fencing_token, worker_id],
        |row| row.get(0),
    )? {
        return Ok(Commit::Overtaken);
    }
    let broken = match &result.outcome {
        Outcome::Success { bytes, .. } => {
            let is_symbol = matches!(result.target, Some((Op::ReadSymbol, _)));
            consume_budget(transaction, step, *bytes, is_symbol)?
        }
        Outcome::Failure { .. } => None,
    };
    let (receipt_id, receipt_json) = match &broken {
        Some(outcome) => describe(result, outcome)?,
        None => receipt,
    };
    let outcome = broken.as_ref().unwrap_or(&result.outcome);
    let (name, commit) = match outcome {
        Outcome::Success { .. } => ("SUCCESS", Commit::Succeeded),
        Outcome::Failure { .. } => ("FAILURE", Commit::Failed),
    };
    transaction
        .prepare_cached(
            "INSERT INTO cassette_receipts(receipt_id, step_id, job_id, worker_id, fencing_token,
                 outcome, receipt_json, created_at)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, datetime('now'))",
        )?
        .execute(params![
            receipt_id,
            step.step_id,
            step.job_id,
            worker_id,
            step.fencing_token,
            name,
            receipt_json
        ])?;
    transaction
        .prepare_cached("UPDATE cassette_steps SET status = 'COMMITTED' WHERE step_id = ?1")?
        .execute([&step.step_id])?;
    Ok(commit)
}

/// Deducts the read's bytes and symbol from the job's budget, or says which limit forbids it.
fn consume_budget(
    transaction: &Transaction<'_>,
    step: &ClaimedStep,
    bytes: u64,
    is_symbol: bool,
) -> Result<Option<Outcome>, StoreError> {
    let mut used = transaction.prepare_cached(
        "SELECT COALESCE(MAX(bytes_consumed), 0), COALESCE(MAX(symbols_consumed), 0)
         FROM cassette_job_budgets WHERE job_id = ?1",
    )?;
    let (old_bytes, old_symbols): (i64, i64) =
        used.query_row([&step.job_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let used = (old_bytes, old_symbols);
    let (all_bytes, all_symbols) = match step.limits.consume(used, bytes, is_symbol) {
        Ok(used) => used,
        Err(broken) => return Ok(Some(broken)),
    };
    transaction
        .prepare_cached(
            "INSERT INTO cassette_job_budgets(job_id, bytes_consumed, symbols_consumed)
             VALUES(?1, ?2, ?3) ON CONFLICT(job_id) DO UPDATE SET
                 bytes_consumed = excluded.bytes_consumed,
                 symbols_consumed = excluded.symbols_consumed",
        )?
        .execute(params![step.job_id, all_bytes, all_symbols])?;
    Ok(None)
}
