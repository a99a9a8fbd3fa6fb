// The statements of a worker that does not know the fate of a claim or a finish: ask which attempts are its own, and hand
// unknown claims back.
import { fragment, sql } from '../../lib/sql.ts'
import { atRest, identityOfHeld, originOfHeld, queuedOfHeld, takePositions } from '../sql/ending.ts'
import { insertAttempts, insertLive } from '../sql/insert.ts'
import { attemptItem } from './items.ts'

// A row written by a reclaim is not ours; an execution in state awaiting was reported so by us. Two days: longer than
// any outage for which a worker keeps its results.
export const findOwn = sql('findOwn')`
  SELECT x.execution_id, coalesce((
      SELECT 'recorded' FROM attempts a
      WHERE a.job_id = x.job_id AND a.execution_id = x.execution_id AND a.attempt = x.attempt
        AND a.worker_id = $1 AND a.outcome <> 'lost' AND a.recorded_at > now() - interval '2 days' LIMIT 1
    ), (
      SELECT CASE WHEN l.worker_id = $1 THEN 'held' ELSE 'recorded' END FROM live l
      WHERE l.execution_id = x.execution_id
        AND (l.worker_id = $1 OR (l.caller_id = $1 AND l.attempt = x.attempt)) LIMIT 1
    )) AS status
  FROM (
    SELECT ${attemptItem.named(fragment`x`)} FROM json_to_recordset($2::json) AS x(${attemptItem.columns})
  ) x`

/** The record of a cancelled attempt (h) that worker $1 never started. */
const cancelledUnstarted = {
  recorded_at: fragment`m.at`,
  finished_at: fragment`m.at`,
  final: fragment`true`,
  outcome: fragment`'cancelled'`,
  worker_id: fragment`$1`,
  error_type: fragment`'CANCELLED'`,
}

// $2: executions that the worker knows; a batch with some of these stays, reduced to them. An execution that was
// cancelled in the meantime is not handed back: it ends here, and is recorded as not started.
export const returnBatches = sql('returnBatches')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), report AS MATERIALIZED (
    SELECT x.*, b.batch_id, b.fence, b.worker_id
    FROM batches b
    CROSS JOIN LATERAL (
      SELECT execution_at(b.batch_id, y.position) AS execution_id, 1 AS attempt, y.position
      FROM unnest(b.positions) AS y(position)
    ) x
    WHERE b.worker_id = $1 AND x.execution_id NOT IN (SELECT y FROM unnest($2::uuid[]) AS y)
  ), ${takePositions(fragment`b.worker_id = $1`)}, recorded AS (
    ${insertAttempts(
      {
        ...identityOfHeld,
        ...cancelledUnstarted,
        attempt: fragment`1`,
        error_message: fragment`h.cancel`,
        payload_override: fragment`h.payload`,
      },
      fragment`
        FROM held h
        CROSS JOIN moment m
        WHERE h.cancel IS NOT NULL`,
    )}
  )
  ${insertLive(
    {
      ...identityOfHeld,
      ...queuedOfHeld,
      state: fragment`'ready'`,
      fence: fragment`1`,
      payload_override: fragment`h.payload`,
    },
    fragment`
      FROM held h
      WHERE h.cancel IS NULL`,
  )}`

export const returnLive = sql('returnLive')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), held AS MATERIALIZED (
    SELECT * FROM live
    WHERE worker_id = $1 AND execution_id <> ALL ($2::uuid[])
    ORDER BY execution_id FOR UPDATE
  ), recorded AS (
    ${insertAttempts(
      {
        ...identityOfHeld,
        ...originOfHeld,
        ...cancelledUnstarted,
        attempt: fragment`h.attempt`,
        error_message: fragment`h.cancel_message`,
      },
      fragment`
        FROM held h
        CROSS JOIN moment m
        WHERE h.cancelled_at IS NOT NULL`,
    )}
  ), ended AS (
    DELETE FROM live l USING held h WHERE l.execution_id = h.execution_id AND h.cancelled_at IS NOT NULL
  )
  UPDATE live l
  SET state = 'ready', attempt = l.attempt - 1, ${atRest}
  FROM held h
  WHERE l.execution_id = h.execution_id AND h.cancelled_at IS NULL`
