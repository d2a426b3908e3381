use runseal_core::canon::NoCanonicalForm;
use runseal_core::formats::job_bundle::op::Op;
use tempfile::TempDir;

use super::*;
use crate::store::{
    ClaimedStep, Commit, JobId, JobLimits, JobRunId, MessageId, NewJob, NewStep, NewSteps, Outcome,
    Posted, ReceiptId, StateCounts, StepId, StepResult, StoreReader,
};

fn new_store() -> (TempDir, SqliteStore) {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::create(&folder.path().join("deep/jobs.db")).unwrap();
    (folder, store)
}

fn plan(run: &str, key: &str, steps: usize, budgets: &str) -> (NewJob<'static>, Vec<NewStep>) {
    let steps = (0..steps)
        .map(|n| NewStep {
            step_id: StepId::new(format!("step_{run}_{key}_{n}")),
            ordinal: n as i64,
            payload_json: "{}".to_owned(),
        })
        .collect();
    let job = NewJob {
        message_id: MessageId::new(format!("msg_{run}_{key}")),
        job_id: JobId::new(format!("job_{run}_{key}")),
        run_id: JobRunId::new(run),
        idempotency_key: key.to_owned(),
        intent: "read".to_owned(),
        limits: JobLimits::default(),
        payload_json: format!("{{\"budgets\":{budgets}}}").into(),
    };
    (job, steps)
}

