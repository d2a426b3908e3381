//! The tables on the server, and what the server itself enforces.
//!
//! Names and columns are those of the SQLite store. Ordered texts compare bytewise, whatever the
//! database's locale. Migrations are append-only, and one program at a time applies them, under a
//! lock that ends with the transaction.
//!
//! Enforced for every program that writes: messages, jobs, receipts and results are append-only; a
//! step goes PENDING → LEASED → COMMITTED and nowhere else; each new lease raises the fencing token
//! by one, and only its holder may extend it; a step has at most one receipt, and the statement
//! that adds it also commits the step; a log only grows.

use postgres::Client;
use postgres::error::SqlState;
use postgres::types::Type;
use runseal_store::store::StoreError;

use crate::error::DatabaseError;

/// One entry per schema version, in order.
const MIGRATIONS: [&str; 4] = [V1, V2, V3, V4];

/// The key of the advisory lock: an arbitrary number that must never change.
const LOCK: i64 = 0x7275_6e73_6561_6c31;

/// Creates the tables, or applies the missing migrations.
pub(crate) fn migrate(client: &mut Client) -> Result<(), DatabaseError> {
    if version(client)? == Some(known()) {
        return Ok(());
    }
    let mut transaction = client.transaction()?;
    transaction.batch_execute(&format!("SELECT pg_advisory_xact_lock({LOCK})"))?;
    transaction.batch_execute(
        "CREATE TABLE IF NOT EXISTS runseal_schema(version bigint PRIMARY KEY,
             applied_at timestamptz NOT NULL DEFAULT clock_timestamp())",
    )?;
    // Read under the lock: another program may have migrated meanwhile.
    let applied: i64 = transaction
        .query_typed_one("SELECT COALESCE(MAX(version), 0) FROM runseal_schema", &[])?
        .get(0);
    refuse_newer(applied)?;
    for (at, migration) in MIGRATIONS.iter().enumerate() {
        let version = at as i64 + 1;
        if version > applied {
            transaction.batch_execute(migration)?;
            transaction.batch_execute(&format!(
                "INSERT INTO runseal_schema(version) VALUES({version})"
            ))?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Fails unless there is a store of a version that this program knows.
pub(crate) fn check(client: &mut Client, place: &str) -> Result<(), DatabaseError> {
    if has_table(client, "runseal_schema")? {
        Ok(())
    } else {
        Err(StoreError::NoStore(place.to_owned()).into())
    }
}

/// Whether a table of ours exists; fails if the schema is newer than this program. Every command that
/// reads calls this first, so it is a single query.
pub(crate) fn has_table(client: &mut Client, table: &str) -> Result<bool, DatabaseError> {
    let asked = client.query_typed_one(
        "SELECT COALESCE(MAX(version), 0), to_regclass($1) IS NOT NULL FROM runseal_schema",
        &[(&table, Type::TEXT)],
    );
    let row = match asked {
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => return Ok(false),
        asked => asked?,
    };
    let version: i64 = row.get(0);
    refuse_newer(version)?;
    Ok(version > 0 && row.get(1))
}

fn known() -> i64 {
    MIGRATIONS.len() as i64
}

fn refuse_newer(found: i64) -> Result<(), StoreError> {
    let known = known();
    if found > known {
        Err(StoreError::Newer { found, known })
    } else {
        Ok(())
    }
}

/// Reads the version that was applied last; returns `None` if our tables do not exist.
fn version(client: &mut Client) -> Result<Option<i64>, DatabaseError> {
    let table = client.query_typed_one("SELECT to_regclass('runseal_schema') IS NOT NULL", &[])?;
    if !table.get::<_, bool>(0) {
        return Ok(None);
    }
    let found =
        client.query_typed_one("SELECT COALESCE(MAX(version), 0) FROM runseal_schema", &[])?;
    Ok(Some(found.get(0)))
}

const V1: &str = r#"
CREATE TABLE cassette_messages(
    message_id text COLLATE "C" PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL,
    source text NOT NULL,
    idempotency_key text COLLATE "C",
    payload_json text NOT NULL,
    created_at timestamptz DEFAULT clock_timestamp());
CREATE INDEX messages_by_run ON cassette_messages(run_id, idempotency_key);

CREATE TABLE cassette_jobs(
    job_id text COLLATE "C" PRIMARY KEY,
    message_id text COLLATE "C" NOT NULL REFERENCES cassette_messages,
    intent text NOT NULL,
    ordinal bigint NOT NULL,
    created_at timestamptz DEFAULT clock_timestamp());
CREATE INDEX jobs_by_message ON cassette_jobs(message_id);

CREATE TABLE cassette_steps(
    step_id text COLLATE "C" PRIMARY KEY,
    job_id text COLLATE "C" NOT NULL REFERENCES cassette_jobs,
    ordinal bigint NOT NULL,
    status text NOT NULL CHECK (status IN ('PENDING', 'LEASED', 'COMMITTED')),
    lease_owner text,
    lease_expires_at timestamptz,
    fencing_token bigint NOT NULL DEFAULT 0,
    payload_json text NOT NULL,
    created_at timestamptz DEFAULT clock_timestamp(),
    CHECK (status <> 'LEASED' OR (lease_owner IS NOT NULL AND lease_expires_at IS NOT NULL)))
WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX steps_by_job ON cassette_steps(job_id, ordinal, step_id);
CREATE INDEX steps_ready ON cassette_steps(job_id, ordinal, step_id) WHERE status = 'PENDING';
CREATE INDEX steps_leased ON cassette_steps(lease_expires_at) WHERE status = 'LEASED';

CREATE TABLE cassette_receipts(
    receipt_id text COLLATE "C" PRIMARY KEY,
    step_id text COLLATE "C" NOT NULL,
    job_id text COLLATE "C" NOT NULL,
    worker_id text COLLATE "C" NOT NULL,
    fencing_token bigint NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('SUCCESS', 'FAILURE', 'ABORTED')),
    receipt_json text NOT NULL,
    created_at timestamptz DEFAULT clock_timestamp(),
    CONSTRAINT one_receipt_a_step UNIQUE (step_id));
CREATE INDEX receipts_by_job ON cassette_receipts(job_id, worker_id);
CREATE INDEX receipts_failed ON cassette_receipts(job_id) WHERE outcome <> 'SUCCESS';

CREATE TABLE cassette_job_budgets(
    job_id text COLLATE "C" PRIMARY KEY REFERENCES cassette_jobs,
    bytes_consumed bigint,
    symbols_consumed bigint) WITH (fillfactor = 50);
CREATE TABLE job_limits(
    job_id text COLLATE "C" PRIMARY KEY REFERENCES cassette_jobs,
    max_bytes bigint,
    max_symbols bigint);

CREATE TABLE sections(
    section_id text COLLATE "C" PRIMARY KEY,
    file_path text COLLATE "C",
    heading_path text COLLATE "C",
    line_start bigint,
    line_end bigint,
    content_hash text,
    created_at timestamptz DEFAULT clock_timestamp());
CREATE INDEX sections_by_path ON sections(file_path);
CREATE TABLE symbols(
    symbol_id text COLLATE "C" PRIMARY KEY,
    target_type text,
    target_ref text COLLATE "C" REFERENCES sections,
    default_slice text,
    created_at timestamptz DEFAULT clock_timestamp(),
    updated_at timestamptz DEFAULT clock_timestamp());
CREATE TABLE index_files(
    file_path text COLLATE "C" PRIMARY KEY,
    stamp text NOT NULL,
    file_hash text NOT NULL);
CREATE TABLE index_sections(
    file_path text COLLATE "C" NOT NULL REFERENCES index_files ON DELETE CASCADE,
    section_id text COLLATE "C" NOT NULL REFERENCES sections,
    heading_path text COLLATE "C" NOT NULL,
    PRIMARY KEY (file_path, section_id, heading_path));

CREATE TABLE queue_results(
    result_id text COLLATE "C" PRIMARY KEY,
    kind text NOT NULL,
    options text NOT NULL,
    content text NOT NULL,
    outcome text NOT NULL,
    report_json text NOT NULL,
    worker_id text NOT NULL,
    created_at timestamptz DEFAULT clock_timestamp(),
    CONSTRAINT one_result_a_content UNIQUE (kind, options, content));
CREATE TABLE queue_tasks(
    task_id text COLLATE "C" PRIMARY KEY,
    kind text NOT NULL,
    options text NOT NULL,
    location text COLLATE "C" NOT NULL,
    state text NOT NULL CHECK (state IN ('PENDING', 'LEASED', 'DONE', 'FAILED')),
    lease_owner text COLLATE "C",
    leased_at timestamptz,
    lease_expires_at timestamptz,
    fencing_token bigint NOT NULL DEFAULT 0,
    attempts bigint NOT NULL DEFAULT 0,
    reason text,
    result_id text COLLATE "C" REFERENCES queue_results,
    created_at timestamptz DEFAULT clock_timestamp(),
    ended_at timestamptz,
    CHECK ((state = 'DONE') = (result_id IS NOT NULL)),
    CHECK (state <> 'LEASED' OR (lease_owner IS NOT NULL AND lease_expires_at IS NOT NULL)))
WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX tasks_ready ON queue_tasks(location, task_id) WHERE state = 'PENDING';
CREATE INDEX tasks_leased ON queue_tasks(lease_expires_at) WHERE state = 'LEASED';
CREATE INDEX tasks_ended ON queue_tasks(ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX tasks_by_location ON queue_tasks(location, kind, task_id);

CREATE FUNCTION runseal_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER messages_keep BEFORE UPDATE OR DELETE ON cassette_messages
    FOR EACH ROW EXECUTE FUNCTION runseal_refuse('cassette_messages is append-only');
CREATE TRIGGER jobs_keep BEFORE UPDATE OR DELETE ON cassette_jobs
    FOR EACH ROW EXECUTE FUNCTION runseal_refuse('cassette_jobs is append-only');
CREATE TRIGGER receipts_keep BEFORE UPDATE OR DELETE ON cassette_receipts
    FOR EACH ROW EXECUTE FUNCTION runseal_refuse('cassette_receipts is append-only');
CREATE TRIGGER results_keep BEFORE UPDATE OR DELETE ON queue_results
    FOR EACH ROW EXECUTE FUNCTION runseal_refuse('queue_results is append-only');
CREATE TRIGGER steps_stay BEFORE DELETE ON cassette_steps
    FOR EACH ROW EXECUTE FUNCTION runseal_refuse('steps are never deleted');
CREATE TRIGGER steps_begin BEFORE INSERT ON cassette_steps
    FOR EACH ROW WHEN (NEW.status <> 'PENDING')
    EXECUTE FUNCTION runseal_refuse('a step begins as PENDING');

-- Conditions cost next to nothing where they do not hold: no function is called.
CREATE TRIGGER steps_keep BEFORE UPDATE ON cassette_steps
    FOR EACH ROW WHEN (NEW.step_id <> OLD.step_id OR NEW.job_id <> OLD.job_id
        OR NEW.ordinal <> OLD.ordinal OR NEW.payload_json <> OLD.payload_json)
    EXECUTE FUNCTION runseal_refuse('what a step does is never edited');
CREATE TRIGGER steps_move BEFORE UPDATE ON cassette_steps
    FOR EACH ROW WHEN (NOT ((OLD.status IN ('PENDING', 'LEASED') AND NEW.status = 'LEASED')
        OR (OLD.status = 'LEASED' AND NEW.status = 'COMMITTED')))
    EXECUTE FUNCTION runseal_refuse('a step goes PENDING, LEASED, COMMITTED');
CREATE TRIGGER steps_token BEFORE UPDATE ON cassette_steps
    FOR EACH ROW WHEN (NOT (
        (NEW.status = 'LEASED' AND NEW.fencing_token = OLD.fencing_token + 1)
        OR (OLD.status = 'LEASED' AND NEW.fencing_token = OLD.fencing_token
            AND NEW.lease_owner IS NOT DISTINCT FROM OLD.lease_owner)))
    EXECUTE FUNCTION runseal_refuse('a new lease raises the fencing token by one');

-- A step and its receipt come together: each statement that commits steps adds their receipts.
-- Both are looked at when it is done, by key, whatever the planner thinks of the tables' sizes.
CREATE FUNCTION runseal_steps_moved() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM moved m WHERE m.status = 'COMMITTED' AND NOT EXISTS
        (SELECT 1 FROM cassette_receipts r
         WHERE r.step_id = m.step_id AND r.fencing_token = m.fencing_token)) THEN
        RAISE EXCEPTION 'a commit needs the lease it was read under and its one receipt'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER steps_moved AFTER UPDATE ON cassette_steps
    REFERENCING NEW TABLE AS moved FOR EACH STATEMENT EXECUTE FUNCTION runseal_steps_moved();
CREATE FUNCTION runseal_receipts_added() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added a WHERE NOT EXISTS
        (SELECT 1 FROM cassette_steps s
         WHERE s.step_id = a.step_id AND s.job_id = a.job_id AND s.status = 'COMMITTED'
             AND s.fencing_token = a.fencing_token)) THEN
        RAISE EXCEPTION 'a receipt needs the live lease of its step'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER receipts_added AFTER INSERT ON cassette_receipts
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION runseal_receipts_added();
"#;

