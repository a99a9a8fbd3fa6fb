// The statements that cancel executions. An execution that is not running is removed from its batch or from `live` and
// recorded in the same statement: an execution is in exactly one table. A running execution is only flagged: it ends
// when its worker reports how.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'
import { cancelGrace, ownPayloads } from '../sql/ending.ts'
import { isLeftBehind, leftBehind } from '../sql/fragments.ts'
import { columnsOf, insertAttempts } from '../sql/insert.ts'
import { cancelItem } from './items.ts'

/** The columns of the record of an execution that is cancelled by this statement. */
const cancelledNow = {
  recorded_at: fragment`moment.at`,
  finished_at: fragment`moment.at`,
  final: fragment`true`,
  outcome: fragment`'cancelled'`,
  error_type: fragment`'CANCELLED'`,
}

interface Batched {
  /** A query for the ids of the batches. */
  batches: Fragment
  /** Whether an execution of a batch (`batch`, `entry`) is cancelled. */
  goes: Fragment
  /** For an execution of a batch (`entry`). */
  message: Fragment
}

// $2: whether running executions are cancelled too.
// num_nulls, not IS NULL: for IS NULL the planner would read the whole index of waiting batches.
const cancelBatched = (name: string, part: Batched) => sql(name)`
  WITH moment AS MATERIALIZED (
    SELECT clock_ms() AS at
  ), batch AS MATERIALIZED (
    SELECT * FROM batches
    WHERE batches.batch_id = ANY (ARRAY(${part.batches}))
      AND ($2 OR num_nulls(batches.worker_id) = 1)
    ORDER BY batches.batch_id
    FOR UPDATE
  ), position AS MATERIALIZED (
    SELECT batch.batch_id, batch.enqueued_at, batch.kind, batch.route, batch.worker_id IS NOT NULL AS runs,
      entry.*, ${part.goes} AS goes, ${part.message} AS message
    FROM batch
    CROSS JOIN LATERAL unnest(
      batch.positions, batch.job_ids, batch.versions, batch.slots_ms, ${ownPayloads(fragment`batch`)}
    ) WITH ORDINALITY AS entry(position, job_id, version, slot_ms, payload, nth)
  ), rest AS MATERIALIZED (
    SELECT batch_id,
      array_agg(position ORDER BY nth) AS positions,
      array_agg(job_id ORDER BY nth) AS job_ids,
      array_agg(version ORDER BY nth) AS versions,
      array_agg(slot_ms ORDER BY nth) AS slots_ms
    FROM position
    WHERE NOT goes AND NOT runs
    GROUP BY batch_id
  ), flag AS MATERIALIZED (
    SELECT batch_id, jsonb_object_agg(position, message) AS cancels
    FROM position
    WHERE goes AND runs
    GROUP BY batch_id
  ), kept AS (
    UPDATE batches
    SET positions = rest.positions,
      job_ids = rest.job_ids,
      versions = rest.versions,
      slots_ms = rest.slots_ms
    FROM rest
    WHERE batches.batch_id = rest.batch_id
      AND batches.batch_id = ANY (ARRAY(SELECT batch_id FROM position WHERE goes))
  ), emptied AS (
    DELETE FROM batches
    WHERE batches.batch_id = ANY (ARRAY(
      SELECT batch_id FROM position WHERE goes AND NOT runs
      EXCEPT
      SELECT batch_id FROM rest))
  ), flagged AS (
    -- The first message stands.
    UPDATE batches
    SET cancels = flag.cancels || coalesce(batches.cancels, '{}')
    FROM flag
    WHERE batches.batch_id = flag.batch_id
      AND batches.batch_id = ANY (ARRAY(SELECT batch_id FROM flag))
  ), recorded AS (
    ${insertAttempts(
      {
        ...columnsOf(fragment`cancelled`, 'job_id', 'version', 'kind', 'enqueued_at'),
        ...cancelledNow,
        tenant_id: fragment`jobs.tenant_id`,
        execution_id: fragment`execution_at(cancelled.batch_id, cancelled.position)`,
        attempt: fragment`0`,
        slot: fragment`from_ms(cancelled.slot_ms)`,
        error_message: fragment`cancelled.message`,
        payload_override: fragment`cancelled.payload`,
      },
      fragment`
        FROM position cancelled
        CROSS JOIN moment
        JOIN jobs ON jobs.job_id = cancelled.job_id
        WHERE cancelled.goes AND NOT cancelled.runs`,
    )}
  )
  SELECT execution_at(cancelled.batch_id, cancelled.position) AS execution_id,
    cancelled.runs, cancelled.kind, cancelled.route, 0 AS attempt, cancelled.enqueued_at,
    moment.at AS recorded_at
  FROM position cancelled
  CROSS JOIN moment
  WHERE cancelled.goes`

