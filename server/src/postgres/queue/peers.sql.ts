// The statements that compare a worker with the others like it.
import { fragment, sql } from '../../lib/sql.ts'
import { waitingOn } from '../sql/fragments.ts'

/** Of a worker (w): it claims, and has beaten within $1 ms. */
const claims = fragment`
  w.status = 'ACTIVE' AND w.beat_at >= clock_timestamp() - $1 * interval '1 millisecond'`

// $2 the worker, $3 how many. The next ones by id, so that in a large fleet each worker looks at others.
export const selectPeers = sql('selectPeers')`
  SELECT w.worker_id
  FROM workers own
  JOIN workers w ON w.worker_id <> own.worker_id
    AND w.tenant_id IS NOT DISTINCT FROM own.tenant_id
    AND w.executors = own.executors
    AND w.handlers = own.handlers
    AND w.labels = own.labels
  WHERE own.worker_id = $2 AND ${claims}
  ORDER BY w.worker_id < own.worker_id, w.worker_id
  LIMIT $3`

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
