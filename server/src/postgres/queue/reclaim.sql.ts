// The statements that reclaim the executions of a dead worker: each is recorded as lost and runs elsewhere, or ends.
import { fixedRoutes } from '../../domain/executors/list.ts'
import { type Fragment, fragment, literals, sql } from '../../lib/sql.ts'
import {
  atRest,
  errorOf,
  identityOfHeld,
  lettersOfLive,
  originOfHeld,
  ownPayloads,
  queuedOfHeld,
} from '../sql/ending.ts'
import { suspect } from '../sql/fragments.ts'
import { columnsOf, insertAttempts, insertLive } from '../sql/insert.ts'

// An execution lost twice may have killed its workers: it waits apart from others, one per worker. An HTTP call kills
// no worker, and a single loss is no reason: many innocent executions would run one after the other.
const harmless = literals(fixedRoutes(false))
const hostAfterLoss = fragment`
  CASE WHEN l.route IN (${harmless}) OR l.losses = 0 THEN l.host ELSE ${suspect} END`

/** A claim in flight holds a key-share lock on this row, so it is seen or it fails. */
export const lockSilentWorker = sql('lockSilentWorker')`
  SELECT worker_id FROM workers WHERE worker_id = $1 AND beats = $2 FOR UPDATE`

/** The record of an attempt (h) that was lost with its worker ($1), or cancelled before. $2: the message of a loss. */
const lostWith = (cancelMessage: Fragment) => ({
  ...identityOfHeld,
  recorded_at: fragment`m.at`,
  outcome: fragment`CASE WHEN ${cancelMessage} IS NULL THEN 'lost' ELSE 'cancelled' END`,
  finished_at: fragment`m.at`,
  worker_id: fragment`$1`,
  error_type: fragment`CASE WHEN ${cancelMessage} IS NULL THEN 'WORKER_LOST' ELSE 'CANCELLED' END`,
  error_message: fragment`coalesce(${cancelMessage}, $2)`,
})

/** The attempts that a reclaim recorded, for events and metrics. `cancelled`: null for a loss. */
const settledColumns = (attempt: Fragment, final: Fragment, cancelled: Fragment): Fragment => fragment`
  SELECT h.execution_id, h.kind, h.route, ${attempt} AS attempt, h.enqueued_at, m.at AS recorded_at, ${final} AS final,
    CASE WHEN ${cancelled} IS NULL THEN 'lost' ELSE 'cancelled' END AS outcome
  FROM held h
  CROSS JOIN moment m`

export const reclaimBatches = sql('reclaimBatches')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), locked AS MATERIALIZED (
    SELECT batch_id FROM batches WHERE worker_id = $1 ORDER BY batch_id FOR UPDATE
  ), gone AS (
    DELETE FROM batches WHERE batch_id = ANY (ARRAY(SELECT batch_id FROM locked)) RETURNING *
  ), held AS MATERIALIZED (
    SELECT g.route, g.lane, g.priority, g.enqueued_at, g.rank, g.claimed_at,
      execution_at(g.batch_id, u.position) AS execution_id, u.job_id, u.version, from_ms(u.slot_ms) AS slot,
        j.tenant_id,
      g.cancels ->> u.position::text AS cancel, g.kind, u.payload
    FROM gone g
    CROSS JOIN LATERAL unnest(g.positions, g.job_ids, g.versions, g.slots_ms, ${ownPayloads(fragment`g`)})
      AS u(position, job_id, version, slot_ms, payload)
    JOIN jobs j ON j.job_id = u.job_id
  ), recorded AS (
    ${insertAttempts(
      {
        ...lostWith(fragment`h.cancel`),
        attempt: fragment`1`,
        final: fragment`h.cancel IS NOT NULL`,
        started_at: fragment`h.claimed_at`,
        payload_override: fragment`h.payload`,
      },
      fragment`
        FROM held h
        CROSS JOIN moment m`,
    )}
  ), returned AS (
    ${insertLive(
      {
        ...identityOfHeld,
        ...queuedOfHeld,
        state: fragment`'ready'`,
        fence: fragment`1`,
        attempt: fragment`1`,
        losses: fragment`1`,
        payload_override: fragment`h.payload`,
      },
      fragment`
        FROM held h
        WHERE h.cancel IS NULL`,
    )}
  )
  ${settledColumns(fragment`1`, fragment`h.cancel IS NOT NULL`, fragment`h.cancel`)}`

export const reclaimLive = sql('reclaimLive')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), held AS MATERIALIZED (
    SELECT l.*, l.cancelled_at IS NULL AND l.losses + 1 >= $3 AS dead, ${hostAfterLoss} AS host_then
    FROM live l
    WHERE l.worker_id = $1
    ORDER BY l.execution_id FOR UPDATE
  ), recorded AS (
    ${insertAttempts(
      {
        ...lostWith(fragment`h.cancel_message`),
        ...originOfHeld,
        ...columnsOf(fragment`h`, 'attempt', 'started_at'),
        final: fragment`h.dead OR h.cancelled_at IS NOT NULL`,
        dead_letter: fragment`h.dead`,
      },
      fragment`
        FROM held h
        CROSS JOIN moment m`,
    )}
  ), ended AS (
    DELETE FROM live l USING held h
    WHERE l.execution_id = h.execution_id AND (h.dead OR h.cancelled_at IS NOT NULL)
  ), died AS (
    ${lettersOfLive({
      reason: fragment`'WORKER_LOST'`,
      last: errorOf(
        fragment`h.attempt`,
        fragment`to_ms(m.at)`,
        fragment`'type', 'WORKER_LOST', 'message', $2::text, 'httpStatus', NULL`,
      ),
      died: fragment`h.dead`,
    })}
  ), returned AS (
    UPDATE live l
    SET state = 'ready', losses = l.losses + 1, host = h.host_then, ${atRest}
    FROM held h
    WHERE l.execution_id = h.execution_id AND NOT h.dead AND h.cancelled_at IS NULL
  )
  ${settledColumns(fragment`h.attempt`, fragment`h.dead OR h.cancelled_at IS NOT NULL`, fragment`h.cancelled_at`)}`
