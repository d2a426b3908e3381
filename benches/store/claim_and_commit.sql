-- The bare claim: a share of what nobody has, with a lease and a token.
UPDATE bare_steps SET status = 'LEASED', lease_owner = 'w' || :client_id,
    lease_expires_at = clock_timestamp() + interval '60 seconds', fencing_token = fencing_token + 1
WHERE step_id = ANY(ARRAY(SELECT step_id FROM bare_steps WHERE status = 'PENDING'
    ORDER BY job_id, ordinal, step_id LIMIT :share FOR UPDATE SKIP LOCKED))
RETURNING step_id, job_id, ordinal, payload_json, fencing_token;
-- The bare commit: what this client holds, and a receipt for each.
WITH won AS (UPDATE bare_steps SET status = 'COMMITTED'
    WHERE status = 'LEASED' AND lease_owner = 'w' || :client_id
    RETURNING step_id, job_id, fencing_token, payload_json)
INSERT INTO bare_receipts(receipt_id, step_id, job_id, worker_id, fencing_token, outcome, receipt_json)
SELECT 'rcpt_' || step_id, step_id, job_id, 'w' || :client_id, fencing_token, 'SUCCESS', payload_json
FROM won RETURNING step_id;
