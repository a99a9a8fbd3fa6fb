// The statements of history. Executions under way and recorded ones are read in one statement: an execution on its
// way from one table to the next is seen once.
import { sql } from '../lib/sql.ts'

export const selectJobExists = sql('selectJobExists')`
  SELECT j.job_id, r.history_days FROM jobs j
  JOIN tenants t ON t.tenant_id = j.tenant_id JOIN tiers r ON r.tier = t.tier
  WHERE j.tenant_id = $1 AND j.job_id = $2`

// $1 job, $2 status, $3 outcomes of that status, $4 and $5 bounds of the slot, $6 before, $7 limit, $8 kept since.
// The bounds of recorded_at are what prunes days: a slot is never recorded before its time.
export const selectExecutions = sql('selectExecutions')`
  SELECT x.*, to_ms(x.slot) AS slot_ms FROM (
    (SELECT execution_at(b.batch_id, u.place) AS execution_id, u.version, 'slot' AS kind,
      CASE WHEN b.worker_id IS NULL THEN 'PENDING' ELSE 'RUNNING' END AS status, from_ms(u.slot_ms) AS slot,
      CASE WHEN b.worker_id IS NULL THEN 0 ELSE 1 END AS attempt, b.enqueued_at, NULL::timestamptz AS started_at,
      NULL::timestamptz AS finished_at, NULL::int AS duration_ms, b.worker_id, NULL::int AS http_status,
      NULL::text AS error_type, NULL::text AS error_message, false AS dead_letter, NULL::timestamptz AS retry_at
    FROM batches b
    CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.versions, b.slots_ms) AS u(place, job_id, version, slot_ms)
    WHERE b.job_ids @> ARRAY[$1::uuid] AND u.job_id = $1)
    UNION ALL
    (SELECT l.execution_id, l.version, l.kind,
      CASE WHEN l.state = 'running' THEN 'RUNNING' WHEN l.state = 'retrying' OR l.attempt > 0 THEN 'RETRYING'
        ELSE 'PENDING' END,
      l.slot, l.attempt, l.enqueued_at, coalesce(l.started_at, a.started_at), a.finished_at, a.duration_ms,
      coalesce(l.worker_id, a.worker_id), a.http_status, a.error_type, a.error_message, false, l.ready_at
    FROM live l
    LEFT JOIN LATERAL (
      SELECT * FROM attempts a WHERE a.job_id = l.job_id AND a.execution_id = l.execution_id AND l.attempt > 0
      ORDER BY a.attempt DESC LIMIT 1
    ) a ON l.state <> 'running'
    WHERE l.job_id = $1)
    UNION ALL
    (SELECT a.execution_id, a.version, a.kind,
      CASE a.outcome WHEN 'succeeded' THEN 'SUCCEEDED' WHEN 'timed_out' THEN 'TIMED_OUT' ELSE 'FAILED' END, a.slot,
      a.attempt, a.enqueued_at, a.started_at, a.finished_at, a.duration_ms, a.worker_id, a.http_status, a.error_type,
      a.error_message, a.dead_letter, NULL
    FROM attempts a
    WHERE a.job_id = $1 AND a.final AND a.execution_id < $6::uuid AND a.recorded_at >= $8::timestamptz
      AND ($3::text[] IS NULL OR a.outcome = ANY ($3)) AND a.slot >= $4::timestamptz AND a.slot < $5::timestamptz
    ORDER BY a.execution_id DESC LIMIT $7)
  ) x
  WHERE x.execution_id < $6::uuid AND ($2::text IS NULL OR x.status = $2)
    AND x.slot >= $4::timestamptz AND x.slot < $5::timestamptz
  ORDER BY x.execution_id DESC LIMIT $7`

