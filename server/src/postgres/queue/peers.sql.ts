// The statements that compare a worker with the others like it.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'
import { waitingOn } from '../sql/fragments.ts'

/** Of a worker (w): it claims, and has beaten within $1 ms. */
const claims = fragment`
  w.status = 'ACTIVE' AND w.beat_at >= clock_timestamp() - $1 * interval '1 millisecond'`

/**
 * $2 the worker, $3 how many. The next ones by id, so that in a large fleet each worker looks at others. `isAlike`: whether a
 * worker (w) counts for the one that asks (own).
 */
const othersLike = (isAlike: Fragment): Fragment => fragment`
  SELECT w.worker_id
  FROM workers own
  JOIN workers w ON w.worker_id <> own.worker_id AND ${isAlike}
  WHERE own.worker_id = $2 AND ${claims}
  ORDER BY w.worker_id < own.worker_id, w.worker_id
  LIMIT $3`

export const selectPeers = sql('selectPeers')`${othersLike(fragment`
  w.tenant_id IS NOT DISTINCT FROM own.tenant_id
    AND w.executors = own.executors
    AND w.handlers = own.handlers
    AND w.labels = own.labels`)}`

/** Labels say nothing about calls: each of these can make them all. */
export const selectCallers = sql('selectCallers')`${othersLike(fragment`
  w.tenant_id IS NULL
    AND own.tenant_id IS NULL
    AND w.executors = own.executors
    AND own.executors @> ARRAY['http']`)}`

// $2 workers, $3 how many executions of each are counted, $4 routes, $5 how many waiting executions are counted. Every
// count ends early: the cost does not grow with the queue. Without peers nothing is counted.
export const measurePeers = sql('measurePeers')`
  WITH peer AS MATERIALIZED (
    SELECT least($3::int, l.count + b.count)::int AS held
    FROM workers w
    CROSS JOIN LATERAL (
      SELECT count(*) FROM (SELECT FROM live l WHERE l.worker_id = w.worker_id LIMIT $3) l
    ) l
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(b.size), 0) AS count FROM (
        SELECT cardinality(b.positions) AS size FROM batches b WHERE b.worker_id = w.worker_id LIMIT $3
      ) b
    ) b
    WHERE w.worker_id = ANY ($2::uuid[]) AND ${claims} AND l.count + b.count < w.capacity
  )
  SELECT coalesce(array_agg(p.held), '{}') AS held,
    CASE WHEN EXISTS (SELECT FROM peer) THEN ${waitingOn(fragment`$4::text[]`, fragment`$5::int`)} ELSE 0 END AS waiting
  FROM peer p`

// $1 tenants, $2 workers that are left out, $3 the one of them that asks, $4 how many awaited executions of each tenant are
// counted. Workers hold no more than their capacity. The batches of our own workers are left out: executions leave them
// after 200 ms. A worker of a tenant holds executions of this tenant alone.
export const countRunning = sql('countRunning')`
  WITH holder AS MATERIALIZED (
    SELECT w.worker_id, w.tenant_id AS owner_id,
      CASE WHEN w.tenant_id IS NOT NULL THEN 'own' WHEN 'http' = ANY (w.executors) THEN 'calls'
        ELSE 'commands' END AS class
    FROM workers w
    WHERE (w.tenant_id IS NULL OR w.tenant_id = ANY ($1::uuid[])) AND w.worker_id <> ALL ($2::uuid[])
  ), running AS (
    SELECT l.tenant_id, h.class, l.count
    FROM holder h
    CROSS JOIN LATERAL (
      SELECT l.tenant_id, count(*) AS count
      FROM live l
      WHERE l.worker_id = h.worker_id AND l.tenant_id = ANY ($1::uuid[])
      GROUP BY l.tenant_id
    ) l
    UNION ALL
    SELECT h.owner_id, h.class, b.count
    FROM holder h
    CROSS JOIN LATERAL (
      SELECT sum(cardinality(b.positions)) AS count FROM batches b WHERE b.worker_id = h.worker_id
    ) b
    WHERE h.owner_id IS NOT NULL AND b.count > 0
    UNION ALL
    SELECT t.tenant_id, CASE WHEN a.caller_id = $3 THEN 'here' ELSE 'calls' END, a.count
    FROM unnest($1::uuid[]) AS t(tenant_id)
    CROSS JOIN LATERAL (
      SELECT a.caller_id, count(*) AS count
      FROM (
        SELECT l.caller_id FROM live l WHERE l.tenant_id = t.tenant_id AND l.state = 'awaiting' LIMIT $4
      ) a
      GROUP BY a.caller_id
    ) a
    WHERE a.caller_id IS NULL OR a.caller_id = $3 OR a.caller_id <> ALL ($2::uuid[])
  )
  SELECT r.tenant_id,
    coalesce(sum(r.count) FILTER (WHERE r.class = 'calls'), 0)::int AS calls,
    coalesce(sum(r.count) FILTER (WHERE r.class = 'commands'), 0)::int AS commands,
    coalesce(sum(r.count) FILTER (WHERE r.class = 'own'), 0)::int AS own,
    coalesce(sum(r.count) FILTER (WHERE r.class = 'here'), 0)::int AS awaited_here
  FROM running r
  GROUP BY r.tenant_id`
