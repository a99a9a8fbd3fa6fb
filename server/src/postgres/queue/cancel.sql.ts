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
  recorded_at: fragment`m.at`,
  finished_at: fragment`m.at`,
  final: fragment`true`,
  outcome: fragment`'cancelled'`,
  error_type: fragment`'CANCELLED'`,
}

// $2: whether running executions are cancelled too.
// num_nulls, not IS NULL: for IS NULL the planner would read the whole index of waiting batches.
const cancelBatched = (name: string, part: { batches: Fragment; goes: Fragment; message: Fragment }) => sql(
  name,
)`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), batch AS MATERIALIZED (
    SELECT * FROM batches b
    WHERE b.batch_id = ANY (ARRAY(${part.batches})) AND ($2 OR num_nulls(b.worker_id) = 1)
    ORDER BY b.batch_id FOR UPDATE
  ), position AS MATERIALIZED (
    SELECT b.batch_id, b.enqueued_at, b.kind, b.route, b.worker_id IS NOT NULL AS runs, u.*, ${part.goes} AS goes,
      ${part.message} AS message
    FROM batch b
    CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.versions, b.slots_ms, ${ownPayloads(fragment`b`)})
      WITH ORDINALITY AS u(position, job_id, version, slot_ms, payload, nth)
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
    SELECT batch_id, jsonb_object_agg(position, message) AS cancels FROM position WHERE goes AND runs
      GROUP BY batch_id
  ), kept AS (
    UPDATE batches b SET positions = r.positions, job_ids = r.job_ids, versions = r.versions,
      slots_ms = r.slots_ms
    FROM rest r WHERE b.batch_id = r.batch_id AND b.batch_id = ANY (ARRAY(SELECT batch_id FROM position
      WHERE goes))
  ), emptied AS (
    DELETE FROM batches b WHERE b.batch_id = ANY (ARRAY(
      SELECT batch_id FROM position WHERE goes AND NOT runs EXCEPT SELECT batch_id FROM rest))
  ), flagged AS (
    -- The first message stands.
    UPDATE batches b SET cancels = f.cancels || coalesce(b.cancels, '{}')
    FROM flag f WHERE b.batch_id = f.batch_id AND b.batch_id = ANY (ARRAY(SELECT batch_id FROM flag))
  ), recorded AS (
    ${insertAttempts(
      {
        ...columnsOf(fragment`p`, 'job_id', 'version', 'kind', 'enqueued_at'),
        ...cancelledNow,
        tenant_id: fragment`j.tenant_id`,
        execution_id: fragment`execution_at(p.batch_id, p.position)`,
        attempt: fragment`0`,
        slot: fragment`from_ms(p.slot_ms)`,
        error_message: fragment`p.message`,
        payload_override: fragment`p.payload`,
      },
      fragment`
        FROM position p
        CROSS JOIN moment m
        JOIN jobs j ON j.job_id = p.job_id
        WHERE p.goes AND NOT p.runs`,
    )}
  )
  SELECT execution_at(p.batch_id, p.position) AS execution_id, p.runs, p.kind, p.route, 0 AS attempt, p.enqueued_at,
    m.at AS recorded_at
  FROM position p CROSS JOIN moment m WHERE p.goes`

/** $1 a message; $3 the executions. */
export const cancelBatchedById = cancelBatched('cancelBatchedById', {
  batches: fragment`SELECT DISTINCT batch_of(x) FROM unnest($3::uuid[]) AS x`,
  goes: fragment`execution_at(b.batch_id, u.position) = ANY ($3::uuid[])`,
  message: fragment`$1::text`,
})

const jobs = fragment`
  (SELECT ${cancelItem.named(fragment`x`)} FROM json_to_recordset($1::json) AS x(${cancelItem.columns})) t`

/** $1 jobs, each with a message. */
export const cancelBatchedOfJobs = cancelBatched('cancelBatchedOfJobs', {
  batches: fragment`
    SELECT x.batch_id FROM ${jobs}
    CROSS JOIN LATERAL (SELECT y.batch_id FROM batches y
      WHERE y.job_ids @> ARRAY[t.job_id] AND NOT ${isLeftBehind(fragment`y.route`)}) x`,
  goes: fragment`u.job_id = ANY (ARRAY(SELECT t.job_id FROM ${jobs}))`,
  message: fragment`(SELECT t.message FROM ${jobs} WHERE t.job_id = u.job_id LIMIT 1)`,
})

/** Includes executions that a target has accepted and will report the end of. */
const runs = fragment`state IN ('running', 'awaiting')`