// Each part stops counting at $6: no question makes us count a whole table.
export const countExecutions = sql('countExecutions')`
  SELECT (
    SELECT count(*) FROM batches b
    CROSS JOIN LATERAL unnest(b.job_ids, b.slots_ms) AS u(job_id, slot_ms)
    WHERE b.job_ids @> ARRAY[$1::uuid] AND u.job_id = $1
      AND ($2::text IS NULL OR $2 = CASE WHEN b.worker_id IS NULL THEN 'PENDING' ELSE 'RUNNING' END)
      AND from_ms(u.slot_ms) >= $4::timestamptz AND from_ms(u.slot_ms) < $5::timestamptz
  ) + (
    SELECT count(*) FROM live l
    WHERE l.job_id = $1 AND l.slot >= $4::timestamptz AND l.slot < $5::timestamptz
      AND ($2::text IS NULL OR $2 = CASE WHEN l.state = 'running' THEN 'RUNNING'
        WHEN l.state = 'retrying' OR l.attempt > 0 THEN 'RETRYING' ELSE 'PENDING' END)
  ) + (
    SELECT count(*) FROM (
      SELECT FROM attempts a
      WHERE a.job_id = $1 AND a.final AND a.recorded_at >= $7::timestamptz
        AND ($3::text[] IS NULL OR a.outcome = ANY ($3)) AND a.slot >= $4::timestamptz AND a.slot < $5::timestamptz
      LIMIT $6
    ) a
  ) AS total`

// $3: the execution's id tells when it was made, and nothing of it was recorded before.
export const selectExecution = sql('selectExecution')`
  SELECT (
    SELECT json_build_object('jobId', u.job_id, 'version', u.version, 'claimed', b.worker_id IS NOT NULL,
      'workerId', b.worker_id, 'enqueuedAt', to_ms(b.enqueued_at), 'slot', u.slot_ms)
    FROM batches b
    CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.versions, b.slots_ms) AS u(place, job_id, version, slot_ms)
    JOIN jobs j ON j.job_id = u.job_id AND j.tenant_id = $1
    WHERE b.batch_id = batch_of($2) AND execution_at(b.batch_id, u.place) = $2
  ) AS batch, (
    SELECT json_build_object('jobId', l.job_id, 'version', l.version, 'kind', l.kind, 'state', l.state,
      'workerId', l.worker_id, 'enqueuedAt', to_ms(l.enqueued_at), 'slot', to_ms(l.slot), 'attempt', l.attempt,
      'startedAt', to_ms(l.started_at), 'retryAt', to_ms(l.ready_at), 'idempotencyKey', l.idempotency_key,
      'retryOf', l.retry_of, 'payloadOverride', l.payload_override::text)
    FROM live l WHERE l.execution_id = $2 AND l.tenant_id = $1
  ) AS live, (
    SELECT json_agg(json_build_object('attempt', a.attempt, 'final', a.final, 'jobId', a.job_id, 'version', a.version,
      'kind', a.kind, 'outcome', a.outcome, 'slot', to_ms(a.slot), 'enqueuedAt', to_ms(a.enqueued_at),
      'startedAt', to_ms(a.started_at), 'finishedAt', to_ms(a.finished_at), 'durationMs', a.duration_ms,
      'workerId', a.worker_id, 'httpStatus', a.http_status, 'errorType', a.error_type, 'errorMessage', a.error_message,
      'preview', a.preview, 'deadLetter', a.dead_letter, 'payloadOverride', a.payload_override::text,
      'idempotencyKey', a.idempotency_key, 'retryOf', a.retry_of) ORDER BY a.attempt)
    FROM attempts a WHERE a.execution_id = $2 AND a.tenant_id = $1 AND a.recorded_at >= $3::timestamptz
  ) AS attempts, (
    SELECT r.history_days FROM tenants t JOIN tiers r ON r.tier = t.tier WHERE t.tenant_id = $1
  ) AS history_days`

export const selectVersion = sql('selectVersion')`
  SELECT execution, metadata FROM job_versions WHERE job_id = $1 AND version = $2`

export const selectSkips = sql('selectSkips')`
  SELECT from_slot, to_slot, slot_count, reason FROM skips
  WHERE job_id = $1 AND from_slot <= from_ms($3) AND to_slot >= from_ms($2)
  ORDER BY from_slot DESC LIMIT $4`
