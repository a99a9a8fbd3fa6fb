// The executions of a job that have not ended.
import { fragment, sql } from '../../lib/sql.ts'

const batchState = fragment`CASE WHEN b.worker_id IS NULL THEN 'ready' ELSE 'running' END`

const liveColumns = fragment`
  l.execution_id, l.kind, l.slot, l.state, l.attempt, l.cancelled_at IS NOT NULL, l.enqueued_at,
  l.started_at, l.ready_at, l.host, l.concurrency_key, l.key_limit, l.rank`

// Unended executions. $1 job, $2 tenant, $3 how many to return, $4 where counting stops, $5 rows of live to read, and
// as many blocked ones, which are read separately so that they hide no others.
export const selectUnderWay = sql('selectUnderWay')`
  WITH unended AS MATERIALIZED (
    (
      SELECT execution_at(b.batch_id, batched.position) AS execution_id, b.kind,
        from_ms(batched.slot_ms) AS slot, ${batchState} AS state,
        CASE WHEN b.worker_id IS NULL THEN 0 ELSE 1 END AS attempt,
        coalesce(b.cancels ? batched.position::text, false) AS cancelled, b.enqueued_at,
        b.claimed_at AS started_at, NULL::timestamptz AS ready_at, NULL::text AS host,
        NULL::text AS concurrency_key, NULL::int AS key_limit, b.rank
      FROM batches b
      CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.slots_ms) AS batched(position, job_id, slot_ms)
      WHERE b.job_ids @> ARRAY[$1::uuid] AND batched.job_id = $1 LIMIT $4
    )
    UNION ALL
    (
      SELECT ${liveColumns}
      FROM live l
      WHERE l.job_id = $1 AND l.state <> 'blocked'
      ORDER BY l.execution_id LIMIT $5
    )
    UNION ALL
    (
      SELECT ${liveColumns}
      FROM live l
      WHERE l.job_id = $1 AND l.state = 'blocked'
      ORDER BY l.execution_id LIMIT $5
    )
  )
  SELECT catchup.from_slot AS owed_from, catchup.to_slot AS owed_to,
    (
      SELECT count(*) FROM (SELECT FROM unended WHERE state NOT IN ('waiting', 'blocked') LIMIT $4) let_go
    ) AS let_go,
    listed.*, (
      SELECT count(*)
      FROM live other
      WHERE other.tenant_id = $2
        AND other.concurrency_key = listed.concurrency_key
        AND other.state <> 'waiting'
    ) AS held
  FROM jobs j
  LEFT JOIN catchups catchup ON catchup.job_id = j.job_id AND catchup.from_slot <= catchup.to_slot
  LEFT JOIN LATERAL (
    SELECT array_position(
        ARRAY['running', 'awaiting', 'retrying', 'ready', 'waiting', 'blocked'], unended.state
      ) AS urgency,
      unended.*
    FROM unended
    ORDER BY urgency, unended.rank, unended.execution_id LIMIT $3
  ) listed ON true
  WHERE j.job_id = $1 AND j.tenant_id = $2
  ORDER BY listed.urgency, listed.rank, listed.execution_id`
