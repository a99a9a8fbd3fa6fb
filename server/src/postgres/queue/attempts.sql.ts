// The statements on attempts in progress, for callers that run them outside our own workers. An execution is in a
// claimed batch or in `live`; it moves from the batch to `live`, never back, so batches are always queried first.
import { fragment, sql } from '../../lib/sql.ts'
import { endingItem, endLive, endPositions, leaveRunning, markItem, takePositions } from '../sql/ending.ts'
import { recordedItem, updateItem } from './items.ts'

export const selectHeld = sql('selectHeld')`
  SELECT x.execution_id, h.*
  FROM (SELECT DISTINCT execution_id FROM unnest($1::uuid[]) AS x(execution_id)) x
  CROSS JOIN LATERAL (
    SELECT l.tenant_id, l.job_id, l.version, l.kind, l.slot, l.attempt, l.losses, l.fence, l.worker_id,
      l.started_at,
      l.total_deadline, l.cancelled_at IS NOT NULL AS cancelled, l.checkpoint::text AS checkpoint
    FROM live l
    WHERE l.execution_id = x.execution_id AND l.state IN ('running', 'awaiting')
    UNION ALL
    SELECT j.tenant_id, j.job_id, b.versions[i.nth], b.kind, from_ms(b.slots_ms[i.nth]), 1, 0, b.fence,
      b.worker_id,
      b.claimed_at, NULL, coalesce(b.cancels ? i.position::text, false), NULL
    FROM batches b
    CROSS JOIN LATERAL (SELECT get_byte(uuid_send(x.execution_id), 15) AS position) p
    CROSS JOIN LATERAL (SELECT p.position, array_position(b.positions, p.position::smallint) AS nth) i
    JOIN jobs j ON j.job_id = b.job_ids[i.nth]
    WHERE b.batch_id = batch_of(x.execution_id) AND b.worker_id IS NOT NULL AND i.nth IS NOT NULL
    LIMIT 1
  ) h`

/** Where the execution of a report (x.e) is, if it is in a batch. */
const positionOf = fragment`batch_of(x.e) AS batch_id, get_byte(uuid_send(x.e), 15) AS position`

