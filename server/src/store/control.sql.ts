// The statements that repeat executions: a retry, and redrives.
import { sql } from '../lib/sql.ts'

// Unless overlap is allowed it waits, and is let go once nothing of its job is live. $4: the kind.
export const insertRepeats = sql('insertRepeats')`
  INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank,
    payload_override, idempotency_key, retry_of)
  SELECT x.e, d.job_id, d.version, d.tenant_id, $4, CASE d.overlap_policy WHEN 'ALLOW' THEN 'ready' ELSE 'waiting' END,
    $2, x.l, greatest(1, d.priority - $3::int), from_ms(x.s), m.at,
    m.at + greatest(1, d.priority - $3::int) * interval '60 seconds', x.p::json, x.k, x.o
  FROM (SELECT clock_ms() AS at) m
  CROSS JOIN json_to_recordset($1::json) AS x(e uuid, j uuid, l text, s float8, p text, k text, o uuid)
  CROSS JOIN LATERAL (
    SELECT j.job_id, j.version, j.tenant_id, v.overlap_policy, v.priority
    FROM jobs j JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
    WHERE j.job_id = x.j LIMIT 1
  ) d
  RETURNING enqueued_at`