/** $1 a message; $3 the executions. */
export const cancelBatchedById = cancelBatched('cancelBatchedById', {
  batches: fragment`
    SELECT DISTINCT batch_of(execution_id) FROM unnest($3::uuid[]) AS execution_id`,
  goes: fragment`execution_at(batch.batch_id, entry.position) = ANY ($3::uuid[])`,
  message: fragment`$1::text`,
})

const jobsToCancel = fragment`(
    SELECT ${cancelItem.named(fragment`item`)}
    FROM json_to_recordset($1::json) AS item(${cancelItem.columns})
  ) cancel`
const messageOfJob = (jobId: Fragment): Fragment => fragment`(
    SELECT cancel.message FROM ${jobsToCancel} WHERE cancel.job_id = ${jobId} LIMIT 1)`

/** $1 jobs, each with a message. */
export const cancelBatchedOfJobs = cancelBatched('cancelBatchedOfJobs', {
  batches: fragment`
    SELECT waiting.batch_id
    FROM ${jobsToCancel}
    CROSS JOIN LATERAL (
      SELECT batches.batch_id FROM batches
      WHERE batches.job_ids @> ARRAY[cancel.job_id]
        AND NOT ${isLeftBehind(fragment`batches.route`)}
    ) waiting`,
  goes: fragment`entry.job_id = ANY (ARRAY(SELECT cancel.job_id FROM ${jobsToCancel}))`,
  message: messageOfJob(fragment`entry.job_id`),
})

/** Includes executions that a target has accepted and will report the end of. */
const runs = fragment`state IN ('running', 'awaiting')`

interface Single {
  /** Whether an execution (`live`) is meant. */
  which: Fragment
  /** By the id of its job. */
  message: (jobId: Fragment) => Fragment
}

// $2: whether running executions are cancelled too. An execution that does not stop in time is ended by maintenance.
const cancelLive = (name: string, part: Single) => sql(name)`
  WITH moment AS MATERIALIZED (
    SELECT clock_ms() AS at
  ), target AS MATERIALIZED (
    SELECT live.execution_id, live.state, live.cancelled_at,
      live.kind, live.route, live.attempt, live.enqueued_at
    FROM live
    WHERE ${part.which}
      AND ($2 OR NOT live.${runs})
    ORDER BY live.execution_id
    FOR UPDATE
  ), gone AS (
    DELETE FROM live
    WHERE live.execution_id = ANY (ARRAY(SELECT execution_id FROM target WHERE NOT ${runs}))
    RETURNING live.*
  ), flagged AS (
    -- The first message stands.
    UPDATE live
    SET cancelled_at = moment.at,
      cancel_message = ${part.message(fragment`live.job_id`)},
      deadline = least(live.deadline, moment.at + ${cancelGrace})
    FROM moment
    WHERE live.execution_id = ANY (ARRAY(
      SELECT execution_id FROM target WHERE ${runs} AND cancelled_at IS NULL))
  ), recorded AS (
    ${insertAttempts(
      {
        ...columnsOf(
          fragment`gone`,
          'tenant_id',
          'job_id',
          'version',
          'execution_id',
          'attempt',
          'kind',
          'slot',
        ),
        ...columnsOf(
          fragment`gone`,
          'enqueued_at',
          'payload_override',
          'idempotency_key',
          'retry_of',
          'run_id',
        ),
        ...cancelledNow,
        error_message: part.message(fragment`gone.job_id`),
      },
      fragment`
        FROM gone
        CROSS JOIN moment`,
    )}
  )
  SELECT target.execution_id, target.${runs} AS runs, target.kind, target.route, target.attempt,
    target.enqueued_at, moment.at AS recorded_at
  FROM target
  CROSS JOIN moment`

