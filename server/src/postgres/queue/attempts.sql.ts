// The statements on attempts under way, for those who run them outside our own workers. An execution is in a claimed
// batch or in `live`; what leaves one goes to the other, never back, so batches are always asked first.
import { fragment, sql } from '../../lib/sql.ts'
import { endingFields, endLive, endPlaces, leaveRunning, takePlaces } from '../sql/ending.ts'

export const selectHeld = sql('selectHeld')`
  SELECT x.e AS execution_id, h.* FROM (SELECT DISTINCT e FROM unnest($1::uuid[]) AS x(e)) x CROSS JOIN LATERAL (
    SELECT l.tenant_id, l.job_id, l.version, l.kind, l.slot, l.attempt, l.losses, l.fence, l.worker_id, l.started_at,
      l.total_deadline, l.cancelled_at IS NOT NULL AS cancelled, l.checkpoint::text AS checkpoint
    FROM live l WHERE l.execution_id = x.e AND l.state IN ('running', 'awaiting')
    UNION ALL
    SELECT j.tenant_id, j.job_id, b.versions[i.nth], b.kind, from_ms(b.slots_ms[i.nth]), 1, 0, b.fence, b.worker_id,
      b.claimed_at, NULL, coalesce(b.cancels ? i.place::text, false), NULL
    FROM batches b
    CROSS JOIN LATERAL (SELECT get_byte(uuid_send(x.e), 15) AS place) p
    CROSS JOIN LATERAL (SELECT p.place, array_position(b.positions, p.place::smallint) AS nth) i
    JOIN jobs j ON j.job_id = b.job_ids[i.nth]
    WHERE b.batch_id = batch_of(x.e) AND b.worker_id IS NOT NULL AND i.nth IS NOT NULL
    LIMIT 1
  ) h`

const placeOf = fragment`batch_of(x.e) AS b, get_byte(uuid_send(x.e), 15) AS p`

// num_nonnulls, not IS NOT NULL: the planner would read the whole index of what is held for it.
export const reportBatched = sql('reportBatched')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), report AS MATERIALIZED (
    SELECT x.*, ${placeOf} FROM json_to_recordset($1::json) AS x(e uuid, n int, f int, u uuid, ${endingFields})
  ), ${takePlaces(fragment`num_nonnulls(b.worker_id) = 1`)}, ${endPlaces}
  SELECT r.e AS id, 'missing' AS what FROM report r WHERE NOT EXISTS (SELECT FROM held h WHERE h.e = r.e)
  UNION ALL SELECT h.e, 'cancelled' FROM held h WHERE h.cancel IS NOT NULL`

/** The rest, in a statement after it: what left its batch meanwhile is here. */
export const reportLive = endLive(
  'reportLive',
  fragment`
    l.state IN ('running', 'awaiting') AND l.fence = x.f AND l.attempt = x.n AND (x.u IS NULL OR l.worker_id = x.u)`,
)

// What was said (o) is on record, or that somebody had cancelled it; what a time-out or a reclaim wrote is neither. Cancelled
// between two attempts, an execution has a record of that under the number of the last one, which had ended otherwise.
export const selectRecorded = sql('selectRecorded')`
  SELECT x.e AS execution_id FROM json_to_recordset($1::json) AS x(e uuid, n int, j uuid, u uuid, o text)
  CROSS JOIN LATERAL (
    SELECT bool_and(a.outcome = 'cancelled' OR a.outcome = x.o) AS is_said FROM attempts a
    WHERE a.job_id = x.j AND a.execution_id = x.e AND a.attempt = x.n AND (x.u IS NULL OR a.worker_id = x.u)
      AND a.recorded_at > now() - interval '2 days'
  ) r WHERE r.is_said`

/** The workers that hold the batches of these executions, locked before them, as reclaim does. */
export const lockHolders = sql('lockHolders')`
  SELECT w.worker_id FROM workers w WHERE w.worker_id = ANY (ARRAY(
    SELECT b.worker_id FROM batches b
    WHERE b.batch_id = ANY (ARRAY(SELECT DISTINCT batch_of(e) FROM unnest($1::uuid[]) AS x(e)))))
  ORDER BY w.worker_id FOR KEY SHARE`

const notes = fragment`
  json_to_recordset($1::json) AS x(e uuid, n int, f int, u uuid, alive boolean, s float8, progress float8, said text,
    checkpoint text)`
/** Whether the attempt itself (x) has said something. */
const isSaid = fragment`num_nonnulls(x.progress, x.said, x.checkpoint) > 0`

// $2: of batches that these workers hold. What is in a batch has no heartbeat timeout.
export const noteBatched = sql('noteBatched')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), report AS MATERIALIZED (
    SELECT x.*, ${isSaid} AS is_said, ${placeOf} FROM ${notes}
  ), ${takePlaces(fragment`b.worker_id = ANY ($2::uuid[])`)}
  ${leaveRunning(fragment`coalesce(from_ms(h.s), m.at)`)}
  RETURNING execution_id, cancelled_at IS NOT NULL AS cancelled`

// Rows are written, and locked, only where something is to be kept: a worker that beats for all it holds writes nothing.
export const noteLive = sql('noteLive')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), seen AS MATERIALIZED (
    SELECT x.*, l.cancelled_at IS NOT NULL AS was_cancelled, ${isSaid} OR (x.alive AND l.silent_at IS NOT NULL)
      OR (x.s IS NOT NULL AND l.started_at IS NULL) AS is_kept
    FROM ${notes} CROSS JOIN LATERAL (
      SELECT * FROM live l WHERE l.execution_id = x.e AND l.state IN ('running', 'awaiting') AND l.fence = x.f
        AND l.attempt = x.n AND (x.u IS NULL OR l.worker_id = x.u) LIMIT 1
    ) l
  ), locked AS MATERIALIZED (
    SELECT l.execution_id, l.cancelled_at IS NOT NULL AS cancelled, x.*
    FROM live l JOIN seen x ON x.e = l.execution_id AND x.is_kept
    WHERE l.state IN ('running', 'awaiting') AND l.fence = x.f AND l.attempt = x.n AND (x.u IS NULL OR l.worker_id = x.u)
    ORDER BY l.execution_id FOR UPDATE OF l
  ), kept AS (
    UPDATE live l SET started_at = coalesce(l.started_at, from_ms(x.s)),
      heard_at = CASE WHEN ${isSaid} OR (x.alive AND l.silent_at IS NOT NULL) THEN m.at ELSE l.heard_at END,
      silent_at = CASE WHEN x.alive AND l.silent_at IS NOT NULL THEN (
        SELECT m.at + v.heartbeat_timeout_seconds * interval '1 second' FROM job_versions v
        WHERE v.job_id = l.job_id AND v.version = l.version LIMIT 1) ELSE l.silent_at END,
      progress = coalesce(x.progress, l.progress), progress_text = coalesce(x.said, l.progress_text),
      checkpoint = coalesce(x.checkpoint::json, l.checkpoint)
    FROM locked x CROSS JOIN moment m WHERE l.execution_id = x.e
  )
  SELECT x.e AS execution_id, coalesce(k.cancelled, x.was_cancelled) AS cancelled
  FROM seen x LEFT JOIN locked k ON k.e = x.e WHERE NOT x.is_kept OR k.e IS NOT NULL`
