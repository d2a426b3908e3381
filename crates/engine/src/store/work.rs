//! Claiming and committing steps.
//!
//! A claim hands out a lease with a fencing token one above the step's last one. A commit is
//! taken only under the token the step still has, so a worker that was overtaken cannot write a
//! second receipt. Both are one immediate transaction: no two programs see the same step free.

use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior, named_params, params};

use runseal_core::canon::NoCanonicalForm;
use runseal_core::formats::job_bundle::op::Op;

use super::{JobId, JobRunId, ReceiptId, StepId, Store, StoreError};

/// A step that a worker holds a lease on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedStep {
    /// Its id.
    pub step_id: StepId,
    /// Its job.
    pub job_id: JobId,
    /// The job's run.
    pub run_id: JobRunId,
    /// The key of the plan, which receipt ids are derived from.
    pub idempotency_key: String,
    /// Its place in the job.
    pub ordinal: i64,
    /// The step as JSON.
    pub payload_json: String,
    /// The token of this lease.
    pub fencing_token: i64,
    /// The job's limit of bytes read.
    pub max_bytes: Option<i64>,
    /// The job's limit of symbols read.
    pub max_symbols: Option<i64>,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The slice was read; only what it was is kept.
    Success {
        /// SHA-256 of the slice's text, in hex.
        content_hash: String,
        /// Bytes of the slice.
        bytes: u64,
        /// The slice that was applied.
        slice: String,
    },
    /// It could not be read.
    Failure {
        /// A short name of the reason.
        code: &'static str,
        /// The reason in words.
        message: String,
    },
}

/// A step with what came of it, to commit.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// The step, under its lease.
    pub step: ClaimedStep,
    /// What came of it.
    pub outcome: Outcome,
    /// What it read or tried to; `None` where the step itself makes no sense.
    pub target: Option<(Op, String)>,
}

/// Makes the id and the JSON of a receipt.
pub type DescribeReceipt<'d> =
    &'d dyn Fn(&StepResult, &Outcome) -> Result<(ReceiptId, String), NoCanonicalForm>;

/// What became of a result handed to [`Store::commit_steps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// Committed with a SUCCESS receipt.
    Succeeded,
    /// Committed with a FAILURE receipt.
    Failed,
    /// Refused: the step has another lease by now, or is committed.
    Overtaken,
}

/// Now, as the lease column writes it.
const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')";

impl Store {
    /// Takes up to `limit` steps that are pending or whose lease has run out, each under a new
    /// token. An empty list means that nothing can be claimed now.
    pub fn claim_steps(
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
            let until = format!("{lease_seconds:+.3} seconds");
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
                (step.max_bytes, step.max_symbols) = limits;
                step.fencing_token += 1;
                lease.execute(params![step.step_id, worker_id, until, step.fencing_token])?;
            }
        }
        transaction.commit()?;
        Ok(claimed)
    }

    /// Commits results, each with its one receipt, in one transaction. `describe` makes the
    /// receipt's id and JSON from a step and its outcome; it is asked again with a failure when
    /// a success would break the job's budget.
    pub fn commit_steps(
        &mut self,
        worker_id: &str,
        results: &[StepResult],
        describe: DescribeReceipt<'_>,
    ) -> Result<Vec<Commit>, StoreError> {
        // Made before the lock is taken: a worker that is stopped should not hold it.
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

    /// Whether any step, of the run or of all, is not yet committed.
    pub fn has_open_steps(&self, run_id: Option<&JobRunId>) -> Result<bool, StoreError> {
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
            max_bytes: None,
            max_symbols: None,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The most bytes and the most symbols that a job may read.
type JobLimits = (Option<i64>, Option<i64>);

/// The limits of a job. They stand in its message, which may be long: what was found there once
/// is kept in a table of our own.
fn limits_of(transaction: &Transaction<'_>, job_id: &JobId) -> Result<JobLimits, StoreError> {
    let mut known = transaction
        .prepare_cached("SELECT max_bytes, max_symbols FROM job_limits WHERE job_id = ?1")?;
    let pair = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
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
            // A limit that is no integer is none: it was checked when the plan was posted here.
            |row| Ok(row.get::<_, Option<i64>>(0).unwrap_or(None)),
        );
        found.optional().map(Option::flatten)
    };
    let limits = (limit("max_bytes")?, limit("max_symbols")?);
    transaction.execute(
        "INSERT INTO job_limits(job_id, max_bytes, max_symbols) VALUES(?1, ?2, ?3)",
        params![job_id, limits.0, limits.1],
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

/// Takes the read's bytes and symbol from the job's budget, or says which limit forbids it.
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
    let all_bytes = old_bytes.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
    let all_symbols = old_symbols + i64::from(is_symbol);
    let broken = |field: &str, limit: i64, wanted: i64| Outcome::Failure {
        code: "BUDGET",
        message: format!("{field} is {limit}, this read would make it {wanted}"),
    };
    if let Some(limit) = step.max_bytes.filter(|limit| all_bytes > *limit) {
        return Ok(Some(broken("max_bytes", limit, all_bytes)));
    }
    if let Some(limit) = step
        .max_symbols
        .filter(|limit| is_symbol && all_symbols > *limit)
    {
        return Ok(Some(broken("max_symbols", limit, all_symbols)));
    }
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
