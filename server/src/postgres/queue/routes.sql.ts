// The statements on routes.
import { fragment, sql } from '../../lib/sql.ts'
import { waitingOn } from '../sql/fragments.ts'

// Distinct routes of each prefix, by skipping through the three indexes of claimable work: the cost grows with the
// number of routes, not with the number of waiting executions. Routes are compared by their bytes, so routes with a
// common prefix are adjacent.
export const selectWaitingRoutes = sql('selectWaitingRoutes')`
  WITH RECURSIVE prefix AS MATERIALIZED (SELECT DISTINCT p COLLATE "C" AS p
    FROM unnest($1::text[]) AS x(p)), found AS (
    SELECT p.p, 0 AS nth, least(
      (SELECT b.route FROM batches b WHERE b.route >= p.p AND b.worker_id IS NULL ORDER BY b.route LIMIT 1),
      (SELECT l.route FROM live l WHERE l.route >= p.p AND l.state = 'ready' AND l.host IS NULL
        ORDER BY l.route LIMIT 1),
      (SELECT l.route FROM live l WHERE l.route >= p.p AND l.state = 'ready' AND l.host IS NOT NULL
        ORDER BY l.route LIMIT 1)) AS route
    FROM prefix p
    UNION ALL
    SELECT o.p, o.nth + 1, least(
      (SELECT b.route FROM batches b WHERE b.route > o.route AND b.worker_id IS NULL
        ORDER BY b.route LIMIT 1),
      (SELECT l.route FROM live l WHERE l.route > o.route AND l.state = 'ready' AND l.host IS NULL
        ORDER BY l.route LIMIT 1),
      (SELECT l.route FROM live l WHERE l.route > o.route AND l.state = 'ready' AND l.host IS NOT NULL
        ORDER BY l.route LIMIT 1))
    FROM found o WHERE starts_with(o.route, o.p) AND o.nth + 1 < $2
  )
  SELECT DISTINCT route FROM found WHERE starts_with(route, p)`

export const countWaiting = sql('countWaiting')`
  SELECT ${waitingOn(fragment`$1::text[]`, fragment`$2::int`)} AS waiting`
