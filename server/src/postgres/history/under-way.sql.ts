// The executions of a job that have not ended.
import { fragment, sql } from '../../lib/sql.ts'

const batchState = fragment`CASE WHEN b.worker_id IS NULL THEN 'ready' ELSE 'running' END`

const liveColumns = fragment`
  l.execution_id, l.kind, l.slot, l.state, l.attempt, l.cancelled_at IS NOT NULL, l.enqueued_at, l.started_at, l.ready_at,
  l.host, l.concurrency_key, l.key_limit, l.rank`

// Unended executions. $1 job, $2 tenant, $3 how many to return, $4 where counting stops, $5 rows of live to read, and
// as many blocked ones, which are read separately so that they hide no others.
export const selectUnderWay = sql('selectUnderWay')`
  WITH unended AS MATERIALIZED (
    (SELECT execution_at(b.batch_id, u.place) AS execution_id, b.kind, from_ms(u.slot_ms) AS slot,
      ${batchState} AS state, CASE WHEN b.worker_id IS NULL THEN 0 ELSE 1 END AS attempt,
      coalesce(b.cancels ? u.place::text, false) AS cancelled, b.enqueued_at, b.claimed_at AS started_at,
      NULL::timestamptz AS ready_at, NULL::text AS host, NULL::text AS concurrency_key, NULL::int AS key_limit, b.rank
    FROM batches b CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.slots_ms) AS u(place, job_id, slot_ms)
    WHERE b.job_ids @> ARRAY[$1::uuid] AND u.job_id = $1 LIMIT $4)
    UNION ALL
    (SELECT ${liveColumns} FROM live l WHERE l.job_id = $1 AND l.state <> 'blocked' ORDER BY l.execution_id LIMIT $5)
    UNION ALL
    (SELECT ${liveColumns} FROM live l WHERE l.job_id = $1 AND l.state = 'blocked' ORDER BY l.execution_id LIMIT $5)
  )
  SELECT c.from_slot AS owed_from, c.to_slot AS owed_to, (
      SELECT count(*) FROM (SELECT FROM unended WHERE state NOT IN ('waiting', 'blocked') LIMIT $4) u
    ) AS let_go, x.*, (
      SELECT count(*) FROM live h
      WHERE h.tenant_id = $2 AND h.concurrency_key = x.concurrency_key AND h.state <> 'waiting'
    ) AS held
  FROM jobs j LEFT JOIN catchups c ON c.job_id = j.job_id
  LEFT JOIN LATERAL (
    SELECT array_position(ARRAY['running', 'awaiting', 'retrying', 'ready', 'waiting', 'blocked'], u.state) AS place, u.*
    FROM unended u ORDER BY place, u.rank, u.execution_id LIMIT $3
  ) x ON true
  WHERE j.job_id = $1 AND j.tenant_id = $2 ORDER BY x.place, x.rank, x.execution_id`
