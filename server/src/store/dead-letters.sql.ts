// The statements on dead letters.
import { sql } from '../lib/sql.ts'

export const selectDeadLetters = sql('selectDeadLetters')`
  SELECT execution_id, job_id, job_name, reason, died_at, attempts, errors, payload::text FROM dead_letters
  WHERE tenant_id = $1 AND ($2::uuid IS NULL OR job_id = $2) AND execution_id < $3
  ORDER BY execution_id DESC LIMIT $4`

export const countDeadLetters = sql('countDeadLetters')`
  SELECT count(*) AS total FROM (
    SELECT FROM dead_letters WHERE tenant_id = $1 AND ($2::uuid IS NULL OR job_id = $2) LIMIT $3
  ) d`

export const selectDeadLetter = sql('selectDeadLetter')`
  SELECT execution_id, job_id, job_name, reason, died_at, attempts, errors, payload::text FROM dead_letters
  WHERE tenant_id = $1 AND execution_id = $2`

/** Taken, not read: two redrives of one letter make one execution. */
export const takeDeadLetters = sql('takeDeadLetters')`
  DELETE FROM dead_letters WHERE tenant_id = $1 AND execution_id = ANY ($2::uuid[])
  RETURNING execution_id, job_id, kind, slot, idempotency_key, payload::text`

export const insertRedriven = sql('insertRedriven')`
  INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank,
    payload_override, idempotency_key, retry_of)
  SELECT x.e, j.job_id, j.version, j.tenant_id, 'redrive', CASE v.overlap_policy WHEN 'ALLOW' THEN 'ready' ELSE 'waiting' END,
    $2, x.l, greatest(1, v.priority - $3::int), from_ms(x.s), m.at,
    m.at + greatest(1, v.priority - $3::int) * interval '60 seconds', x.p::json, x.k, x.o
  FROM (SELECT clock_ms() AS at) m
  CROSS JOIN json_to_recordset($1::json) AS x(e uuid, j uuid, l text, s float8, p text, k text, o uuid)
  JOIN jobs j ON j.job_id = x.j
  JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version`

export const discardDeadLetter = sql('discardDeadLetter')`
  DELETE FROM dead_letters WHERE tenant_id = $1 AND execution_id = $2`

export const selectDeadLetterDepth = sql('selectDeadLetterDepth')`
  SELECT (SELECT count(*) FROM (SELECT FROM dead_letters LIMIT $1) d) AS count,
    (SELECT min(died_at) FROM dead_letters) AS oldest_at`