fn post(
    store: &mut SqliteStore,
    (job, steps): (NewJob<'_>, Vec<NewStep>),
) -> Result<Posted, StoreError> {
    let make = |at: usize| Ok(steps[at].clone());
    let steps = NewSteps {
        count: steps.len(),
        make: &make,
    };
    store.post_job(&job, steps)
}

fn read(step: &ClaimedStep, bytes: u64, is_symbol: bool) -> StepResult {
    let outcome = Outcome::Success {
        content_hash: "00".repeat(32),
        bytes,
        slice: "head(1)".to_owned(),
    };
    let op = if is_symbol {
        Op::ReadSymbol
    } else {
        Op::ReadSection
    };
    StepResult {
        step: step.clone(),
        outcome,
        target: Some((op, "x".to_owned())),
    }
}

fn describe(
    result: &StepResult,
    outcome: &Outcome,
) -> Result<(ReceiptId, String), NoCanonicalForm> {
    Ok((
        ReceiptId::new(format!("rcpt_{}", result.step.step_id)),
        format!("{outcome:?}"),
    ))
}

fn refused(result: rusqlite::Result<usize>) -> String {
    match result {
        Err(rusqlite::Error::SqliteFailure(_, Some(message))) => message,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn store_created_twice_is_the_same_store() {
    let (folder, mut store) = new_store();
    post(&mut store, plan("r", "k", 2, "{}")).unwrap();
    let again = SqliteStore::create(&folder.path().join("deep/jobs.db")).unwrap();
    assert_eq!(again.job_steps(&JobId::new("job_r_k")).unwrap().len(), 2);
    let mode: String = again
        .connection
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn store_with_a_view_or_virtual_table_for_a_table_is_refused() {
    let endless =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n";
    for made in [
        format!("CREATE VIEW Queue_Tasks AS {endless}"),
        "CREATE VIRTUAL TABLE queue_tasks USING fts5(id)".to_owned(),
    ] {
        let (folder, store) = new_store();
        let batch = format!("PRAGMA foreign_keys = OFF; DROP TABLE queue_tasks; {made}");
        store.connection.execute_batch(&batch).unwrap();
        drop(store);
        let path = folder.path().join("deep/jobs.db");
        let is_refused = |error: Option<StoreError>| matches!(error, Some(StoreError::Foreign { table, .. }) if table.eq_ignore_ascii_case("queue_tasks"));
        assert!(is_refused(SqliteStore::open(&path).err()), "{made}");
        assert!(is_refused(SqliteReader::open(&path).err()), "{made}");
    }
}

#[test]
fn store_with_a_trigger_or_computed_column_of_others_is_not_written_to() {
    let trigger = "CREATE TRIGGER t AFTER INSERT ON cassette_messages BEGIN SELECT 1; END";
    let column = "ALTER TABLE sections ADD COLUMN x AS (printf('%.*c', 900000000, 'x'))";
    for (made, is_read) in [(trigger, true), (column, false)] {
        let (folder, store) = new_store();
        store.connection.execute_batch(made).unwrap();
        drop(store);
        let path = folder.path().join("deep/jobs.db");
        let written = SqliteStore::open(&path);
        assert!(matches!(written, Err(StoreError::Foreign { .. })), "{made}");
        assert_eq!(SqliteReader::open(&path).is_ok(), is_read, "{made}");
    }
}

#[test]
fn store_of_a_later_version_is_refused() {
    let (folder, store) = new_store();
    store
        .connection
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let path = folder.path().join("deep/jobs.db");
    assert!(matches!(
        SqliteStore::open(&path),
        Err(StoreError::Newer {
            found: 99,
            known: 3
        })
    ));
    assert!(matches!(
        SqliteReader::open(&path),
        Err(StoreError::Newer { .. })
    ));
}

#[test]
fn reader_of_another_database_names_the_missing_table() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("other.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE t(x)")
        .unwrap();
    let error = SqliteReader::open(&path).unwrap_err();
    assert!(matches!(
        error,
        StoreError::Foreign { table, .. } if table == "cassette_messages"
    ));
    assert!(matches!(
        SqliteReader::open(&folder.path().join("none.db")),
        Err(StoreError::Missing(_))
    ));
}

#[test]
fn database_refuses_edits_of_append_only_tables() {
    let (_folder, mut store) = new_store();
    post(&mut store, plan("r", "k", 2, "{}")).unwrap();
    let steps = store.claim_steps(None, "w", 60.0, 1).unwrap();
    store
        .commit_steps("w", &[read(&steps[0], 1, false)], &describe)
        .unwrap();
    let run = |sql: &str| refused(store.connection.execute(sql, []));
    assert_eq!(
        run("UPDATE cassette_messages SET run_id = 'x'"),
        "cassette_messages is append-only"
    );
    assert_eq!(
        run("DELETE FROM cassette_receipts"),
        "cassette_receipts is append-only"
    );
    assert_eq!(
        run("UPDATE cassette_receipts SET outcome = 'FAILURE'"),
        "cassette_receipts is append-only"
    );
    assert_eq!(
        run("DELETE FROM cassette_jobs"),
        "cassette_jobs is append-only"
    );
    assert_eq!(run("DELETE FROM cassette_steps"), "steps are never deleted");
    assert_eq!(
        run(
            "INSERT INTO cassette_receipts SELECT 'x', step_id, job_id, worker_id,
             fencing_token, outcome, receipt_json, created_at FROM cassette_receipts"
        ),
        "the step already has a receipt"
    );
}

#[test]
fn database_refuses_invalid_step_transitions() {
    let (_folder, mut store) = new_store();
    post(&mut store, plan("r", "k", 2, "{}")).unwrap();
    let run = |sql: &str| refused(store.connection.execute(sql, []));
    let order = "a step goes PENDING, LEASED, COMMITTED";
    assert_eq!(run("UPDATE cassette_steps SET status = 'COMMITTED'"), order);
    assert_eq!(
        run(
            "UPDATE cassette_steps SET status = 'LEASED', lease_owner = 'w',
             lease_expires_at = '2000', fencing_token = 5"
        ),
        "a new lease raises the fencing token by one"
    );
    assert_eq!(
        run("UPDATE cassette_steps SET payload_json = '{\"x\":1}'"),
        "what a step does is never edited"
    );
    store.claim_steps(None, "w", 60.0, 1).unwrap();
    let run = |sql: &str| refused(store.connection.execute(sql, []));
    let leased = "WHERE status = 'LEASED'";
    assert_eq!(
        run(&format!(
            "UPDATE cassette_steps SET status = 'PENDING' {leased}"
        )),
        order
    );
    assert_eq!(
        run(&format!(
            "UPDATE cassette_steps SET status = 'COMMITTED' {leased}"
        )),
        "a commit needs the lease it was read under and its one receipt"
    );
    assert_eq!(
        run(
            "INSERT INTO cassette_receipts VALUES('r', 'step_r_k_1', 'job_r_k', 'w', 0,
             'SUCCESS', '{}', '2000')"
        ),
        "a receipt needs the live lease of its step"
    );
}

#[test]
fn foreign_database_is_read_unchanged_and_adopted_for_writing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("field.db");
    let field = "
        CREATE TABLE cassette_messages(message_id TEXT NOT NULL PRIMARY KEY, run_id TEXT,
            source TEXT, idempotency_key TEXT, payload_json TEXT, created_at TEXT);
        CREATE TABLE cassette_jobs(job_id TEXT NOT NULL PRIMARY KEY, message_id TEXT,
            intent TEXT, ordinal INTEGER, created_at TEXT);
        CREATE TABLE cassette_steps(step_id TEXT NOT NULL PRIMARY KEY, job_id TEXT,
            ordinal INTEGER, status TEXT, lease_owner TEXT, lease_expires_at TEXT,
            fencing_token INTEGER, payload_json TEXT, created_at TEXT);
        CREATE TABLE cassette_receipts(receipt_id TEXT NOT NULL PRIMARY KEY, step_id TEXT,
            job_id TEXT, worker_id TEXT, fencing_token INTEGER, outcome TEXT,
            receipt_json TEXT, created_at TEXT);
        CREATE TABLE sections(section_id TEXT NOT NULL PRIMARY KEY, file_path TEXT,
            heading_path TEXT, line_start INTEGER, line_end INTEGER, content_hash TEXT,
            created_at TEXT);
        INSERT INTO cassette_messages VALUES('m', 'r', 'USER', 'k', 'no json', 'then');
        INSERT INTO cassette_jobs VALUES('j', 'm', 'read', 1, 'then');
        INSERT INTO cassette_steps VALUES('s1', 'j', 0, 'COMMITTED', 'w', 'then', 1, '{}', '');
        INSERT INTO cassette_steps VALUES('s2', 'j', 1, 'PENDING', NULL, NULL, NULL, '{}', '');
        INSERT INTO cassette_receipts VALUES('a', 's1', 'j', 'w', 1, 'SUCCESS', '{}', '');
        INSERT INTO cassette_receipts VALUES('b', 's1', 'j', 'w', 1, 'SUCCESS', '{}', '');";
    Connection::open(&path)
        .unwrap()
        .execute_batch(field)
        .unwrap();
    let before = fs::read(&path).unwrap();
    {
        let reader = SqliteReader::open(&path).unwrap();
        let steps = reader.job_steps(&JobId::new("j")).unwrap();
        assert_eq!(steps.iter().map(|s| s.receipts).collect::<Vec<_>>(), [2, 0]);
        let status = &reader.job_status(Some(&JobRunId::new("r")), None).unwrap()[0];
        assert_eq!(
            status.states,
            StateCounts {
                pending: 1,
                leased: 0,
                committed: 1
            }
        );
        assert_eq!(status.workers, ["w"]);
        // A job that reads no symbols does not need their table; a job that does gets an error.
        assert_eq!(reader.symbols().unwrap(), []);
        assert!(matches!(
            reader.symbol("@a"),
            Err(StoreError::Foreign { table, .. }) if table == "symbols"
        ));
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    let mut store = SqliteStore::open(&path).unwrap();
    let claimed = store.claim_steps(None, "ours", 60.0, 10).unwrap();
    assert_eq!(claimed.len(), 1);
    assert_eq!(
        (claimed[0].fencing_token, claimed[0].limits),
        (1, JobLimits::default())
    );
    let commits = store
        .commit_steps("ours", &[read(&claimed[0], 3, false)], &describe)
        .unwrap();
    assert_eq!(commits, [Commit::Succeeded]);
}