/// Transparency logs. `last` is the index of the entry that completes the subtree.
const V2: &str = r#"
CREATE TABLE logs(
    log_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    origin text COLLATE "C" NOT NULL UNIQUE,
    size bigint NOT NULL CHECK (size >= 0),
    root bytea NOT NULL,
    checkpoint text,
    created_at timestamptz DEFAULT clock_timestamp());
CREATE TABLE log_entries(
    log_id bigint NOT NULL REFERENCES logs,
    place bigint NOT NULL,
    leaf bytea NOT NULL,
    entry bytea NOT NULL,
    created_at timestamptz DEFAULT clock_timestamp(),
    PRIMARY KEY (log_id, place));
CREATE INDEX log_entries_by_leaf ON log_entries(log_id, leaf);
CREATE TABLE log_nodes(
    log_id bigint NOT NULL REFERENCES logs,
    level bigint NOT NULL,
    place bigint NOT NULL,
    last bigint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (log_id, level, place));
CREATE INDEX log_nodes_by_last ON log_nodes(log_id, last, level);

CREATE TRIGGER log_entries_keep BEFORE UPDATE OR DELETE ON log_entries
    FOR EACH ROW EXECUTE FUNCTION runseal_refuse('log_entries is append-only');
CREATE TRIGGER log_nodes_keep BEFORE UPDATE OR DELETE ON log_nodes
    FOR EACH ROW EXECUTE FUNCTION runseal_refuse('log_nodes is append-only');
