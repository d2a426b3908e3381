//! Tasks in the file.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::{NOW, SqliteReader, SqliteStore, lease_until};
use crate::store::{
    ClaimedTask, Finished, LATELY, MOST_ATTEMPTS, NewTask, PostedTasks, QueueStatus, StoreError,
    TaskEnd, TaskId, TaskKind, TaskRecord, TaskResult, TaskState, pause_after,
};

/// The table of tasks, which a file of an older version lacks.
const TABLE: &str = "queue_tasks";

impl SqliteReader {
    pub(super) fn queue_status(&self, seconds: f64) -> Result<QueueStatus, StoreError> {
        let mut status = QueueStatus::default();
        if !self.has_table(TABLE)? {
            return Ok(status);
        }
        let mut counts = self
            .connection
            .prepare_cached("SELECT state, COUNT(*) FROM queue_tasks GROUP BY state")?;
        let rows = counts.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
        for row in rows {
            let (state, count) = row?;
            if let Some(state) = TaskState::from_name(&state) {
                status.states.insert(state.name(), count);
            }
        }
        let mut outcomes = self.connection.prepare_cached(
            "SELECT r.outcome, COUNT(*) FROM queue_tasks t
             JOIN queue_results r ON r.result_id = t.result_id GROUP BY r.outcome",
        )?;
        let rows = outcomes.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        status.outcomes = rows.collect::<Result<_, _>>()?;
        let since = lease_until(-seconds);
        let mut ended = self.connection.prepare_cached(
            "SELECT COALESCE(lease_owner, ''), COUNT(*),
                 MAX((julianday('now') - julianday(ended_at)) * 86400.0)
             FROM queue_tasks
             WHERE ended_at >= strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', ?1)
             GROUP BY lease_owner",
        )?;
        let mut rows = ended.query([&since])?;
        while let Some(row) = rows.next()? {
            let count: u64 = row.get(1)?;
            status.recent += count;
            status.recent_seconds = status.recent_seconds.max(row.get(2)?);
            status.workers.entry(row.get(0)?).or_default().ended = count;
        }
        let mut held = self.connection.prepare_cached(&format!(
            "SELECT COALESCE(lease_owner, ''), COUNT(*),
                 MAX((julianday('now') - julianday(leased_at)) * 86400.0),
                 SUM(lease_expires_at <= {NOW})
             FROM queue_tasks WHERE state = 'LEASED' GROUP BY lease_owner"
        ))?;
        let mut rows = held.query([])?;
        while let Some(row) = rows.next()? {
            status.workers.entry(row.get(0)?).or_default().leased = row.get(1)?;
            let age: f64 = row.get(2)?;
            status.oldest_lease = Some(status.oldest_lease.unwrap_or(0.0).max(age));
            status.expired += row.get::<_, u64>(3)?;
        }
        Ok(status)
    }

    pub(super) fn visit_tasks(
        &self,
        with_reports: bool,
        see: &mut dyn FnMut(TaskRecord) -> bool,
    ) -> Result<(), StoreError> {
        if !self.has_table(TABLE)? {
            return Ok(());
        }
        let report = if with_reports { "r.report_json" } else { "''" };
        let mut statement = self.connection.prepare(&format!(
            "SELECT t.task_id, t.kind, t.options, t.location, t.state, t.lease_owner, t.attempts,
                 t.reason, r.content, r.outcome, {report}, r.options
             FROM queue_tasks t LEFT JOIN queue_results r ON r.result_id = t.result_id
             ORDER BY t.location, t.kind, t.task_id"
        ))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(task) = task_from_row(row)?
                && !see(task)
            {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn known_result(
        &self,
        kind: TaskKind,
        done: &str,
        content: &str,
    ) -> Result<Option<TaskResult>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT content, outcome, report_json FROM queue_results
             WHERE kind = ?1 AND options = ?2 AND content = ?3",
        )?;
        let found = statement.query_row(params![kind.name(), done, content], |row| {
            Ok(TaskResult {
                done: done.to_owned(),
                content: row.get(0)?,
                outcome: row.get(1)?,
                report: row.get(2)?,
            })
        });
        Ok(found.optional()?)
    }