// num_nonnulls, not IS NOT NULL: with that the planner would read the whole index of held batches.
export const reportBatched = sql('reportBatched')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), report AS MATERIALIZED (
    SELECT ${markItem.named(fragment`x`)}, ${endingItem.named(fragment`x`)}, ${positionOf}
    FROM json_to_recordset($1::json) AS x(${markItem.columns}, ${endingItem.columns})
  ), ${takePositions(fragment`num_nonnulls(b.worker_id) = 1`, fragment`${endingItem.of(fragment`r`)},`)},
    ${endPositions}
  SELECT r.execution_id AS id, 'missing' AS what FROM report r
  WHERE NOT EXISTS (SELECT FROM held h WHERE h.execution_id = r.execution_id)
  UNION ALL
  SELECT h.execution_id, 'cancelled' FROM held h WHERE h.cancel IS NOT NULL`

/** The row (l) of the very attempt that is reported (x). */
const isReported = fragment`
  l.state IN ('running', 'awaiting') AND l.fence = x.fence AND l.attempt = x.attempt
  AND (x.worker_id IS NULL OR l.worker_id = x.worker_id)`

/** The remaining reports, in a later statement: executions that left their batch in the meantime are here. */
export const reportLive = endLive('reportLive', isReported)

// True when the reported outcome is on record, or a cancel is; a record written by a time-out or a reclaim is neither. An
// execution cancelled between two attempts has the cancel on record under the number of its last attempt, which had
// ended otherwise.
export const selectRecorded = sql('selectRecorded')`
  SELECT x.execution_id
  FROM (
    SELECT ${recordedItem.named(fragment`x`)} FROM json_to_recordset($1::json) AS x(${recordedItem.columns})
  ) x
  CROSS JOIN LATERAL (
    SELECT bool_and(a.outcome = 'cancelled' OR a.outcome = x.outcome) AS is_said
    FROM attempts a
    WHERE a.job_id = x.job_id AND a.execution_id = x.execution_id AND a.attempt = x.attempt
      AND (x.worker_id IS NULL OR a.worker_id = x.worker_id)
      AND a.recorded_at > now() - interval '2 days'
  ) r
  WHERE r.is_said`

/** The workers that hold the batches of these executions, locked before them, as reclaim does. */
export const lockHolders = sql('lockHolders')`
  SELECT w.worker_id FROM workers w
  WHERE w.worker_id = ANY (ARRAY(
    SELECT b.worker_id FROM batches b
    WHERE b.batch_id = ANY (ARRAY(SELECT DISTINCT batch_of(e) FROM unnest($1::uuid[]) AS x(e)))))
  ORDER BY w.worker_id FOR KEY SHARE`

/** The updates of attempts, under whole names, and whether the attempts sent anything themselves. */
const notes = fragment`
  SELECT ${markItem.named(fragment`x`)}, ${updateItem.named(fragment`x`)},
    num_nonnulls(x.progress, x.said, x.checkpoint) > 0 AS is_said, ${positionOf}
  FROM json_to_recordset($1::json) AS x(${markItem.columns}, ${updateItem.columns})`

// $2: in batches held by these workers. An execution in a batch has no heartbeat timeout.
export const noteBatched = sql('noteBatched')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), report AS MATERIALIZED (${notes}),
  ${takePositions(
    fragment`b.worker_id = ANY ($2::uuid[])`,
    fragment`r.started_ms, r.is_said, r.progress, r.progress_text, r.checkpoint,`,
  )}
  ${leaveRunning(fragment`coalesce(from_ms(h.started_ms), m.at)`)}
  RETURNING execution_id, cancelled_at IS NOT NULL AS cancelled`

// Rows are written, and locked, only where something is to be kept: a worker that beats for all it holds writes nothing.
export const noteLive = sql('noteLive')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), seen AS MATERIALIZED (
    SELECT x.*, l.cancelled_at IS NOT NULL AS was_cancelled,
      x.is_said OR (x.alive AND l.silent_at IS NOT NULL) OR (x.started_ms IS NOT NULL
        AND l.started_at IS NULL)
        AS is_kept
    FROM (${notes}) x
    CROSS JOIN LATERAL (
      SELECT * FROM live l WHERE l.execution_id = x.execution_id AND ${isReported} LIMIT 1
    ) l
  ), locked AS MATERIALIZED (
    SELECT l.cancelled_at IS NOT NULL AS cancelled, x.*
    FROM live l
    JOIN seen x ON x.execution_id = l.execution_id AND x.is_kept
    WHERE ${isReported}
    ORDER BY l.execution_id FOR UPDATE OF l
  ), kept AS (
    UPDATE live l
    SET started_at = coalesce(l.started_at, from_ms(x.started_ms)),
      heard_at = CASE WHEN x.is_said OR (x.alive AND l.silent_at IS NOT NULL) THEN m.at ELSE l.heard_at END,
      silent_at = CASE WHEN x.alive AND l.silent_at IS NOT NULL THEN (
        SELECT m.at + v.heartbeat_timeout_seconds * interval '1 second' FROM job_versions v
        WHERE v.job_id = l.job_id AND v.version = l.version LIMIT 1) ELSE l.silent_at END,
      progress = coalesce(x.progress, l.progress),
      progress_text = coalesce(x.progress_text, l.progress_text),
      checkpoint = coalesce(x.checkpoint::json, l.checkpoint)
    FROM locked x
    CROSS JOIN moment m
    WHERE l.execution_id = x.execution_id
  )
  SELECT x.execution_id, coalesce(k.cancelled, x.was_cancelled) AS cancelled
  FROM seen x
  LEFT JOIN locked k ON k.execution_id = x.execution_id
  WHERE NOT x.is_kept OR k.execution_id IS NOT NULL`