// $2: whether running executions are cancelled too. An execution that does not stop in time is ended by maintenance.
const cancelLive = (name: string, part: { which: Fragment; message: Fragment }) => sql(name)`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), target AS MATERIALIZED (
    SELECT l.execution_id, l.state, l.cancelled_at, l.kind, l.route, l.attempt, l.enqueued_at FROM live l
    WHERE ${part.which} AND ($2 OR NOT l.${runs}) ORDER BY l.execution_id FOR UPDATE
  ), gone AS (
    DELETE FROM live l WHERE l.execution_id = ANY (ARRAY(SELECT execution_id FROM target WHERE NOT ${runs}))
    RETURNING l.*
  ), flagged AS (
    -- The first message stands.
    UPDATE live l SET cancelled_at = m.at, cancel_message = ${part.message},
      deadline = least(l.deadline, m.at + ${cancelGrace}) FROM moment m
    WHERE l.execution_id = ANY (ARRAY(
      SELECT execution_id FROM target WHERE ${runs} AND cancelled_at IS NULL))
  ), recorded AS (
    ${insertAttempts(
      {
        ...columnsOf(
          fragment`l`,
          'tenant_id',
          'job_id',
          'version',
          'execution_id',
          'attempt',
          'kind',
          'slot',
        ),
        ...columnsOf(fragment`l`, 'enqueued_at', 'payload_override', 'idempotency_key', 'retry_of', 'run_id'),
        ...cancelledNow,
        error_message: part.message,
      },
      fragment`
        FROM gone l
        CROSS JOIN moment m`,
    )}
  )
  SELECT t.execution_id, t.${runs} AS runs, t.kind, t.route, t.attempt, t.enqueued_at, m.at AS recorded_at
  FROM target t CROSS JOIN moment m`

/** $1 a message; $3 the executions. */
export const cancelLiveById = cancelLive('cancelLiveById', {
  which: fragment`l.execution_id = ANY ($3::uuid[])`,
  message: fragment`$1::text`,
})

// Executions that wait for others of their graph run are left to the run: it records skipped for a deleted job.
/** $1 jobs, each with a message; of the waiting executions the listed ones ($3). */
export const cancelLiveOfJobs = cancelLive('cancelLiveOfJobs', {
  which: fragment`
    l.job_id = ANY (ARRAY(SELECT t.job_id FROM ${jobs})) AND l.state <> 'blocked'
    AND (l.state <> 'waiting' OR l.execution_id = ANY ($3::uuid[]))`,
  message: fragment`(SELECT t.message FROM ${jobs} WHERE t.job_id = l.job_id LIMIT 1)`,
})

/** $1 a message; $3 a backfill. */
export const cancelLiveOfOperation = cancelLive('cancelLiveOfOperation', {
  which: fragment`l.operation_id = $3`,
  message: fragment`$1::text`,
})

/** $1 a message; $3 a deleted job: its listed executions ($4), and with $2 the running ones. */
export const cancelLiveOfDeleted = cancelLive('cancelLiveOfDeleted', {
  which: fragment`l.job_id = $3 AND (l.${runs} OR l.execution_id = ANY ($4::uuid[]))`,
  message: fragment`$1::text`,
})

/** Locks all rows that a release writes to, in the order of ids, before it writes to any: $1 executions, $2 jobs. */
export const lockLive = sql('lockLive')`
  SELECT FROM live l WHERE l.execution_id = ANY ($1::uuid[]) OR (
    l.job_id = ANY ($2::uuid[]) AND l.state NOT IN ('waiting', 'blocked'))
  ORDER BY l.execution_id FOR UPDATE`

// Only batches without executions of other jobs: triggers. In mixed batches a job has few executions, which end at once.
/** Puts the batches of a deleted job ($1) out of reach of workers, but for the first $2. */
export const leaveBatches = sql('leaveBatches')`
  UPDATE batches b SET route = ${leftBehind(fragment`b.route`)}
  WHERE b.batch_id = ANY (ARRAY(
    SELECT y.batch_id FROM batches y
    WHERE y.job_ids @> ARRAY[$1::uuid] AND y.job_ids <@ ARRAY[$1::uuid] AND num_nulls(y.worker_id) = 1
      AND NOT ${isLeftBehind(fragment`y.route`)}
    ORDER BY y.batch_id OFFSET $2 FOR UPDATE))`

/** Ends the first $4 batches that a deleted job ($3) left behind. $1 a message. */
export const cancelLeftBatches = cancelBatched('cancelLeftBatches', {
  batches: fragment`
    SELECT y.batch_id FROM batches y
    WHERE y.job_ids @> ARRAY[$3::uuid] AND ${isLeftBehind(fragment`y.route`)} ORDER BY y.batch_id LIMIT $4`,
  goes: fragment`true`,
  message: fragment`$1::text`,
})

/** The executions of a deleted job ($1) to end first, at most $2; with $3 only the waiting ones. */
export const selectToEnd = sql('selectToEnd')`
  SELECT l.execution_id FROM live l
  WHERE l.job_id = $1 AND (l.state = 'waiting' OR NOT $3 AND l.state IN ('ready', 'retrying'))
  ORDER BY l.state = 'waiting', l.execution_id LIMIT $2`

/** The executions of a deleted job ($1) that a worker could start wait for a release, which ends them. */
export const holdLive = sql('holdLive')`
  UPDATE live l SET state = 'waiting', ready_at = NULL, total_deadline = NULL
  WHERE l.job_id = $1 AND l.state IN ('ready', 'retrying')`
