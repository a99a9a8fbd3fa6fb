// The statements of maintenance: end overdue attempts, wake retries, release waiting executions.
import { fragment, sql } from '../../lib/sql.ts'
import { endLive, leaveRunning, takePositions } from '../sql/ending.ts'
import { calendarsOfVersion, hostOfUncharged, isLeftBehindInOrder, isRoot, rankOf } from '../sql/fragments.ts'
import { columnsOf, insertLive } from '../sql/insert.ts'
import { keyItem, nextSlotItem, owedItem, owedSlotItem, skipItem, supersededItem } from './items.ts'

// Takes running executions out of batches claimed a minute ago; our own workers and workers that send heartbeats have
// finished or left theirs long before. The worker is locked first, as in a reclaim; a worker that is being reclaimed is
// skipped.
export const leaveForgotten = sql('leaveForgotten')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), forgotten AS MATERIALIZED (
    SELECT b.batch_id, b.worker_id FROM batches b
    WHERE b.claimed_at <= (SELECT clock_ms() - interval '60 seconds')
    ORDER BY b.claimed_at LIMIT $1
  ), holder AS MATERIALIZED (
    SELECT w.worker_id FROM workers w WHERE w.worker_id = ANY (ARRAY(SELECT worker_id FROM forgotten))
    ORDER BY w.worker_id FOR KEY SHARE SKIP LOCKED
  ), report AS MATERIALIZED (
    SELECT execution_at(b.batch_id, u.position) AS execution_id, 1 AS attempt, b.fence, b.worker_id,
      b.batch_id, u.position
    FROM batches b CROSS JOIN LATERAL unnest(b.positions) AS u(position)
    WHERE b.batch_id = ANY (ARRAY(SELECT f.batch_id FROM forgotten f JOIN holder USING (worker_id)))
  ), ${takePositions(
    fragment`num_nonnulls(b.worker_id) = 1`,
    fragment`
      NULL::float8 AS started_ms, false AS is_said, NULL::float8 AS progress, NULL::text AS progress_text,
      NULL::text AS checkpoint,`,
  )}
  ${leaveRunning(fragment`h.claimed_at`)}`

// Must equal the expression of the index live_overdue.
const overdueAt = fragment`least(l.deadline, l.silent_at, l.total_deadline)`
const hasDeadline = fragment`num_nonnulls(l.deadline, l.silent_at, l.total_deadline) > 0`

// The clock in a subquery: as a volatile call for each row it would force a scan of the whole index.
export const selectOverdue = sql('selectOverdue')`
  SELECT l.execution_id, l.job_id, l.kind, l.route, l.enqueued_at, l.state, l.attempt, l.losses, l.fence,
    l.started_at,
    CASE WHEN l.cancelled_at IS NOT NULL THEN 'cancelled' WHEN l.total_deadline <= m.at THEN 'total'
      WHEN l.silent_at <= m.at THEN 'silent' ELSE 'attempt' END AS cause,
    l.total_deadline, v.timeout_seconds, v.total_timeout_seconds, v.heartbeat_timeout_seconds, v.retry_policy
  FROM (SELECT clock_ms() AS at) m CROSS JOIN LATERAL (
    SELECT * FROM live l WHERE ${hasDeadline} AND ${overdueAt} <= (SELECT clock_ms())
      ORDER BY ${overdueAt} LIMIT $1
  ) l
  CROSS JOIN LATERAL (SELECT * FROM job_versions v
    WHERE v.job_id = l.job_id AND v.version = l.version LIMIT 1) v`

// Only if still overdue: a heartbeat in between wins. A running execution whose worker is silent is left to the reclaim:
// the attempt may never have started, and one that is lost costs no retry. An execution that was running when it was
// found, but now waits for its next attempt, has been recorded already; only its total timeout can end it as well. $2:
// after how many milliseconds without a beat a worker is silent.
export const timeOutLive = endLive(
  'timeOutLive',
  fragment`
    l.fence = x.fence AND l.attempt = x.attempt AND ${overdueAt} <= clock_timestamp()
    AND CASE l.state
      WHEN 'running' THEN EXISTS (
        SELECT FROM workers w
        WHERE w.worker_id = l.worker_id AND w.beat_at >= clock_timestamp() - $2 * interval '1 millisecond')
      WHEN 'awaiting' THEN true
      ELSE x.dead_reason = 'TOTAL_TIMEOUT' END`,
)

// A CTE, not a subquery: the planner may loop over a LIMITed subquery and take more than $1 rows.
export const wakeRetries = sql('wakeRetries')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), due AS MATERIALIZED (
    SELECT execution_id FROM live WHERE state = 'retrying' AND ready_at <= (SELECT clock_timestamp())
    ORDER BY ready_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )
  UPDATE live l
  SET state = 'ready', ready_at = NULL, host = NULL, enqueued_at = m.at,
    rank = ${rankOf(fragment`m.at`, fragment`l.priority`)}
  FROM due d
  CROSS JOIN moment m
  WHERE l.execution_id = d.execution_id`

