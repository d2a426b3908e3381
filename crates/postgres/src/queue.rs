//! Tasks on the server, claimed and ended in the same way as steps.

use postgres::types::Type;
use postgres::{Client, Row};
use runseal_store::store::{
    ClaimedTask, Finished, LATELY, MOST_ATTEMPTS, NewTask, PostedTasks, QueueStatus, TaskEnd,
    TaskId, TaskKind, TaskRecord, TaskResult, TaskState, pause_after,
};

use crate::error::DatabaseError;
use crate::jobs::{CHANNEL, storable};

/// Tasks per request.
const CHUNK: usize = 2000;

fn names(kinds: &[TaskKind]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name()).collect()
}

pub(crate) fn post_tasks(
    client: &mut Client,
    tasks: &[NewTask],
) -> Result<PostedTasks, DatabaseError> {
    let mut posted = PostedTasks::default();
    let mut transaction = client.transaction()?;
    for tasks in tasks.chunks(CHUNK) {
        for task in tasks {
            storable("a path", &task.location)?;
        }
        let ids: Vec<_> = tasks.iter().map(|task| task.task_id.as_str()).collect();
        let kinds: Vec<_> = tasks.iter().map(|task| task.kind.name()).collect();
        let options: Vec<_> = tasks.iter().map(|task| task.options.as_str()).collect();
        let places: Vec<_> = tasks.iter().map(|task| task.location.as_str()).collect();
        let queued = transaction.execute_typed(
            "INSERT INTO queue_tasks(task_id, kind, options, location, state)
             SELECT DISTINCT ON (task_id) task_id, kind, options, location, 'PENDING'
             FROM UNNEST($1, $2, $3, $4) AS new(task_id, kind, options, location)
             ORDER BY task_id
             ON CONFLICT (task_id) DO NOTHING",
            &[
                (&ids, Type::TEXT_ARRAY),
                (&kinds, Type::TEXT_ARRAY),
                (&options, Type::TEXT_ARRAY),
                (&places, Type::TEXT_ARRAY),
            ],
        )?;
        let again = transaction.execute_typed(
            "UPDATE queue_tasks SET state = 'PENDING', attempts = 0, reason = NULL,
                 result_id = NULL, lease_owner = NULL, leased_at = NULL, lease_expires_at = NULL,
                 ended_at = NULL, tried_by = NULL
             WHERE task_id = ANY($1) AND state IN ('DONE', 'FAILED')",
            &[(&ids, Type::TEXT_ARRAY)],
        )?;
        posted.queued += queued;
        posted.again += again;
        posted.open += (tasks.len() as u64).saturating_sub(queued + again);
    }
    transaction.batch_execute(&format!("NOTIFY {CHANNEL}"))?;
    transaction.commit()?;
    Ok(posted)
}

pub(crate) fn claim_tasks(
    client: &mut Client,
    kinds: &[TaskKind],
    worker_id: &str,
    lease_seconds: f64,
    limit: usize,
) -> Result<Vec<ClaimedTask>, DatabaseError> {
    storable("the worker's name", worker_id)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let at_work = at_work();
    let query = format!(
        "WITH {at_work},
         given_up AS (
             UPDATE queue_tasks SET state = 'FAILED', ended_at = clock_timestamp(),
                 reason = COALESCE(reason,
                     'it was taken ' || attempts || ' times and never ended')
             WHERE state = 'LEASED' AND lease_expires_at <= statement_timestamp()
                 AND attempts >= $5),
         ready AS MATERIALIZED (
             SELECT task_id FROM queue_tasks WHERE state = 'PENDING' AND kind = ANY($4)
                 AND (tried_by IS NULL OR strpos(tried_by, E'\\n' || $1 || E'\\n') = 0
                     OR (lease_expires_at <= statement_timestamp() AND NOT {OTHERS}))
             ORDER BY location, task_id LIMIT $3 FOR UPDATE SKIP LOCKED),
         expired AS MATERIALIZED (
             SELECT task_id FROM queue_tasks
             WHERE state = 'LEASED' AND lease_expires_at <= statement_timestamp()
                 AND attempts < $5 AND kind = ANY($4)
             ORDER BY lease_expires_at LIMIT $3 - (SELECT count(*) FROM ready)
             FOR UPDATE SKIP LOCKED)
         UPDATE queue_tasks t SET state = 'LEASED', lease_owner = $1,
             leased_at = clock_timestamp(),
             lease_expires_at = clock_timestamp() + $2 * interval '1 second',
             fencing_token = t.fencing_token + 1, attempts = t.attempts + 1
         WHERE t.task_id = ANY(ARRAY(SELECT task_id FROM ready
             UNION ALL SELECT task_id FROM expired))
         RETURNING t.task_id, t.kind, t.options, t.location, t.fencing_token, t.attempts"
    );
    let rows = client.query_typed(
        &query,
        &[
            (&worker_id, Type::TEXT),
            (&lease_seconds, Type::FLOAT8),
            (&limit, Type::INT8),
            (&names(kinds), Type::TEXT_ARRAY),
            (&MOST_ATTEMPTS, Type::INT8),
        ],
    )?;
    let claimed = rows.iter().filter_map(|row| {
        Some(ClaimedTask {
            task_id: TaskId::from(row.get::<_, String>(0)),
            kind: TaskKind::from_name(row.get(1))?,
            options: row.get(2),
            location: row.get(3),
            fencing_token: row.get(4),
            attempts: row.get(5),
        })
    });
    Ok(claimed.collect())
}

