//! The tables of the store, and what the database itself enforces.
//!
//! Tables and columns have the names that other programs use, so a job recorded by one of them can
//! be opened here. Migrations are append-only: an entry of [`MIGRATIONS`] that has shipped is never
//! edited, and a change is a new entry. Every statement says IF NOT EXISTS, so that a foreign
//! database can be adopted: it keeps its tables and gets those that it lacks.
//!
//! The triggers apply to every program that writes to the file, not only to this one: messages,
//! jobs and receipts are append-only; a step goes PENDING → LEASED → COMMITTED and nowhere else;
//! each new lease raises the fencing token by one, and only its holder may extend it; a receipt
//! needs the live lease of its step, and a step is committed only together with its one receipt.

/// One entry per schema version, in order; the database's `user_version` counts those applied.
pub(super) const MIGRATIONS: [&str; 3] = [V1, V2, V3];

/// The tables that every job needs, by which a database is recognized as a store. A job that reads
/// symbols also needs `symbols`.
pub(super) const FIELD_TABLES: [&str; 5] = [
    "cassette_messages",
    "cassette_jobs",
    "cassette_steps",
    "cassette_receipts",
    "sections",
];

const V1: &str = "
CREATE TABLE IF NOT EXISTS cassette_meta(
    key TEXT NOT NULL PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS cassette_messages(
    message_id TEXT NOT NULL PRIMARY KEY, run_id TEXT NOT NULL, source TEXT NOT NULL,
    idempotency_key TEXT, payload_json TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cassette_jobs(
    job_id TEXT NOT NULL PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES cassette_messages(message_id),
    intent TEXT NOT NULL, ordinal INTEGER NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cassette_steps(
    step_id TEXT NOT NULL PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES cassette_jobs(job_id),
    ordinal INTEGER NOT NULL,
    status TEXT NOT NULL CHECK(status IN ('PENDING', 'LEASED', 'COMMITTED')),
    lease_owner TEXT, lease_expires_at TEXT,
    fencing_token INTEGER NOT NULL DEFAULT 0,
    payload_json TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cassette_receipts(
    receipt_id TEXT NOT NULL PRIMARY KEY,
    step_id TEXT NOT NULL REFERENCES cassette_steps(step_id),
    job_id TEXT NOT NULL REFERENCES cassette_jobs(job_id),
    worker_id TEXT NOT NULL, fencing_token INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK(outcome IN ('SUCCESS', 'FAILURE', 'ABORTED')),
    receipt_json TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cassette_job_budgets(
    job_id TEXT NOT NULL PRIMARY KEY REFERENCES cassette_jobs(job_id),
    bytes_consumed INTEGER, symbols_consumed INTEGER);
CREATE TABLE IF NOT EXISTS job_limits(
    job_id TEXT NOT NULL PRIMARY KEY REFERENCES cassette_jobs(job_id),
    max_bytes INTEGER, max_symbols INTEGER);
CREATE TABLE IF NOT EXISTS sections(
    section_id TEXT NOT NULL PRIMARY KEY, file_path TEXT, heading_path TEXT,
    line_start INTEGER, line_end INTEGER, content_hash TEXT, created_at TEXT);
CREATE TABLE IF NOT EXISTS section_index_meta(
    key TEXT NOT NULL PRIMARY KEY, value TEXT, updated_at TEXT);
CREATE TABLE IF NOT EXISTS symbols(
    symbol_id TEXT NOT NULL PRIMARY KEY, target_type TEXT,
    target_ref TEXT REFERENCES sections(section_id), default_slice TEXT,
    created_at TEXT, updated_at TEXT);
CREATE TABLE IF NOT EXISTS index_files(
    file_path TEXT NOT NULL PRIMARY KEY, stamp TEXT NOT NULL, file_hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS index_sections(
    file_path TEXT NOT NULL REFERENCES index_files(file_path) ON DELETE CASCADE,
    section_id TEXT NOT NULL REFERENCES sections(section_id),
    heading_path TEXT NOT NULL,
    PRIMARY KEY(file_path, section_id, heading_path)) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS steps_by_state ON cassette_steps(status, job_id, ordinal, step_id);
CREATE INDEX IF NOT EXISTS steps_by_job ON cassette_steps(job_id, ordinal, step_id);
CREATE INDEX IF NOT EXISTS receipts_by_step ON cassette_receipts(step_id);
CREATE INDEX IF NOT EXISTS receipts_by_job ON cassette_receipts(job_id);
CREATE INDEX IF NOT EXISTS jobs_by_message ON cassette_jobs(message_id);
CREATE INDEX IF NOT EXISTS messages_by_run ON cassette_messages(run_id);
CREATE INDEX IF NOT EXISTS sections_by_path ON sections(file_path);

CREATE TRIGGER IF NOT EXISTS messages_keep BEFORE UPDATE ON cassette_messages
BEGIN SELECT RAISE(ABORT, 'cassette_messages is append-only'); END;
CREATE TRIGGER IF NOT EXISTS messages_stay BEFORE DELETE ON cassette_messages
BEGIN SELECT RAISE(ABORT, 'cassette_messages is append-only'); END;
CREATE TRIGGER IF NOT EXISTS jobs_keep BEFORE UPDATE ON cassette_jobs
BEGIN SELECT RAISE(ABORT, 'cassette_jobs is append-only'); END;
CREATE TRIGGER IF NOT EXISTS jobs_stay BEFORE DELETE ON cassette_jobs
BEGIN SELECT RAISE(ABORT, 'cassette_jobs is append-only'); END;
CREATE TRIGGER IF NOT EXISTS receipts_keep BEFORE UPDATE ON cassette_receipts
BEGIN SELECT RAISE(ABORT, 'cassette_receipts is append-only'); END;
CREATE TRIGGER IF NOT EXISTS receipts_stay BEFORE DELETE ON cassette_receipts
BEGIN SELECT RAISE(ABORT, 'cassette_receipts is append-only'); END;
CREATE TRIGGER IF NOT EXISTS receipts_once BEFORE INSERT ON cassette_receipts
BEGIN
    SELECT RAISE(ABORT, 'the step already has a receipt') WHERE EXISTS
        (SELECT 1 FROM cassette_receipts WHERE step_id = NEW.step_id);
    SELECT RAISE(ABORT, 'a receipt needs the live lease of its step') WHERE NOT EXISTS
        (SELECT 1 FROM cassette_steps WHERE step_id = NEW.step_id AND job_id = NEW.job_id
            AND status = 'LEASED' AND fencing_token = NEW.fencing_token);
END;
CREATE TRIGGER IF NOT EXISTS steps_begin BEFORE INSERT ON cassette_steps
WHEN NEW.status IS NOT 'PENDING'
BEGIN SELECT RAISE(ABORT, 'a step begins as PENDING'); END;
CREATE TRIGGER IF NOT EXISTS steps_stay BEFORE DELETE ON cassette_steps
BEGIN SELECT RAISE(ABORT, 'steps are never deleted'); END;
CREATE TRIGGER IF NOT EXISTS steps_move BEFORE UPDATE ON cassette_steps
BEGIN
    SELECT RAISE(ABORT, 'what a step does is never edited')
    WHERE NEW.step_id IS NOT OLD.step_id OR NEW.job_id IS NOT OLD.job_id
        OR NEW.ordinal IS NOT OLD.ordinal OR NEW.payload_json IS NOT OLD.payload_json;
    SELECT RAISE(ABORT, 'a step goes PENDING, LEASED, COMMITTED')
    WHERE NOT (
        (OLD.status IN ('PENDING', 'LEASED') AND NEW.status = 'LEASED')
        OR (OLD.status = 'LEASED' AND NEW.status = 'COMMITTED'));
    SELECT RAISE(ABORT, 'a new lease raises the fencing token by one')
    WHERE NEW.status = 'LEASED' AND (NEW.lease_owner IS NULL OR NEW.lease_expires_at IS NULL
        OR NEW.fencing_token IS NOT COALESCE(OLD.fencing_token, 0) + 1);
    SELECT RAISE(ABORT, 'a commit needs the lease it was read under and its one receipt')
    WHERE NEW.status = 'COMMITTED' AND (NEW.fencing_token IS NOT OLD.fencing_token
        OR (SELECT COUNT(*) FROM cassette_receipts WHERE step_id = NEW.step_id
            AND fencing_token = NEW.fencing_token) <> 1);
END;
INSERT OR IGNORE INTO cassette_meta(key, value) VALUES('schema_version', '1');
";

/// Leases that can be extended under their token; tasks and their results.
const V2: &str = "
DROP TRIGGER IF EXISTS steps_move;
CREATE TRIGGER steps_move BEFORE UPDATE ON cassette_steps
BEGIN
    SELECT RAISE(ABORT, 'what a step does is never edited')
    WHERE NEW.step_id IS NOT OLD.step_id OR NEW.job_id IS NOT OLD.job_id
        OR NEW.ordinal IS NOT OLD.ordinal OR NEW.payload_json IS NOT OLD.payload_json;
    SELECT RAISE(ABORT, 'a step goes PENDING, LEASED, COMMITTED')
    WHERE NOT (
        (OLD.status IN ('PENDING', 'LEASED') AND NEW.status = 'LEASED')
        OR (OLD.status = 'LEASED' AND NEW.status = 'COMMITTED'));
    SELECT RAISE(ABORT, 'a new lease raises the fencing token by one')
    WHERE NEW.status = 'LEASED' AND (NEW.lease_owner IS NULL OR NEW.lease_expires_at IS NULL
        OR NOT (NEW.fencing_token IS COALESCE(OLD.fencing_token, 0) + 1
            OR (OLD.status = 'LEASED' AND NEW.fencing_token IS OLD.fencing_token
                AND NEW.lease_owner IS OLD.lease_owner)));
    SELECT RAISE(ABORT, 'a commit needs the lease it was read under and its one receipt')
    WHERE NEW.status = 'COMMITTED' AND (NEW.fencing_token IS NOT OLD.fencing_token
        OR (SELECT COUNT(*) FROM cassette_receipts WHERE step_id = NEW.step_id
            AND fencing_token = NEW.fencing_token) <> 1);
END;
CREATE TABLE IF NOT EXISTS queue_results(
    result_id TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, options TEXT NOT NULL,
    content TEXT NOT NULL, outcome TEXT NOT NULL, report_json TEXT NOT NULL,
    worker_id TEXT NOT NULL, created_at TEXT NOT NULL,
    UNIQUE(kind, options, content));
CREATE TABLE IF NOT EXISTS queue_tasks(
    task_id TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, options TEXT NOT NULL,
    location TEXT NOT NULL,
    state TEXT NOT NULL CHECK(state IN ('PENDING', 'LEASED', 'DONE', 'FAILED')),
    lease_owner TEXT, leased_at TEXT, lease_expires_at TEXT,
    fencing_token INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
    reason TEXT, result_id TEXT REFERENCES queue_results(result_id),
    created_at TEXT NOT NULL, ended_at TEXT,
    CHECK((state = 'DONE') = (result_id IS NOT NULL)));
CREATE INDEX IF NOT EXISTS tasks_by_state ON queue_tasks(state, location, task_id);
CREATE INDEX IF NOT EXISTS tasks_by_end ON queue_tasks(ended_at) WHERE ended_at IS NOT NULL;
CREATE TRIGGER IF NOT EXISTS results_keep BEFORE UPDATE ON queue_results
BEGIN SELECT RAISE(ABORT, 'queue_results is append-only'); END;
CREATE TRIGGER IF NOT EXISTS results_stay BEFORE DELETE ON queue_results
BEGIN SELECT RAISE(ABORT, 'queue_results is append-only'); END;
UPDATE cassette_meta SET value = '2' WHERE key = 'schema_version';
";

/// The workers that gave a task back: one per line, with a line feed before the first.
const V3: &str = "
ALTER TABLE queue_tasks ADD COLUMN tried_by TEXT;
UPDATE cassette_meta SET value = '3' WHERE key = 'schema_version';
";
