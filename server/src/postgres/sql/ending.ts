// How attempts end in the database: statements of several files, made from the same pieces, so that an end is the same
// whether our worker, an SDK worker, a called target or maintenance reports it.
import { type Fragment, fragment, type Sql, sql } from '../../lib/sql.ts'
import { suspect } from './fragments.ts'
import { columnsOf, type DeadLetterColumns, insertAttempts, insertDeadLetters, insertLive } from './insert.ts'
import { defineItem } from './item.ts'

/**
 * The payloads of the positions of a batch, as an argument of the unnest of its positions: taken apart once. There is one
 * for each position it began with, and positions may have left. (`payloads -> position` would read all of them for each.)
 */
export const ownPayloads = (batch: Fragment): Fragment => fragment`
  CASE WHEN ${batch}.payloads IS NULL THEN NULL
    WHEN json_array_length(${batch}.payloads) = cardinality(${batch}.positions)
    THEN ARRAY(SELECT json_array_elements(${batch}.payloads))
    ELSE ARRAY(
      SELECT e.value FROM json_array_elements(${batch}.payloads) WITH ORDINALITY AS e(value, n)
      JOIN unnest(${batch}.positions) AS p(position) ON e.n = p.position + 1 ORDER BY p.position
    ) END`

/** How an attempt goes on or ends: see `toEndingItem`. `ending`: ended, running, awaiting or unstarted. */
export const endingItem = defineItem({
  ending: ['k', 'text'],
  outcome: ['o', 'text'],
  startedMs: ['s', 'float8'],
  finishedMs: ['z', 'float8'],
  durationMs: ['d', 'int'],
  httpStatus: ['h', 'int'],
  errorType: ['t', 'text'],
  errorMessage: ['m', 'text'],
  preview: ['w', 'text'],
  retryMs: ['a', 'float8'],
  deadReason: ['x', 'text'],
  hostThen: ['c', 'text'],
  deadlineMs: ['g', 'float8'],
  ownLane: ['q', 'boolean'],
  cpuMs: ['y', 'float8'],
  bytesSent: ['i', 'int'],
  bytesReceived: ['r', 'int'],
})

/** The attempt that a report means. `workerId`: null for any holder. */
export const markItem = defineItem({
  executionId: ['e', 'uuid'],
  attempt: ['n', 'int'],
  fence: ['f', 'int'],
  workerId: ['u', 'uuid'],
})

/** A cancelled attempt has this long to stop. */
export const cancelGrace = fragment`interval '30 seconds'`

/** When maintenance ends an attempt that began then, by its version (v): workers keep the time themselves, this is the net. */
export const deadlineAfter = (start: Fragment): Fragment => fragment`
  ${start} + v.timeout_seconds * interval '1 second' + interval '60 seconds'`

/** Clears the columns of a single attempt once it is over; the checkpoint and the time of all attempts stay. */
export const atRest = fragment`
  worker_id = NULL, caller_id = NULL, started_at = NULL, deadline = NULL, silent_at = NULL, heard_at = NULL,
  progress = NULL, progress_text = NULL`

const stays = fragment`h.ending IN ('running', 'awaiting')`

/** The identity of an execution, under the names of its columns, from a held row (h). */
export const identityOfHeld = columnsOf(
  fragment`h`,
  ...(['tenant_id', 'job_id', 'version', 'execution_id', 'kind', 'slot', 'enqueued_at'] as const),
)
/** Where a position of a batch (h) stood in the queue. */
export const queuedOfHeld = columnsOf(fragment`h`, 'route', 'lane', 'priority', 'rank')
/** The columns that only a row of `live` (h) has, and that its records keep. */
export const originOfHeld = columnsOf(
  fragment`h`,
  ...(['payload_override', 'idempotency_key', 'retry_of', 'run_id'] as const),
)

/** An error of a dead letter: `said` has its type, message and HTTP status. */
export const errorOf = (attempt: Fragment, at: Fragment, said: Fragment): Fragment => fragment`
  json_build_object('attempt', ${attempt}, 'at', ${at}, ${said})`

const errorOfHeld = (attempt: Fragment): Fragment =>
  errorOf(
    attempt,
    fragment`h.finished_ms`,
    fragment`'type', h.error_type, 'message', h.error_message, 'httpStatus', h.http_status`,
  )

/** The errors of all attempts on record of an execution (h), and this last one, which is not. */
const errorsWith = (last: Fragment): Fragment => fragment`(
  SELECT json_agg(y.error ORDER BY y.attempt, y.last) FROM (
    SELECT a.attempt, false AS last, ${errorOf(
      fragment`a.attempt`,
      fragment`to_ms(coalesce(a.finished_at, a.recorded_at))`,
      fragment`'type', a.error_type, 'message', a.error_message, 'httpStatus', a.http_status`,
    )} AS error
    FROM attempts a
    WHERE a.job_id = h.job_id AND a.execution_id = h.execution_id
    UNION ALL
    SELECT h.attempt, true, ${last}
  ) y)`