pub(crate) fn extend_task(
    client: &mut Client,
    worker_id: &str,
    task: &ClaimedTask,
    lease_seconds: f64,
) -> Result<bool, DatabaseError> {
    let extended = client.execute_typed(
        "UPDATE queue_tasks SET lease_expires_at = clock_timestamp() + $4 * interval '1 second'
         WHERE task_id = $1 AND state = 'LEASED' AND fencing_token = $2 AND lease_owner = $3",
        &[
            (&task.task_id.as_str(), Type::TEXT),
            (&task.fencing_token, Type::INT8),
            (&worker_id, Type::TEXT),
            (&lease_seconds, Type::FLOAT8),
        ],
    )?;
    Ok(extended == 1)
}

/// Ends a task or returns it to the queue. If `tries` is not 0, an earlier try whose answer was lost
/// may already have done so.
pub(crate) fn end_task(
    client: &mut Client,
    worker_id: &str,
    task: &ClaimedTask,
    end: &TaskEnd,
    tries: u32,
) -> Result<Finished, DatabaseError> {
    let finished = match end {
        TaskEnd::Result(result) => end_with(client, worker_id, task, result)?,
        TaskEnd::GivenBack { reason } => give_back(client, worker_id, task, reason)?,
    };
    if tries == 0 || finished != Finished::Overtaken {
        return Ok(finished);
    }
    let rows = client.query_typed(
        "SELECT state FROM queue_tasks
         WHERE task_id = $1 AND fencing_token = $2 AND lease_owner = $3",
        &[
            (&task.task_id.as_str(), Type::TEXT),
            (&task.fencing_token, Type::INT8),
            (&worker_id, Type::TEXT),
        ],
    )?;
    let state = rows
        .first()
        .and_then(|row| TaskState::from_name(row.get(0)));
    Ok(match state {
        Some(TaskState::Done) => Finished::Recorded,
        Some(TaskState::Failed) => Finished::GivenUp,
        Some(TaskState::Pending) => Finished::Waiting,
        Some(TaskState::Leased) | None => Finished::Overtaken,
    })
}

fn end_with(
    client: &mut Client,
    worker_id: &str,
    task: &ClaimedTask,
    result: &TaskResult,
) -> Result<Finished, DatabaseError> {
    let row = client.query_typed_one(
        "WITH held AS (
             SELECT task_id, kind FROM queue_tasks
             WHERE task_id = $1 AND state = 'LEASED' AND fencing_token = $2 AND lease_owner = $3
             FOR UPDATE),
         added AS (
             INSERT INTO queue_results(result_id, kind, options, content, outcome, report_json,
                 worker_id)
             SELECT $4, kind, $8, $5, $6, $7, $3 FROM held
             ON CONFLICT DO NOTHING RETURNING result_id),
         ended AS (
             UPDATE queue_tasks t SET state = 'DONE', result_id = $4, reason = NULL,
                 ended_at = clock_timestamp()
             FROM held WHERE t.task_id = held.task_id RETURNING t.task_id)
         SELECT (SELECT count(*) FROM ended), (SELECT count(*) FROM added)",
        &[
            (&task.task_id.as_str(), Type::TEXT),
            (&task.fencing_token, Type::INT8),
            (&worker_id, Type::TEXT),
            (&result.derive_id(task.kind), Type::TEXT),
            (&result.content, Type::TEXT),
            (&result.outcome, Type::TEXT),
            (&result.report, Type::TEXT),
            (&result.done, Type::TEXT),
        ],
    )?;
    Ok(match (row.get::<_, i64>(0), row.get::<_, i64>(1)) {
        (0, _) => Finished::Overtaken,
        (_, 0) => Finished::Known,
        _ => Finished::Recorded,
    })
}