const oneMessage = (): Fragment => fragment`$1::text`

/** $1 a message; $3 the executions. */
export const cancelLiveById = cancelLive('cancelLiveById', {
  which: fragment`live.execution_id = ANY ($3::uuid[])`,
  message: oneMessage,
})

// Executions that wait for others of their graph run are left to the run: it records skipped for a deleted job.
/** $1 jobs, each with a message; of the waiting executions the listed ones ($3). */
export const cancelLiveOfJobs = cancelLive('cancelLiveOfJobs', {
  which: fragment`
    live.job_id = ANY (ARRAY(SELECT cancel.job_id FROM ${jobsToCancel}))
      AND live.state <> 'blocked'
      AND (live.state <> 'waiting' OR live.execution_id = ANY ($3::uuid[]))`,
  message: messageOfJob,
})

/** $1 a message; $3 a backfill. */
export const cancelLiveOfOperation = cancelLive('cancelLiveOfOperation', {
  which: fragment`live.operation_id = $3`,
  message: oneMessage,
})

/** $1 a message; $3 a deleted job: its listed executions ($4), and with $2 the running ones. */
export const cancelLiveOfDeleted = cancelLive('cancelLiveOfDeleted', {
  which: fragment`
    live.job_id = $3
      AND (live.${runs} OR live.execution_id = ANY ($4::uuid[]))`,
  message: oneMessage,
})

/** Locks all rows that a release writes to, in the order of ids, before it writes to any: $1 executions, $2 jobs. */
export const lockLive = sql('lockLive')`
  SELECT FROM live
  WHERE execution_id = ANY ($1::uuid[])
    OR (job_id = ANY ($2::uuid[]) AND state NOT IN ('waiting', 'blocked'))
  ORDER BY execution_id
  FOR UPDATE`

// Only batches without executions of other jobs: triggers. In mixed batches a job has few executions, which end at once.
/** Puts the batches of a deleted job ($1) out of reach of workers, but for the first $2. */
export const leaveBatches = sql('leaveBatches')`
  UPDATE batches
  SET route = ${leftBehind(fragment`batches.route`)}
  WHERE batches.batch_id = ANY (ARRAY(
    SELECT own.batch_id FROM batches own
    WHERE own.job_ids @> ARRAY[$1::uuid]
      AND own.job_ids <@ ARRAY[$1::uuid]
      AND num_nulls(own.worker_id) = 1
      AND NOT ${isLeftBehind(fragment`own.route`)}
    ORDER BY own.batch_id
    OFFSET $2
    FOR UPDATE))`

/** Ends the first $4 batches that a deleted job ($3) left behind. $1 a message. */
export const cancelLeftBatches = cancelBatched('cancelLeftBatches', {
  batches: fragment`
    SELECT own.batch_id FROM batches own
    WHERE own.job_ids @> ARRAY[$3::uuid]
      AND ${isLeftBehind(fragment`own.route`)}
    ORDER BY own.batch_id
    LIMIT $4`,
  goes: fragment`true`,
  message: fragment`$1::text`,
})

/** The executions of a deleted job ($1) to end first, at most $2; with $3 only the waiting ones. */
export const selectToEnd = sql('selectToEnd')`
  SELECT execution_id FROM live
  WHERE job_id = $1
    AND (state = 'waiting' OR NOT $3 AND state IN ('ready', 'retrying'))
  ORDER BY state = 'waiting', execution_id
  LIMIT $2`

/** The executions of a deleted job ($1) that a worker could start wait for a release, which ends them. */
export const holdLive = sql('holdLive')`
  UPDATE live
  SET state = 'waiting', ready_at = NULL, total_deadline = NULL
  WHERE job_id = $1
    AND state IN ('ready', 'retrying')`