export const selectNextRetry = sql('selectNextRetry')`
  SELECT min(ready_at) AS at FROM live WHERE state = 'retrying'`

// The first page ($3) also has the jobs that have waited longest for a concurrency key, in front. Distinct jobs by
// skipping through the index: the cost grows with the number of jobs, not with the number of waiting executions.
export const selectWaitingJobs = sql('selectWaitingJobs')`
  WITH RECURSIVE waiting AS (
    (SELECT job_id FROM live WHERE state = 'waiting' AND job_id > $1 ORDER BY job_id LIMIT 1)
    UNION ALL
    SELECT (SELECT l.job_id FROM live l WHERE l.state = 'waiting' AND l.job_id > o.job_id
      ORDER BY l.job_id LIMIT 1)
    FROM waiting o WHERE o.job_id IS NOT NULL
  )
  (SELECT DISTINCT w.job_id, false AS listed FROM (
    SELECT job_id FROM live WHERE $3 AND state = 'waiting' AND concurrency_key IS NOT NULL
      ORDER BY rank LIMIT $2
  ) w)
  UNION ALL
  (SELECT w.job_id, true FROM (
    (SELECT job_id FROM waiting WHERE job_id IS NOT NULL LIMIT $2)
    UNION
    (SELECT job_id FROM catchups WHERE job_id > $1 ORDER BY job_id LIMIT $2)
    UNION
    (SELECT job_id FROM cursors WHERE status = 'ACTIVE' AND slot_at IS NULL AND NOT depends AND job_id > $1
      ORDER BY job_id LIMIT $2)
    UNION
    -- Left behind by deleted jobs.
    (SELECT DISTINCT job_ids[1] FROM batches
      WHERE worker_id IS NULL AND ${isLeftBehindInOrder} AND job_ids[1] > $1
      ORDER BY 1 LIMIT $2)
  ) w ORDER BY w.job_id LIMIT $2)`