/// Returns the SQL for `at_work`: all workers but $1 that hold a lease or ended something lately. The
/// server evaluates it only for tasks that were given back.
fn at_work() -> String {
    format!(
        "at_work AS MATERIALIZED (
             SELECT DISTINCT lease_owner AS worker FROM queue_tasks
             WHERE lease_owner <> $1
                 AND ((state = 'LEASED' AND lease_expires_at > statement_timestamp())
                     OR ended_at >= statement_timestamp() - {LATELY} * interval '1 second'))"
    )
}

/// SQL for whether one of the workers in `at_work` has not tried the task.
const OTHERS: &str = "EXISTS (SELECT 1 FROM at_work
    WHERE strpos(COALESCE(tried_by, ''), E'\\n' || worker || E'\\n') = 0)";

/// Leaves the task to others, or gives it up. While it waits, workers that tried it do not claim it
/// until `lease_expires_at`.
fn give_back(
    client: &mut Client,
    worker_id: &str,
    task: &ClaimedTask,
    reason: &str,
) -> Result<Finished, DatabaseError> {
    let is_last = task.attempts >= MOST_ATTEMPTS;
    let reason = reason.replace('\0', "\u{fffd}");
    let at_work = at_work();
    let query = format!(
        "WITH {at_work},
         held AS (
             SELECT task_id, $4 AND NOT {OTHERS} AS gives_up FROM queue_tasks
             WHERE task_id = $2 AND state = 'LEASED' AND fencing_token = $3 AND lease_owner = $1
             FOR UPDATE)
         UPDATE queue_tasks t SET state = CASE WHEN gives_up THEN 'FAILED' ELSE 'PENDING' END,
             ended_at = CASE WHEN gives_up THEN clock_timestamp() END, reason = $5,
             leased_at = NULL,
             lease_expires_at = CASE WHEN NOT gives_up
                 THEN clock_timestamp() + $6 * interval '1 second' END,
             tried_by = COALESCE(tried_by, E'\\n') || $1 || E'\\n'
         FROM held WHERE t.task_id = held.task_id
         RETURNING gives_up"
    );
    let row = client.query_typed_opt(
        &query,
        &[
            (&worker_id, Type::TEXT),
            (&task.task_id.as_str(), Type::TEXT),
            (&task.fencing_token, Type::INT8),
            (&is_last, Type::BOOL),
            (&reason, Type::TEXT),
            (&pause_after(task.attempts), Type::FLOAT8),
        ],
    )?;
    Ok(match row.map(|row| row.get(0)) {
        None => Finished::Overtaken,
        Some(true) => Finished::GivenUp,
        Some(false) => Finished::Waiting,
    })
}