/** The dead letters of executions that are held (h) and died. One that was redriven once waits for a person. */
const writeLetters = (
  letter: Pick<DeadLetterColumns, 'reason' | 'attempts' | 'errors'> &
    Partial<Pick<DeadLetterColumns, 'idempotency_key' | 'run_id'>>,
  { payload, died }: { payload: Fragment; died: Fragment },
): Fragment =>
  insertDeadLetters(
    {
      ...columnsOf(fragment`h`, 'execution_id', 'tenant_id', 'job_id', 'kind', 'slot'),
      ...letter,
      job_name: fragment`v.name`,
      died_at: fragment`m.at`,
      payload: fragment`coalesce(${payload}, v.execution -> 'payload')`,
      redrive_at: fragment`
        CASE WHEN h.kind <> 'redrive'
          THEN m.at + (v.retry_policy ->> 'auto_redrive_after_seconds')::int * interval '1 second' END`,
    },
    fragment`
      FROM held h
      CROSS JOIN moment m
      JOIN job_versions v ON v.job_id = h.job_id AND v.version = h.version
      WHERE ${died}`,
  )

/** The dead letters of rows of `live`. `last`: the error of the last attempt, which is not on record yet. */
export const lettersOfLive = ({
  reason,
  last,
  died,
}: Record<'reason' | 'last' | 'died', Fragment>): Fragment =>
  writeLetters(
    {
      reason,
      attempts: fragment`h.attempt`,
      errors: errorsWith(last),
      ...columnsOf(fragment`h`, 'idempotency_key', 'run_id'),
    },
    { payload: fragment`h.payload_override`, died },
  )

const isDead = fragment`h.dead_reason IS NOT NULL AND h.cancel IS NULL`

/** The record of an attempt that is held (h), as it was reported. Somebody's cancel goes before any report. */
const reportedEnd = {
  ...identityOfHeld,
  ...columnsOf(fragment`h`, 'worker_id', 'http_status', 'preview', 'cpu_ms', 'bytes_sent', 'bytes_received'),
  recorded_at: fragment`m.at`,
  final: fragment`h.retry_ms IS NULL OR h.cancel IS NOT NULL`,
  outcome: fragment`CASE WHEN h.cancel IS NULL THEN h.outcome ELSE 'cancelled' END`,
  finished_at: fragment`coalesce(from_ms(h.finished_ms), m.at)`,
  error_type: fragment`CASE WHEN h.cancel IS NULL THEN h.error_type ELSE 'CANCELLED' END`,
  error_message: fragment`coalesce(h.cancel, h.error_message)`,
  dead_letter: isDead,
}

// Of positions in claimed batches (held), first attempts. One of which nothing was said (ending) goes back to the queue
// as unstarted: nothing vanishes with its batch. Under fence 1 also then, so that a late word of this claim is refused.
export const endPositions = fragment`
  recorded AS (
    ${insertAttempts(
      {
        ...reportedEnd,
        attempt: fragment`1`,
        started_at: fragment`from_ms(h.started_ms)`,
        duration_ms: fragment`h.duration_ms`,
        payload_override: fragment`h.payload`,
      },
      fragment`
        FROM held h
        CROSS JOIN moment m
        WHERE h.ending = 'ended' OR (h.cancel IS NOT NULL AND (${stays}) IS NOT TRUE)`,
    )}
  ), stayed AS (
    ${insertLive(
      {
        ...identityOfHeld,
        ...queuedOfHeld,
        lane: fragment`CASE WHEN h.own_lane THEN h.tenant_id::text ELSE h.lane END`,
        state: fragment`
          CASE h.ending
            WHEN 'ended' THEN 'retrying'
            WHEN 'running' THEN 'running'
            WHEN 'awaiting' THEN 'awaiting'
            ELSE 'ready' END`,
        ready_at: fragment`from_ms(h.retry_ms)`,
        worker_id: fragment`CASE h.ending WHEN 'running' THEN h.worker_id END`,
        caller_id: fragment`CASE h.ending WHEN 'awaiting' THEN h.worker_id END`,
        fence: fragment`1`,
        attempt: fragment`CASE WHEN h.ending IN ('ended', 'running', 'awaiting') THEN 1 ELSE 0 END`,
        losses: fragment`CASE h.outcome WHEN 'lost' THEN 1 ELSE 0 END`,
        host: fragment`h.host_then`,
        started_at: fragment`CASE WHEN ${stays} THEN from_ms(h.started_ms) END`,
        deadline: fragment`
          CASE WHEN ${stays} THEN
            least(from_ms(h.deadline_ms), CASE WHEN h.cancel IS NOT NULL THEN m.at + ${cancelGrace} END) END`,
        cancelled_at: fragment`CASE WHEN h.cancel IS NOT NULL THEN m.at END`,
        cancel_message: fragment`h.cancel`,
        payload_override: fragment`h.payload`,
      },
      fragment`
        FROM held h
        CROSS JOIN moment m
        WHERE CASE WHEN h.cancel IS NULL THEN h.ending IS DISTINCT FROM 'ended' OR h.retry_ms IS NOT NULL
          ELSE ${stays} END`,
    )}
  ), died AS (
    ${writeLetters(
      {
        reason: fragment`h.dead_reason`,
        attempts: fragment`1`,
        errors: fragment`json_build_array(${errorOfHeld(fragment`1`)})`,
      },
      { payload: fragment`h.payload`, died: isDead },
    )}
  )`