    pub(super) fn has_open_tasks(&self, kinds: &[TaskKind]) -> Result<bool, StoreError> {
        if !self.has_table(TABLE)? {
            return Ok(false);
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT EXISTS(SELECT 1 FROM queue_tasks
                 WHERE state IN ('PENDING', 'LEASED') AND kind = ?1)",
        )?;
        for kind in kinds {
            if statement.query_row([kind.name()], |row| row.get(0))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl SqliteStore {
    pub(super) fn post_tasks(&mut self, tasks: &[NewTask]) -> Result<PostedTasks, StoreError> {
        let transaction = self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut posted = PostedTasks::default();
        {
            let mut state =
                transaction.prepare_cached("SELECT state FROM queue_tasks WHERE task_id = ?1")?;
            let mut add = transaction.prepare_cached(&format!(
                "INSERT INTO queue_tasks(task_id, kind, options, location, state, created_at)
                 VALUES(?1, ?2, ?3, ?4, 'PENDING', {NOW})"
            ))?;
            let mut again = transaction.prepare_cached(
                "UPDATE queue_tasks SET state = 'PENDING', attempts = 0, reason = NULL,
                     result_id = NULL, lease_owner = NULL, leased_at = NULL,
                     lease_expires_at = NULL, ended_at = NULL, tried_by = NULL
                 WHERE task_id = ?1",
            )?;
            for task in tasks {
                let known: Option<String> = state
                    .query_row([&task.task_id], |row| row.get(0))
                    .optional()?;
                match known.as_deref().and_then(TaskState::from_name) {
                    None => {
                        add.execute(params![
                            task.task_id,
                            task.kind.name(),
                            task.options,
                            task.location
                        ])?;
                        posted.queued += 1;
                    }
                    Some(TaskState::Done | TaskState::Failed) => {
                        again.execute([&task.task_id])?;
                        posted.again += 1;
                    }
                    Some(TaskState::Pending | TaskState::Leased) => posted.open += 1,
                }
            }
        }
        transaction.commit()?;
        Ok(posted)
    }

    pub(super) fn claim_tasks(
        &mut self,
        kinds: &[TaskKind],
        worker_id: &str,
        lease_seconds: f64,
        limit: usize,
    ) -> Result<Vec<ClaimedTask>, StoreError> {
        let transaction = self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
        let kinds = format!("'{}'", kinds.join("','"));
        let expired = format!("state = 'LEASED' AND lease_expires_at <= {NOW}");
        transaction.execute(
            &format!(
                "UPDATE queue_tasks SET state = 'FAILED', ended_at = {NOW}, reason = COALESCE(
                     reason, 'it was taken ' || attempts || ' times and never ended')
                 WHERE {expired} AND attempts >= ?1"
            ),
            [MOST_ATTEMPTS],
        )?;
        let mut claimed: Vec<ClaimedTask> = Vec::new();
        let waiting = format!(
            "state = 'PENDING' AND (tried_by IS NULL OR instr(tried_by, char(10) || ?2 || char(10)) = 0
                 OR (lease_expires_at <= {NOW} AND NOT {OTHERS}))"
        );
        for state in [waiting.as_str(), expired.as_str()] {
            let mut find = transaction.prepare_cached(&format!(
                "{AT_WORK} SELECT task_id, kind, options, location, fencing_token + 1, attempts + 1
                 FROM queue_tasks WHERE {state} AND kind IN ({kinds})
                 ORDER BY location, task_id LIMIT ?1"
            ))?;
            let room = i64::try_from(limit - claimed.len()).unwrap_or(i64::MAX);
            let mut rows = find.query(params![room, worker_id, lease_until(-LATELY)])?;
            while let Some(row) = rows.next()? {
                let kind: String = row.get(1)?;
                if let Some(kind) = TaskKind::from_name(&kind) {
                    claimed.push(ClaimedTask {
                        task_id: row.get(0)?,
                        kind,
                        options: row.get(2)?,
                        location: row.get(3)?,
                        fencing_token: row.get(4)?,
                        attempts: row.get(5)?,
                    });
                }
            }
        }
        {
            let mut lease = transaction.prepare_cached(&format!(
                "UPDATE queue_tasks SET state = 'LEASED', lease_owner = ?2, leased_at = {NOW},
                     lease_expires_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', ?3),
                     fencing_token = ?4, attempts = ?5
                 WHERE task_id = ?1"
            ))?;
            let until = lease_until(lease_seconds);
            for task in &claimed {
                lease.execute(params![
                    task.task_id,
                    worker_id,
                    until,
                    task.fencing_token,
                    task.attempts
                ])?;
            }
        }
        transaction.commit()?;
        Ok(claimed)
    }

    pub(super) fn extend_task(
        &mut self,
        worker_id: &str,
        task: &ClaimedTask,
        lease_seconds: f64,
    ) -> Result<bool, StoreError> {
        let extended = self.connection.execute(
            "UPDATE queue_tasks
             SET lease_expires_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', ?4)
             WHERE task_id = ?1 AND state = 'LEASED' AND fencing_token = ?2 AND lease_owner = ?3",
            params![
                task.task_id,
                task.fencing_token,
                worker_id,
                lease_until(lease_seconds)
            ],
        )?;
        Ok(extended == 1)
    }

    pub(super) fn end_task(
        &mut self,
        worker_id: &str,
        task: &ClaimedTask,
        end: &TaskEnd,
    ) -> Result<Finished, StoreError> {
        let transaction = self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let live: bool = transaction.query_row(
            "SELECT EXISTS(SELECT 1 FROM queue_tasks WHERE task_id = ?1 AND state = 'LEASED'
                 AND fencing_token = ?2 AND lease_owner = ?3)",
            params![task.task_id, task.fencing_token, worker_id],
            |row| row.get(0),
        )?;
        if !live {
            return Ok(Finished::Overtaken);
        }
        let finished = match end {
            TaskEnd::Result(result) => end_with(&transaction, worker_id, task, result)?,
            TaskEnd::GivenBack { reason } => give_back(&transaction, worker_id, task, reason)?,
        };
        transaction.commit()?;
        Ok(finished)
    }
}

