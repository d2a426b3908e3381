-- Claiming as the store does, on its own tables with their checks.
WITH ready AS MATERIALIZED (SELECT step_id FROM cassette_steps WHERE status = 'PENDING'
    ORDER BY job_id, ordinal, step_id LIMIT :share FOR UPDATE SKIP LOCKED),
expired AS MATERIALIZED (SELECT step_id FROM cassette_steps
    WHERE status = 'LEASED' AND lease_expires_at <= statement_timestamp()
    ORDER BY lease_expires_at LIMIT :share - (SELECT count(*) FROM ready) FOR UPDATE SKIP LOCKED),
claimed AS (UPDATE cassette_steps s SET status = 'LEASED', lease_owner = 'w' || :client_id,
        lease_expires_at = clock_timestamp() + interval '60 seconds',
        fencing_token = s.fencing_token + 1
    WHERE s.step_id = ANY(ARRAY(SELECT step_id FROM ready UNION ALL SELECT step_id FROM expired))
    RETURNING s.step_id, s.job_id, s.ordinal, s.payload_json, s.fencing_token)
SELECT * FROM claimed ORDER BY job_id, ordinal, step_id;
-- Committing what this client holds, with a receipt for each.
WITH won AS (UPDATE cassette_steps SET status = 'COMMITTED'
    WHERE status = 'LEASED' AND lease_owner = 'w' || :client_id
    RETURNING step_id, job_id, fencing_token, payload_json)
INSERT INTO cassette_receipts(receipt_id, step_id, job_id, worker_id, fencing_token, outcome, receipt_json)
SELECT 'rcpt_' || step_id, step_id, job_id, 'w' || :client_id, fencing_token, 'SUCCESS', payload_json
FROM won RETURNING step_id;