// Takes the positions that reports (report: execution_id, attempt, fence, worker_id or null, batch_id, position) name out of
// their batches; the others stay in them, in order and with their flags. `which`: the batches (b) that may be touched;
// `said`: further columns of the reports (r), each with a comma behind it.
export const takePositions = (which: Fragment, said: Fragment = fragment``): Fragment => fragment`
  batch AS MATERIALIZED (
    SELECT * FROM batches b
    WHERE b.batch_id = ANY (ARRAY(SELECT DISTINCT r.batch_id FROM report r)) AND ${which}
    ORDER BY b.batch_id FOR UPDATE
  ), position AS MATERIALIZED (
    SELECT b.batch_id, b.fence, b.worker_id, 1 AS attempt, u.*
    FROM batch b
    CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.versions, b.slots_ms, ${ownPayloads(fragment`b`)})
      WITH ORDINALITY AS u(position, job_id, version, slot_ms, payload, nth)
  ), held AS MATERIALIZED (
    SELECT ${said} b.batch_id, b.route, b.lane, b.priority, b.enqueued_at, b.rank, b.worker_id, b.claimed_at,
      r.execution_id, r.position, u.job_id, u.version, from_ms(u.slot_ms) AS slot, j.tenant_id,
      b.cancels ->> r.position::text AS cancel, b.kind, u.payload
    FROM position u
    -- All by equality of columns: the planner hashes them then, and would compare each with each otherwise.
    JOIN report r ON r.batch_id = u.batch_id AND r.position = u.position AND r.fence = u.fence
      AND r.attempt = u.attempt
      AND (r.worker_id IS NULL OR r.worker_id = u.worker_id)
    JOIN batch b ON b.batch_id = u.batch_id
    CROSS JOIN LATERAL (SELECT j.tenant_id FROM jobs j WHERE j.job_id = u.job_id LIMIT 1) j
  ), rest AS MATERIALIZED (
    SELECT u.batch_id,
      array_agg(u.position ORDER BY u.nth) AS positions,
      array_agg(u.job_id ORDER BY u.nth) AS job_ids,
      array_agg(u.version ORDER BY u.nth) AS versions,
      array_agg(u.slot_ms ORDER BY u.nth) AS slots_ms
    FROM position u
    WHERE (u.batch_id, u.position) NOT IN (SELECT h.batch_id, h.position FROM held h)
    GROUP BY u.batch_id
  ), kept AS (
    UPDATE batches b
    SET positions = r.positions, job_ids = r.job_ids, versions = r.versions, slots_ms = r.slots_ms,
      cancels = nullif(
        b.cancels - ARRAY(SELECT h.position::text FROM held h WHERE h.batch_id = b.batch_id), '{}')
    FROM rest r
    WHERE b.batch_id = r.batch_id AND b.batch_id = ANY (ARRAY(SELECT batch_id FROM held))
  ), emptied AS (
    DELETE FROM batches b
    WHERE b.batch_id = ANY (ARRAY(SELECT batch_id FROM held EXCEPT SELECT batch_id FROM rest))
  )`

/** Positions taken out of their batches run on as rows, with their recorded updates; `start`: of the timeout. */
export const leaveRunning = (start: Fragment): Fragment =>
  insertLive(
    {
      ...identityOfHeld,
      ...queuedOfHeld,
      ...columnsOf(fragment`h`, 'worker_id', 'progress', 'progress_text'),
      state: fragment`'running'`,
      fence: fragment`1`,
      attempt: fragment`1`,
      started_at: fragment`coalesce(from_ms(h.started_ms), h.claimed_at)`,
      deadline: fragment`
        least(${deadlineAfter(start)}, CASE WHEN h.cancel IS NOT NULL THEN m.at + ${cancelGrace} END)`,
      cancelled_at: fragment`CASE WHEN h.cancel IS NOT NULL THEN m.at END`,
      cancel_message: fragment`h.cancel`,
      heard_at: fragment`CASE WHEN h.is_said THEN m.at END`,
      checkpoint: fragment`h.checkpoint::json`,
      payload_override: fragment`h.payload`,
    },
    fragment`
      FROM held h
      CROSS JOIN moment m
      LEFT JOIN LATERAL (
        SELECT v.timeout_seconds FROM job_versions v
          WHERE v.job_id = h.job_id AND v.version = h.version LIMIT 1
      ) v ON true`,
  )