CREATE TRIGGER logs_stay BEFORE DELETE ON logs
    FOR EACH ROW EXECUTE FUNCTION runseal_refuse('logs are never deleted');
CREATE TRIGGER logs_grow BEFORE UPDATE ON logs
    FOR EACH ROW WHEN (NEW.log_id <> OLD.log_id OR NEW.origin <> OLD.origin OR NEW.size < OLD.size
        OR (NEW.size = OLD.size AND NEW.root <> OLD.root))
    EXECUTE FUNCTION runseal_refuse('a log only grows');
"#;

/// The catalogue. A missing value is the empty text, so that everything can be ordered. Values are
/// compared by `number` or `text`; a boolean has both.
const V3: &str = r#"
CREATE TABLE catalog_runs(
    run bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
    format text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    engine text COLLATE "C" NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    left_out bigint NOT NULL,
    words tsvector NOT NULL);
CREATE INDEX catalog_runs_in_order ON catalog_runs(time DESC, digest) INCLUDE (run);
CREATE INDEX catalog_runs_by_engine ON catalog_runs(engine, run);
CREATE INDEX catalog_runs_by_format ON catalog_runs(format, run);
CREATE INDEX catalog_runs_by_outcome ON catalog_runs(outcome, run);
CREATE INDEX catalog_runs_by_words ON catalog_runs USING gin(words);
CREATE TABLE catalog_values(
    run bigint NOT NULL REFERENCES catalog_runs ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    number double precision,
    text text COLLATE "C",
    PRIMARY KEY (run, name));
CREATE INDEX catalog_values_by_number ON catalog_values(name, number, run)
    WHERE number IS NOT NULL;
CREATE INDEX catalog_values_by_text ON catalog_values(name, text, run) WHERE text IS NOT NULL;
CREATE TABLE catalog_places(
    run bigint NOT NULL REFERENCES catalog_runs ON DELETE CASCADE,
    place text COLLATE "C" NOT NULL,
    signer text COLLATE "C" NOT NULL,
    PRIMARY KEY (run, place, signer));
CREATE INDEX catalog_places_by_signer ON catalog_places(signer, run);
CREATE TABLE catalog_tags(
    run bigint NOT NULL REFERENCES catalog_runs ON DELETE CASCADE,
    tag text COLLATE "C" NOT NULL,
    PRIMARY KEY (run, tag));
CREATE INDEX catalog_tags_by_tag ON catalog_tags(tag, run);
"#;

/// The workers that gave a task back, one per line, with a line feed before the first.
const V4: &str = r#"
ALTER TABLE queue_tasks ADD COLUMN tried_by text;
"#;