// Tenants ($2) behind one ($1), by id, by skipping through the indexes; of each, jobs of the first waiting executions ($3) and
// as many that await an end.
export const selectWaitingOfTenants = sql('selectWaitingOfTenants')`
  WITH RECURSIVE owner AS (
    SELECT 1 AS nth, least(
      (SELECT l.tenant_id FROM live l WHERE l.state = 'waiting' AND l.tenant_id > $1 ORDER BY l.tenant_id LIMIT 1),
      (SELECT c.tenant_id FROM cursors c
        WHERE c.status = 'ACTIVE' AND c.slot_at IS NULL AND NOT c.depends AND c.tenant_id > $1
        ORDER BY c.tenant_id LIMIT 1)) AS tenant_id
    UNION ALL
    SELECT o.nth + 1, least(
      (SELECT l.tenant_id FROM live l WHERE l.state = 'waiting' AND l.tenant_id > o.tenant_id
        ORDER BY l.tenant_id LIMIT 1),
      (SELECT c.tenant_id FROM cursors c
        WHERE c.status = 'ACTIVE' AND c.slot_at IS NULL AND NOT c.depends AND c.tenant_id > o.tenant_id
        ORDER BY c.tenant_id LIMIT 1))
    FROM owner o WHERE o.tenant_id IS NOT NULL AND o.nth < $2
  )
  SELECT owner.tenant_id, found.job_id
  FROM owner
  CROSS JOIN LATERAL (
    SELECT waiting.job_id FROM (
      SELECT l.job_id FROM live l WHERE l.state = 'waiting' AND l.tenant_id = owner.tenant_id
      ORDER BY l.job_id LIMIT $3
    ) waiting
    UNION
    SELECT awaiting.job_id FROM (
      SELECT c.job_id FROM cursors c
      WHERE c.status = 'ACTIVE' AND c.slot_at IS NULL AND NOT c.depends AND c.tenant_id = owner.tenant_id
      ORDER BY c.job_id LIMIT $3
    ) awaiting
  ) found
  WHERE owner.tenant_id IS NOT NULL
  ORDER BY owner.tenant_id, found.job_id`

const awaits = fragment`(c.status = 'ACTIVE' AND c.slot_at IS NULL AND NOT c.depends)`

// Of the run of a root (r). Scalar subqueries: the planner would hash whole tables for them.
/** It does not wait for its first execution to be let go. */
const isLetGo = fragment`
  (SELECT l.state FROM live l WHERE l.execution_id = r.execution_id LIMIT 1) IS DISTINCT FROM 'waiting'`
/** The run is being cancelled, or a cancel is noted that no step has handled yet. */
const isStopping = fragment`
  coalesce(
    (SELECT true FROM graph_runs g WHERE g.run_id = r.run_id AND g.status = 'CANCELLING' LIMIT 1),
    (SELECT true FROM run_notes o WHERE o.run_id = r.run_id AND o.what = 'cancel' LIMIT 1),
    false)`

/** The slot that started the run; null: the run was started otherwise, or its execution ended before the run was made. */
const slotOfRun = fragment`
  coalesce(
    (SELECT g.slot FROM graph_runs g WHERE g.run_id = r.run_id AND g.kind = 'slot' LIMIT 1),
    (SELECT l.slot FROM live l WHERE l.execution_id = r.execution_id AND l.kind = 'slot' LIMIT 1))`

/** Asks for the cancel of the runs of some jobs (j) that are under way. $1 jobs, each with its tenant (t) and a message (m). */
export const noteSuperseded = sql('noteSuperseded')`
  INSERT INTO run_notes (run_id, what, job_id, execution_id, at, message, tenant_id)
  SELECT r.run_id, 'cancel', r.job_id, r.execution_id, clock_ms(), t.message, t.tenant_id
  FROM (SELECT ${supersededItem.named(fragment`x`)}
    FROM json_to_recordset($1::json) AS x(${supersededItem.columns})) t
  CROSS JOIN LATERAL (
    SELECT * FROM run_roots r WHERE r.job_id = t.job_id AND ${isLetGo} AND NOT ${isStopping}
  ) r`

/** As `isOfOpenRun` of the domain has it. */
const isOfOpenRun = fragment`(l.kind = 'dependency' OR (l.kind = 'retry' AND l.run_id IS NOT NULL))`

const waitingColumns = fragment`
  l.execution_id, l.kind, ${isOfOpenRun} AS in_run, l.slot, l.rank, l.operation_id, l.concurrency_key,
  l.key_limit`