/// Selects the workers other than ?2 that hold a lease or ended a task at most ?3 ago.
const AT_WORK: &str = "WITH at_work(worker) AS MATERIALIZED (
    SELECT DISTINCT lease_owner FROM queue_tasks
    WHERE lease_owner <> ?2 AND ((state = 'LEASED'
            AND lease_expires_at > strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'))
        OR ended_at >= strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', ?3)))";

/// Whether an active worker has not tried the task.
const OTHERS: &str = "EXISTS(SELECT 1 FROM at_work
    WHERE instr(COALESCE(tried_by, ''), char(10) || worker || char(10)) = 0)";

/// Leaves the task to others, or gives it up. While it waits, `lease_expires_at` says how long
/// workers that tried it leave it alone.
fn give_back(
    transaction: &Connection,
    worker_id: &str,
    task: &ClaimedTask,
    reason: &str,
) -> Result<Finished, StoreError> {
    let others: bool = transaction.query_row(
        &format!("{AT_WORK} SELECT {OTHERS} FROM queue_tasks WHERE task_id = ?1"),
        params![task.task_id, worker_id, lease_until(-LATELY)],
        |row| row.get(0),
    )?;
    if task.attempts >= MOST_ATTEMPTS && !others {
        transaction.execute(
            &format!(
                "UPDATE queue_tasks SET state = 'FAILED', reason = ?2, ended_at = {NOW}
                 WHERE task_id = ?1"
            ),
            params![task.task_id, reason],
        )?;
        return Ok(Finished::GivenUp);
    }
    transaction.execute(
        "UPDATE queue_tasks SET state = 'PENDING', reason = ?2, leased_at = NULL,
             lease_expires_at = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', ?3),
             tried_by = COALESCE(tried_by, char(10)) || ?4 || char(10)
         WHERE task_id = ?1",
        params![
            task.task_id,
            reason,
            lease_until(pause_after(task.attempts)),
            worker_id
        ],
    )?;
    Ok(Finished::Waiting)
}

/// Records the result, unless its content already has one, and ends the task with it.
fn end_with(
    transaction: &Connection,
    worker_id: &str,
    task: &ClaimedTask,
    result: &TaskResult,
) -> Result<Finished, StoreError> {
    let kind = task.kind.name();
    let result_id = result.derive_id(task.kind);
    let added = transaction.execute(
        &format!(
            "INSERT INTO queue_results(result_id, kind, options, content, outcome, report_json,
                 worker_id, created_at)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, {NOW})
             ON CONFLICT(kind, options, content) DO NOTHING"
        ),
        params![
            result_id,
            kind,
            result.done,
            result.content,
            result.outcome,
            result.report,
            worker_id
        ],
    )?;
    transaction.execute(
        &format!(
            "UPDATE queue_tasks SET state = 'DONE', reason = NULL, ended_at = {NOW}, result_id =
                 (SELECT result_id FROM queue_results WHERE kind = ?2 AND options = ?3
                      AND content = ?4)
             WHERE task_id = ?1"
        ),
        params![task.task_id, kind, result.done, result.content],
    )?;
    Ok(match added {
        0 => Finished::Known,
        _ => Finished::Recorded,
    })
}

fn task_from_row(row: &Row<'_>) -> rusqlite::Result<Option<TaskRecord>> {
    let kind = TaskKind::from_name(&row.get::<_, String>(1)?);
    let state = TaskState::from_name(&row.get::<_, String>(4)?);
    let (Some(kind), Some(state)) = (kind, state) else {
        return Ok(None);
    };
    let content: Option<String> = row.get(8)?;
    let result = match content {
        Some(content) => Some(TaskResult {
            done: row.get(11)?,
            content,
            outcome: row.get(9)?,
            report: row.get(10)?,
        }),
        None => None,
    };
    Ok(Some(TaskRecord {
        task_id: row.get::<_, TaskId>(0)?,
        kind,
        options: row.get(2)?,
        location: row.get(3)?,
        state,
        worker_id: row.get(5)?,
        attempts: row.get(6)?,
        reason: row.get(7)?,
        result,
    }))
}