const isStopped = fragment`(h.cancel IS NOT NULL AND h.ending <> 'awaiting')`

// Ends rows of live. $1: the reports; `which`: the rows (l) to which a report (x) may apply. An execution that waits or
// is between attempts ends here only when its total time is over: no attempt of it is then recorded as started.
export const endLive = (name: string, which: Fragment): Sql => sql(name)`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), report AS MATERIALIZED (
    SELECT ${markItem.named(fragment`x`)}, ${endingItem.named(fragment`x`)}
    FROM json_to_recordset($1::json) AS x(${markItem.columns}, ${endingItem.columns})
  ), held AS MATERIALIZED (
    SELECT l.*, x.execution_id, ${endingItem.of(fragment`x`)}
    FROM (SELECT * FROM report ORDER BY execution_id) x
    -- One by one, by its id and in order: by statistics of the table the planner might read all of it and compare
    -- each row with each report ([m] 1,000 ends beside 12,000 rows: 2 s).
    CROSS JOIN LATERAL (
      SELECT l.job_id, l.version, l.tenant_id, l.kind, l.slot, l.enqueued_at, l.attempt, l.payload_override,
        l.idempotency_key, l.retry_of, l.run_id, l.cancel_message AS cancel,
        coalesce(l.worker_id, l.caller_id) AS worker_id, l.state IN ('running', 'awaiting') AS runs
      FROM live l
      WHERE l.execution_id = x.execution_id AND ${which}
      LIMIT 1 FOR UPDATE
    ) l
  ), recorded AS (
    ${insertAttempts(
      {
        ...reportedEnd,
        ...originOfHeld,
        attempt: fragment`h.attempt`,
        started_at: fragment`CASE WHEN h.runs THEN from_ms(h.started_ms) END`,
        duration_ms: fragment`CASE WHEN h.runs THEN h.duration_ms END`,
      },
      fragment`
        FROM held h
        CROSS JOIN moment m
        WHERE h.ending = 'ended' OR ${isStopped}`,
    )}
  ), ended AS (
    DELETE FROM live l USING held h
    WHERE l.execution_id = h.execution_id AND (${isStopped} OR (h.ending = 'ended' AND h.retry_ms IS NULL))
  ), awaiting AS (
    UPDATE live l
    SET state = 'awaiting', worker_id = NULL, caller_id = h.worker_id, started_at = from_ms(h.started_ms),
      deadline = least(from_ms(h.deadline_ms), l.cancelled_at + ${cancelGrace}),
      silent_at = (
        SELECT m.at + v.heartbeat_timeout_seconds * interval '1 second' FROM job_versions v
        WHERE v.job_id = l.job_id AND v.version = l.version LIMIT 1)
    FROM held h
    CROSS JOIN moment m
    WHERE l.execution_id = h.execution_id AND h.ending = 'awaiting'
  ), stayed AS (
    -- One that may have killed its worker stays apart from others until an attempt of it has ended.
    UPDATE live l
    SET state = CASE h.ending WHEN 'ended' THEN 'retrying' ELSE 'ready' END,
      ready_at = from_ms(h.retry_ms),
      attempt = CASE h.ending WHEN 'ended' THEN l.attempt ELSE l.attempt - 1 END,
      losses = CASE h.outcome WHEN 'lost' THEN l.losses + 1 ELSE l.losses END,
      lane = CASE WHEN h.own_lane THEN l.tenant_id::text ELSE l.lane END,
      host = CASE WHEN h.ending = 'unstarted' AND l.host = ${suspect} THEN l.host ELSE h.host_then END,
      ${atRest}
    FROM held h
    WHERE l.execution_id = h.execution_id AND h.cancel IS NULL
      AND (h.ending = 'unstarted' OR (h.ending = 'ended' AND h.retry_ms IS NOT NULL))
  ), died AS (
    ${lettersOfLive({
      reason: fragment`h.dead_reason`,
      last: errorOfHeld(fragment`h.attempt`),
      died: isDead,
    })}
  )
  SELECT x.execution_id AS id, 'missing' AS what FROM report x
  WHERE NOT EXISTS (SELECT FROM held h WHERE h.execution_id = x.execution_id)
  UNION ALL
  SELECT h.execution_id, 'cancelled' FROM held h WHERE ${isStopped}`