// In a statement after lockCursors, which keeps fires and triggers of these jobs out meanwhile.
// $2: waiting executions looked at; $3: waiting slots, where all but the latest may have to go.
export const selectReleasable = sql('selectReleasable')`
  SELECT c.job_id, clock_ms() AS now, c.version, v.tenant_id, v.priority, v.overlap_policy,
    v.misfire_policy, v.concurrency_limit,
    v.concurrency_key, v.concurrency_key_limit, v.schedule, v.anchor_at, v.jitter_seconds,
    ${calendarsOfVersion} AS calendars, alone.under_way + coalesce(batched.under_way, 0) AS under_way,
    alone.uncancelled + coalesce(batched.uncancelled, 0) + runs.uncancelled AS uncancelled,
    CASE WHEN batched.under_way IS NULL AND (alone.under_way = 0 OR runs.under_way = 0
      OR alone.operation_id = runs.operation_id) THEN coalesce(alone.operation_id, runs.operation_id)
    END AS under_way_of, w.waiting,
    CASE WHEN ${isRoot} THEN c.graph_id END AS graph_id, runs.under_way AS runs_under_way, runs.first_slot AS runs_from,
    k.from_slot, k.to_slot, k.pace_ms, k.next_at, d.owed_decided, ${awaits} AS awaits,
    c.status = 'DELETED' AS deleted,
    CASE WHEN ${awaits} AND k.job_id IS NULL
      -- Not EXISTS: the planner would hash the whole table for it.
      AND (SELECT true FROM run_roots r
        WHERE r.job_id = c.job_id AND r.execution_id = c.awaited_id LIMIT 1) IS NULL
      AND NOT EXISTS (SELECT FROM live l WHERE l.execution_id = c.awaited_id)
      AND NOT EXISTS (
        SELECT FROM batches b WHERE b.batch_id = batch_of(c.awaited_id) AND c.job_id = ANY (b.job_ids))
    THEN coalesce((
      -- An execution that ended while the job was paused counts from its end, or from the end of the run it started.
      SELECT greatest(coalesce(g.finished_at, a.finished_at), c.decided_to)
      FROM attempts a LEFT JOIN graph_runs g ON g.run_id = a.run_id
      WHERE a.job_id = c.job_id AND a.execution_id = c.awaited_id AND a.final
        AND a.recorded_at >= c.decided_to LIMIT 1
    ), clock_ms()) END AS ended_at
  FROM unnest($1::uuid[]) AS x(job_id)
  CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = x.job_id LIMIT 1) c
  CROSS JOIN LATERAL (SELECT * FROM job_versions v
    WHERE v.job_id = c.job_id AND v.version = c.version LIMIT 1) v
  LEFT JOIN LATERAL (SELECT * FROM catchups k WHERE k.job_id = c.job_id LIMIT 1) k ON true
  CROSS JOIN LATERAL (
    SELECT count(*) AS under_way, count(*) FILTER (WHERE l.cancelled_at IS NULL) AS uncancelled,
      CASE WHEN count(l.operation_id) = count(*) AND count(DISTINCT l.operation_id) = 1
        THEN (array_agg(l.operation_id))[1] END AS operation_id
    FROM live l WHERE l.job_id = c.job_id AND l.state NOT IN ('waiting', 'blocked')
  ) alone
  CROSS JOIN LATERAL (
    SELECT count(*) AS under_way, count(*) FILTER (WHERE NOT ${isStopping}) AS uncancelled,
      CASE WHEN count(r.operation_id) = count(*) AND count(DISTINCT r.operation_id) = 1
        THEN (array_agg(r.operation_id))[1] END AS operation_id,
      CASE WHEN count(r.slot) = count(*) THEN min(r.slot) END AS first_slot
    -- Under ALLOW a run holds back no execution.
    FROM (SELECT r.*, ${slotOfRun} AS slot FROM run_roots r
      WHERE r.job_id = c.job_id AND v.overlap_policy <> 'ALLOW' AND ${isLetGo}) r
  ) runs
  LEFT JOIN LATERAL (
    SELECT nullif(count(*), 0) AS under_way, count(*) FILTER (WHERE NOT coalesce(b.cancels ? u.position::text,
      false))
      AS uncancelled
    FROM batches b CROSS JOIN LATERAL unnest(b.positions, b.job_ids) AS u(position, job_id)
    WHERE u.job_id = c.job_id AND b.batch_id = ANY (CASE
      WHEN c.scattered THEN ARRAY(SELECT y.batch_id FROM batches y WHERE y.job_ids @> ARRAY[c.job_id])
      ELSE ARRAY(SELECT batch_of(s.execution_id) FROM slots s WHERE s.job_id = c.job_id
        ORDER BY s.slot DESC LIMIT 1) END)
  ) batched ON true
  CROSS JOIN LATERAL (
    SELECT json_agg(json_build_object('executionId', y.execution_id, 'kind', y.kind, 'inRun', y.in_run,
      'slot', to_ms(y.slot), 'rank', to_ms(y.rank), 'operationId', y.operation_id,
      'key', y.concurrency_key, 'limit', y.key_limit)) AS waiting
    FROM (
      (SELECT ${waitingColumns} FROM live l WHERE l.job_id = c.job_id AND l.state = 'waiting'
        ORDER BY l.rank, l.execution_id LIMIT $2)
      UNION
      (SELECT ${waitingColumns} FROM live l
        WHERE l.job_id = c.job_id AND l.state = 'waiting' AND l.kind = 'slot'
        ORDER BY l.slot LIMIT CASE v.overlap_policy WHEN 'CANCEL_RUNNING' THEN $3::int ELSE $2 END)
      UNION
      (SELECT ${waitingColumns} FROM live l
        WHERE l.job_id = c.job_id AND l.state = 'waiting' AND ${isOfOpenRun}
        AND runs.under_way > 0 ORDER BY l.rank, l.execution_id LIMIT 1)
    ) y
  ) w
  LEFT JOIN LATERAL (
    SELECT json_agg(json_build_object('from', to_ms(y.f), 'to', to_ms(y.t)) ORDER BY y.f) AS owed_decided
      FROM (
      SELECT y.from_slot AS f, y.to_slot AS t FROM skips y
      WHERE y.job_id = c.job_id AND y.from_slot <= k.to_slot AND y.to_slot >= k.from_slot
      UNION ALL
      SELECT s.slot, s.slot FROM slots s
      WHERE s.job_id = c.job_id AND s.slot BETWEEN k.from_slot AND k.to_slot AND s.reason IS NULL
    ) y
  ) d ON k.job_id IS NOT NULL`

