-- Tables for the bare statements: the keys and columns of a store, and none of its checks.
DROP TABLE IF EXISTS bare_steps, bare_receipts;
CREATE TABLE bare_steps(
    step_id text COLLATE "C" PRIMARY KEY, job_id text COLLATE "C" NOT NULL, ordinal bigint NOT NULL,
    status text NOT NULL, lease_owner text, lease_expires_at timestamptz,
    fencing_token bigint NOT NULL DEFAULT 0, payload_json text NOT NULL,
    created_at timestamptz DEFAULT clock_timestamp()) WITH (fillfactor = 70);
CREATE INDEX ON bare_steps(job_id, ordinal, step_id) WHERE status = 'PENDING';
CREATE INDEX ON bare_steps(lease_owner) WHERE status = 'LEASED';
CREATE TABLE bare_receipts(
    receipt_id text COLLATE "C" PRIMARY KEY, step_id text COLLATE "C" NOT NULL UNIQUE,
    job_id text COLLATE "C" NOT NULL, worker_id text COLLATE "C" NOT NULL,
    fencing_token bigint NOT NULL, outcome text NOT NULL, receipt_json text NOT NULL,
    created_at timestamptz DEFAULT clock_timestamp());
CREATE INDEX ON bare_receipts(job_id, worker_id);
INSERT INTO bare_steps(step_id, job_id, ordinal, status, payload_json)
SELECT step_id, job_id, ordinal, 'PENDING', payload_json FROM cassette_steps;
ANALYZE bare_steps;