pub(crate) fn queue_status(
    client: &mut Client,
    seconds: f64,
) -> Result<QueueStatus, DatabaseError> {
    let mut status = QueueStatus::default();
    let count = |row: &Row, at: usize| row.get::<_, i64>(at).unsigned_abs();
    let mut transaction = client
        .build_transaction()
        .read_only(true)
        .isolation_level(postgres::IsolationLevel::RepeatableRead)
        .start()?;
    for row in transaction.query_typed(
        "SELECT state, count(*) FROM queue_tasks GROUP BY state",
        &[],
    )? {
        if let Some(state) = TaskState::from_name(row.get(0)) {
            status.states.insert(state.name(), count(&row, 1));
        }
    }
    for row in transaction.query_typed(
        "SELECT r.outcome, count(*) FROM queue_tasks t JOIN queue_results r USING (result_id)
         GROUP BY r.outcome",
        &[],
    )? {
        status.outcomes.insert(row.get(0), count(&row, 1));
    }
    for row in transaction.query_typed(
        "SELECT COALESCE(lease_owner, ''), count(*),
             extract(epoch FROM clock_timestamp() - min(ended_at))::float8
         FROM queue_tasks WHERE ended_at >= statement_timestamp() - $1 * interval '1 second'
         GROUP BY lease_owner",
        &[(&seconds, Type::FLOAT8)],
    )? {
        status.recent += count(&row, 1);
        status.recent_seconds = status.recent_seconds.max(row.get(2));
        status.workers.entry(row.get(0)).or_default().ended = count(&row, 1);
    }
    for row in transaction.query_typed(
        "SELECT COALESCE(lease_owner, ''), count(*),
             extract(epoch FROM clock_timestamp() - min(leased_at))::float8,
             count(*) FILTER (WHERE lease_expires_at <= statement_timestamp())
         FROM queue_tasks WHERE state = 'LEASED' GROUP BY lease_owner",
        &[],
    )? {
        status.workers.entry(row.get(0)).or_default().leased = count(&row, 1);
        let age = row.get::<_, Option<f64>>(2).unwrap_or_default();
        status.oldest_lease = Some(status.oldest_lease.unwrap_or(0.0).max(age));
        status.expired += count(&row, 3);
    }
    transaction.commit()?;
    Ok(status)
}

/// Reads the next page of tasks after the last one seen.
pub(crate) fn tasks_page(
    client: &mut Client,
    with_reports: bool,
    last: Option<&(String, String, String)>,
) -> Result<Vec<TaskRecord>, DatabaseError> {
    let report = if with_reports { "r.report_json" } else { "''" };
    let query = format!(
        "SELECT t.task_id, t.kind, t.options, t.location, t.state, t.lease_owner, t.attempts,
             t.reason, r.content, r.outcome, {report}, r.options
         FROM queue_tasks t LEFT JOIN queue_results r USING (result_id)
         WHERE (t.location, t.kind, t.task_id) > ($1, $2, $3)
         ORDER BY t.location, t.kind, t.task_id LIMIT $4"
    );
    let empty = (String::new(), String::new(), String::new());
    let (location, kind, task_id) = last.unwrap_or(&empty);
    let rows = client.query_typed(
        &query,
        &[
            (location, Type::TEXT),
            (kind, Type::TEXT),
            (task_id, Type::TEXT),
            (&(CHUNK as i64), Type::INT8),
        ],
    )?;
    Ok(rows.iter().filter_map(task_from_row).collect())
}

fn task_from_row(row: &Row) -> Option<TaskRecord> {
    let content: Option<String> = row.get(8);
    Some(TaskRecord {
        task_id: TaskId::from(row.get::<_, String>(0)),
        kind: TaskKind::from_name(row.get(1))?,
        options: row.get(2),
        location: row.get(3),
        state: TaskState::from_name(row.get(4))?,
        worker_id: row.get(5),
        attempts: row.get(6),
        reason: row.get(7),
        result: content.map(|content| TaskResult {
            done: row.get(11),
            content,
            outcome: row.get(9),
            report: row.get(10),
        }),
    })
}

pub(crate) fn known_result(
    client: &mut Client,
    kind: TaskKind,
    done: &str,
    content: &str,
) -> Result<Option<TaskResult>, DatabaseError> {
    let row = client.query_typed_opt(
        "SELECT content, outcome, report_json FROM queue_results
         WHERE kind = $1 AND options = $2 AND content = $3",
        &[
            (&kind.name(), Type::TEXT),
            (&done, Type::TEXT),
            (&content, Type::TEXT),
        ],
    )?;
    Ok(row.map(|row| TaskResult {
        done: done.to_owned(),
        content: row.get(0),
        outcome: row.get(1),
        report: row.get(2),
    }))
}

pub(crate) fn has_open_tasks(
    client: &mut Client,
    kinds: &[TaskKind],
) -> Result<bool, DatabaseError> {
    let row = client.query_typed_one(
        "SELECT EXISTS(SELECT 1 FROM queue_tasks WHERE state = 'PENDING' AND kind = ANY($1))
             OR EXISTS(SELECT 1 FROM queue_tasks WHERE state = 'LEASED' AND kind = ANY($1))",
        &[(&names(kinds), Type::TEXT_ARRAY)],
    )?;
    Ok(row.get(0))
}