// A transaction that releases an execution with this key holds this lock until the commit, so the count is exact. A key
// locked by another transaction is left to it: nothing waits here.
export const lockKeys = sql('lockKeys')`
  SELECT x.t AS tenant_id, x.k AS key
  FROM json_to_recordset($1::json) AS x(${keyItem.columns})
  WHERE pg_try_advisory_xact_lock(hashtextextended(x.k, hashtextextended(x.t::text, 7421)))`

export const countHeldKeys = sql('countHeldKeys')`
  SELECT x.t AS tenant_id, x.k AS key, (
    SELECT count(*) FROM live l
    WHERE l.tenant_id = x.t AND l.concurrency_key = x.k AND l.state <> 'waiting') AS held
  FROM json_to_recordset($1::json) AS x(${keyItem.columns})`

// An owed slot goes to `live`, where the job leads to it: its row in slots is older than the rows of on-time slots that
// were skipped since. $1 executions to release; $2 owed slots that run; $3 ranges that do not run; $4 slots that are owed
// then; $5 next slots of jobs that awaited an end.
export const releaseWaiting = sql('releaseWaiting')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), locked AS MATERIALIZED (
    SELECT execution_id FROM live WHERE execution_id = ANY ($1::uuid[]) ORDER BY execution_id FOR UPDATE
  ), let_go AS (
    -- left() keeps the planner from the index of all waiting executions.
    UPDATE live l SET state = 'ready'
    WHERE l.execution_id = ANY (ARRAY(SELECT execution_id FROM locked)) AND left(l.state, 7) = 'waiting'
    RETURNING l.execution_id
  ), run AS MATERIALIZED (
    SELECT ${owedSlotItem.named(fragment`x`)}, from_ms(x.s) AS slot
    FROM json_to_recordset($2::json) AS x(${owedSlotItem.columns})
  ), inserted AS (
    INSERT INTO slots (job_id, slot, execution_id)
    SELECT job_id, slot, execution_id FROM run
    ON CONFLICT DO NOTHING RETURNING execution_id
  ), enqueued AS (
    ${insertLive(
      {
        ...columnsOf(
          fragment`o`,
          'execution_id',
          'job_id',
          'version',
          'state',
          'lane',
          'priority',
          'slot',
          'run_id',
        ),
        ...columnsOf(fragment`d`, 'tenant_id', 'route', 'concurrency_key'),
        kind: fragment`'slot'`,
        enqueued_at: fragment`m.at`,
        key_limit: fragment`d.concurrency_key_limit`,
        host: hostOfUncharged(fragment`d.tenant_id`),
      },
      fragment`
        FROM run o
        JOIN inserted n ON n.execution_id = o.execution_id
        CROSS JOIN moment m
        CROSS JOIN LATERAL (
          SELECT v.tenant_id, v.route, v.concurrency_key, v.concurrency_key_limit FROM job_versions v
          WHERE v.job_id = o.job_id AND v.version = o.version LIMIT 1
        ) d`,
    )}
  ), skipped AS (
    INSERT INTO skips (job_id, from_slot, to_slot, slot_count, reason, version)
    SELECT x.job_id, from_ms(x.from_slot_ms), from_ms(x.to_slot_ms), x.count, x.reason, x.version
    FROM (SELECT ${skipItem.named(fragment`x`)} FROM json_to_recordset($3::json) AS x(${skipItem.columns})) x
    ON CONFLICT DO NOTHING
  ), owes AS MATERIALIZED (
    SELECT ${owedItem.named(fragment`x`)} FROM json_to_recordset($4::json) AS x(${owedItem.columns})
  ), advanced AS (
    UPDATE catchups k
    SET from_slot = from_ms(o.from_slot_ms), next_at = from_ms(o.next_ms)
    FROM owes o
    WHERE k.job_id = o.job_id AND o.from_slot_ms IS NOT NULL
  ), paid AS (
    DELETE FROM catchups k USING owes o WHERE k.job_id = o.job_id AND o.from_slot_ms IS NULL
  ), planned AS (
    UPDATE cursors c
    SET slot_at = from_ms(x.slot_ms), due_at = from_ms(x.due_ms), awaited_id = x.execution_id,
      status = CASE WHEN x.slot_ms IS NULL AND x.execution_id IS NULL THEN 'COMPLETED' ELSE c.status END
    FROM (
      SELECT ${nextSlotItem.named(fragment`x`)} FROM json_to_recordset($5::json) AS x(${nextSlotItem.columns})
    ) x
    -- num_nulls, not IS NULL: for IS NULL the planner would read the whole index of cursors that await an end.
    WHERE c.job_id = x.job_id AND c.status = 'ACTIVE' AND num_nulls(c.slot_at) = 1 AND NOT c.depends
    RETURNING c.job_id, c.partition_id, c.slot_at
  ), noted AS (
    INSERT INTO changes (partition_id, job_id)
    SELECT partition_id, job_id FROM planned
    WHERE slot_at IS NOT NULL
    ORDER BY job_id
    ON CONFLICT (partition_id, job_id) DO UPDATE SET job_id = excluded.job_id
  )
  SELECT (SELECT count(*) FROM let_go) + (
    SELECT count(*) FROM run o
    JOIN inserted n ON n.execution_id = o.execution_id
    WHERE o.state = 'ready') AS ready`
