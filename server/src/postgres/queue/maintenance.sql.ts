// The statements of maintenance: return what a dead worker held, end what takes too long, wake retries, release what waits.
import { fragment, sql } from '../../lib/sql.ts'
import { atRest, endLive, leaveRunning, ownPayloads, takePlaces } from '../sql/ending.ts'
import { calendarsOfVersion, isRoot } from '../sql/fragments.ts'

// What was lost twice may have killed its workers: it waits apart from others, one to a worker. An HTTP call kills none,
// and one loss is no reason: many innocent ones would be called one after the other.
const hostAfterLoss = fragment`CASE WHEN l.route = 'server' OR l.losses = 0 THEN l.host ELSE 'suspect' END`

/** A claim in flight holds a key-share lock on this row, so it is seen or it fails. */
export const lockSilentWorker = sql('lockSilentWorker')`
  SELECT worker_id FROM workers WHERE worker_id = $1 AND beats = $2 FOR UPDATE`

export const reclaimBatches = sql('reclaimBatches')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), locked AS MATERIALIZED (
    SELECT batch_id FROM batches WHERE worker_id = $1 ORDER BY batch_id FOR UPDATE
  ), gone AS (
    DELETE FROM batches WHERE batch_id = ANY (ARRAY(SELECT batch_id FROM locked)) RETURNING *
  ), held AS MATERIALIZED (
    SELECT g.route, g.lane, g.priority, g.enqueued_at, g.rank, g.claimed_at, execution_at(g.batch_id, u.place) AS execution_id,
      u.job_id, u.version, from_ms(u.slot_ms) AS slot, j.tenant_id, g.cancels ->> u.place::text AS cancel, g.kind,
      u.payload
    FROM gone g
    CROSS JOIN LATERAL unnest(g.positions, g.job_ids, g.versions, g.slots_ms, ${ownPayloads(fragment`g`)})
      AS u(place, job_id, version, slot_ms, payload)
    JOIN jobs j ON j.job_id = u.job_id
  ), recorded AS (
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, finished_at, worker_id, error_type, error_message, payload_override)
    SELECT m.at, h.tenant_id, h.job_id, h.version, h.execution_id, 1, h.cancel IS NOT NULL, h.kind,
      CASE WHEN h.cancel IS NULL THEN 'lost' ELSE 'cancelled' END, h.slot, h.enqueued_at, h.claimed_at, m.at, $1,
      CASE WHEN h.cancel IS NULL THEN 'WORKER_LOST' ELSE 'CANCELLED' END, coalesce(h.cancel, $2), h.payload
    FROM held h CROSS JOIN moment m
  ), returned AS (
    INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank,
      fence, attempt, losses, payload_override)
    SELECT execution_id, job_id, version, tenant_id, kind, 'ready', route, lane, priority, slot, enqueued_at, rank, 1, 1, 1,
      payload
    FROM held WHERE cancel IS NULL
  )
  SELECT h.execution_id, h.kind, h.route, 1 AS attempt, h.enqueued_at, m.at AS recorded_at, h.cancel IS NOT NULL AS final,
    CASE WHEN h.cancel IS NULL THEN 'lost' ELSE 'cancelled' END AS outcome
  FROM held h CROSS JOIN moment m`

export const reclaimLive = sql('reclaimLive')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), held AS MATERIALIZED (
    SELECT l.*, l.cancelled_at IS NULL AND l.losses + 1 >= $3 AS dead, ${hostAfterLoss} AS host_then
    FROM live l WHERE l.worker_id = $1 ORDER BY l.execution_id FOR UPDATE
  ), recorded AS (
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, finished_at, worker_id, error_type, error_message, dead_letter, payload_override,
      idempotency_key, retry_of, run_id)
    SELECT m.at, h.tenant_id, h.job_id, h.version, h.execution_id, h.attempt, h.dead OR h.cancelled_at IS NOT NULL, h.kind,
      CASE WHEN h.cancelled_at IS NULL THEN 'lost' ELSE 'cancelled' END, h.slot, h.enqueued_at, h.started_at, m.at, $1,
      CASE WHEN h.cancelled_at IS NULL THEN 'WORKER_LOST' ELSE 'CANCELLED' END, coalesce(h.cancel_message, $2), h.dead,
      h.payload_override, h.idempotency_key, h.retry_of, h.run_id
    FROM held h CROSS JOIN moment m
  ), ended AS (
    DELETE FROM live l USING held h WHERE l.execution_id = h.execution_id AND (h.dead OR h.cancelled_at IS NOT NULL)
  ), died AS (
    INSERT INTO dead_letters (execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, payload,
      idempotency_key, kind, slot, redrive_at, run_id)
    SELECT h.execution_id, h.tenant_id, h.job_id, v.name, 'WORKER_LOST', m.at, h.attempt, (
        SELECT json_agg(y.error ORDER BY y.attempt) FROM (
          SELECT a.attempt, json_build_object('attempt', a.attempt, 'at', to_ms(coalesce(a.finished_at, a.recorded_at)),
            'type', a.error_type, 'message', a.error_message, 'httpStatus', a.http_status) AS error
          FROM attempts a WHERE a.job_id = h.job_id AND a.execution_id = h.execution_id
          UNION ALL
          SELECT h.attempt, json_build_object('attempt', h.attempt, 'at', to_ms(m.at), 'type', 'WORKER_LOST',
            'message', $2::text, 'httpStatus', NULL)
        ) y),
      coalesce(h.payload_override, v.execution -> 'payload'), h.idempotency_key, h.kind, h.slot,
      CASE WHEN h.kind <> 'redrive'
        THEN m.at + (v.retry_policy ->> 'auto_redrive_after_seconds')::int * interval '1 second' END, h.run_id
    FROM held h CROSS JOIN moment m JOIN job_versions v ON v.job_id = h.job_id AND v.version = h.version
    WHERE h.dead
  ), returned AS (
    UPDATE live l SET state = 'ready', losses = l.losses + 1, host = h.host_then, ${atRest}
    FROM held h WHERE l.execution_id = h.execution_id AND NOT h.dead AND h.cancelled_at IS NULL
  )
  SELECT h.execution_id, h.kind, h.route, h.attempt, h.enqueued_at, m.at AS recorded_at,
    h.dead OR h.cancelled_at IS NOT NULL AS final,
    CASE WHEN h.cancelled_at IS NULL THEN 'lost' ELSE 'cancelled' END AS outcome
  FROM held h CROSS JOIN moment m`

export const deleteReclaimed = sql('deleteReclaimed')`DELETE FROM workers WHERE worker_id = $1`

// Of batches that were claimed a minute ago; our own workers and those who beat have ended or left theirs long before. The
// worker is locked first, as reclaim does; one that is being reclaimed is left to that.
export const leaveForgotten = sql('leaveForgotten')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), forgotten AS MATERIALIZED (
    SELECT b.batch_id, b.worker_id FROM batches b
    WHERE b.claimed_at <= (SELECT clock_ms() - interval '60 seconds')
    ORDER BY b.claimed_at LIMIT $1
  ), holder AS MATERIALIZED (
    SELECT w.worker_id FROM workers w WHERE w.worker_id = ANY (ARRAY(SELECT worker_id FROM forgotten))
    ORDER BY w.worker_id FOR KEY SHARE SKIP LOCKED
  ), report AS MATERIALIZED (
    SELECT execution_at(b.batch_id, u.place) AS e, 1 AS n, b.fence AS f, b.worker_id AS u, b.batch_id AS b, u.place AS p,
      NULL::float8 AS s, false AS is_said, NULL::float8 AS progress, NULL::text AS said, NULL::text AS checkpoint
    FROM batches b CROSS JOIN LATERAL unnest(b.positions) AS u(place)
    WHERE b.batch_id = ANY (ARRAY(SELECT f.batch_id FROM forgotten f JOIN holder USING (worker_id)))
  ), ${takePlaces(fragment`num_nonnulls(b.worker_id) = 1`)}
  ${leaveRunning(fragment`h.claimed_at`)}`

// As the index has it.
const overdueAt = fragment`least(l.deadline, l.silent_at, l.total_deadline)`
const hasDeadline = fragment`num_nonnulls(l.deadline, l.silent_at, l.total_deadline) > 0`

// The clock in a subquery: read for each row, the whole index would be read for it.
export const selectOverdue = sql('selectOverdue')`
  SELECT l.execution_id, l.job_id, l.kind, l.route, l.enqueued_at, l.state, l.attempt, l.losses, l.fence, l.started_at,
    CASE WHEN l.cancelled_at IS NOT NULL THEN 'cancelled' WHEN l.total_deadline <= m.at THEN 'total'
      WHEN l.silent_at <= m.at THEN 'silent' ELSE 'attempt' END AS cause,
    l.total_deadline, v.timeout_seconds, v.total_timeout_seconds, v.heartbeat_timeout_seconds, v.retry_policy
  FROM (SELECT clock_ms() AS at) m CROSS JOIN LATERAL (
    SELECT * FROM live l WHERE ${hasDeadline} AND ${overdueAt} <= (SELECT clock_ms()) ORDER BY ${overdueAt} LIMIT $1
  ) l
  CROSS JOIN LATERAL (SELECT * FROM job_versions v WHERE v.job_id = l.job_id AND v.version = l.version LIMIT 1) v`

// Still overdue: a heartbeat in between wins. What was running when it was found and waits for its next attempt by now has
// been recorded already; only that its whole time is over ends it too.
export const timeOutLive = endLive(
  'timeOutLive',
  fragment`
    l.fence = x.f AND l.attempt = x.n AND ${overdueAt} <= clock_timestamp()
    AND (l.state IN ('running', 'awaiting') OR x.x = 'TOTAL_TIMEOUT')`,
)

// A CTE, not a subquery: the planner may loop over a LIMITed subquery and take more than $1 rows.
export const wakeRetries = sql('wakeRetries')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), due AS MATERIALIZED (
    SELECT execution_id FROM live WHERE state = 'retrying' AND ready_at <= (SELECT clock_timestamp())
    ORDER BY ready_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )
  UPDATE live l SET state = 'ready', ready_at = NULL, host = NULL, enqueued_at = m.at,
    rank = m.at + l.priority * interval '60 seconds'
  FROM due d CROSS JOIN moment m WHERE l.execution_id = d.execution_id`

export const selectNextRetry = sql('selectNextRetry')`
  SELECT min(ready_at) AS at FROM live WHERE state = 'retrying'`

// The first page ($3) also has the jobs that have waited longest for a concurrency key, in front. Distinct jobs by skipping
// through the index: the cost follows their number, not that of what waits of each.
export const selectWaitingJobs = sql('selectWaitingJobs')`
  WITH RECURSIVE waiting AS (
    (SELECT job_id FROM live WHERE state = 'waiting' AND job_id > $1 ORDER BY job_id LIMIT 1)
    UNION ALL
    SELECT (SELECT l.job_id FROM live l WHERE l.state = 'waiting' AND l.job_id > o.job_id ORDER BY l.job_id LIMIT 1)
    FROM waiting o WHERE o.job_id IS NOT NULL
  )
  (SELECT DISTINCT w.job_id, false AS listed FROM (
    SELECT job_id FROM live WHERE $3 AND state = 'waiting' AND concurrency_key IS NOT NULL ORDER BY rank LIMIT $2
  ) w)
  UNION ALL
  (SELECT w.job_id, true FROM (
    (SELECT job_id FROM waiting WHERE job_id IS NOT NULL LIMIT $2)
    UNION
    (SELECT job_id FROM catchups WHERE job_id > $1 ORDER BY job_id LIMIT $2)
    UNION
    (SELECT job_id FROM cursors WHERE status = 'ACTIVE' AND slot_at IS NULL AND NOT depends AND job_id > $1
      ORDER BY job_id LIMIT $2)
  ) w ORDER BY w.job_id LIMIT $2)`

const awaits = fragment`(c.status = 'ACTIVE' AND c.slot_at IS NULL AND NOT c.depends)`

// Of the run of a root (r). Scalar subqueries: the planner would hash whole tables for them.
/** It does not wait for its first execution to be let go. */
const isLetGo = fragment`
  (SELECT l.state FROM live l WHERE l.execution_id = r.execution_id LIMIT 1) IS DISTINCT FROM 'waiting'`
/** It is being cancelled, or will be once somebody looks at it. */
const isStopping = fragment`
  coalesce(
    (SELECT true FROM graph_runs g WHERE g.run_id = r.run_id AND g.status = 'CANCELLING' LIMIT 1),
    (SELECT true FROM run_notes o WHERE o.run_id = r.run_id AND o.what = 'cancel' LIMIT 1),
    false)`

/** Asks for the cancel of the runs of some jobs (j) that are under way. $1 jobs, each with its tenant (t) and a message (m). */
export const noteSuperseded = sql('noteSuperseded')`
  INSERT INTO run_notes (run_id, what, job_id, execution_id, at, message, tenant_id)
  SELECT r.run_id, 'cancel', r.job_id, r.execution_id, clock_ms(), t.m, t.t
  FROM json_to_recordset($1::json) AS t(j uuid, m text, t uuid) CROSS JOIN LATERAL (
    SELECT * FROM run_roots r WHERE r.job_id = t.j AND ${isLetGo} AND NOT ${isStopping}
  ) r`

/** As `isOfOpenRun` of the domain has it. */
const isOfOpenRun = fragment`(l.kind = 'dependency' OR (l.kind = 'retry' AND l.run_id IS NOT NULL))`

const waitingColumns = fragment`
  l.execution_id, l.kind, ${isOfOpenRun} AS in_run, l.slot, l.rank, l.operation_id, l.concurrency_key,
  l.key_limit`

// In a statement after lockCursors, which keeps fires and triggers of these jobs out meanwhile.
// $2: waiting executions looked at; $3: waiting slots, where all but the latest may have to go.
export const selectReleasable = sql('selectReleasable')`
  SELECT c.job_id, clock_ms() AS now, c.version, v.tenant_id, v.priority, v.overlap_policy, v.concurrency_limit,
    v.concurrency_key, v.concurrency_key_limit, v.schedule, v.anchor_at, v.jitter_seconds,
    ${calendarsOfVersion} AS calendars, alone.under_way + coalesce(batched.under_way, 0) AS under_way,
    alone.uncancelled + coalesce(batched.uncancelled, 0) + runs.uncancelled AS uncancelled,
    CASE WHEN batched.under_way IS NULL AND (alone.under_way = 0 OR runs.under_way = 0
      OR alone.operation_id = runs.operation_id) THEN coalesce(alone.operation_id, runs.operation_id)
    END AS under_way_of, w.waiting,
    CASE WHEN ${isRoot} THEN c.graph_id END AS graph_id, runs.under_way AS runs_under_way,
    k.from_slot, k.to_slot, k.pace_ms, k.next_at, d.owed_decided, ${awaits} AS awaits,
    CASE WHEN ${awaits} AND k.job_id IS NULL
      -- Not EXISTS: the planner would hash the whole table for it.
      AND (SELECT true FROM run_roots r WHERE r.job_id = c.job_id AND r.execution_id = c.awaited_id LIMIT 1) IS NULL
      AND NOT EXISTS (SELECT FROM live l WHERE l.execution_id = c.awaited_id)
      AND NOT EXISTS (
        SELECT FROM batches b WHERE b.batch_id = batch_of(c.awaited_id) AND c.job_id = ANY (b.job_ids))
    THEN coalesce((
      -- What ended while the job was paused counts from its end. Of one that started a run, the run is what ended.
      SELECT greatest(coalesce(g.finished_at, a.finished_at), c.decided_to)
      FROM attempts a LEFT JOIN graph_runs g ON g.run_id = a.run_id
      WHERE a.job_id = c.job_id AND a.execution_id = c.awaited_id AND a.final AND a.recorded_at >= c.decided_to LIMIT 1
    ), clock_ms()) END AS ended_at
  FROM unnest($1::uuid[]) AS x(job_id)
  CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = x.job_id LIMIT 1) c
  CROSS JOIN LATERAL (SELECT * FROM job_versions v WHERE v.job_id = c.job_id AND v.version = c.version LIMIT 1) v
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
        THEN (array_agg(r.operation_id))[1] END AS operation_id
    -- Where overlap is allowed runs are in nobody's way.
    FROM run_roots r WHERE r.job_id = c.job_id AND v.overlap_policy <> 'ALLOW' AND ${isLetGo}
  ) runs
  LEFT JOIN LATERAL (
    SELECT nullif(count(*), 0) AS under_way, count(*) FILTER (WHERE NOT coalesce(b.cancels ? u.place::text, false))
      AS uncancelled
    FROM batches b CROSS JOIN LATERAL unnest(b.positions, b.job_ids) AS u(place, job_id)
    WHERE u.job_id = c.job_id AND b.batch_id = ANY (CASE
      WHEN c.scattered THEN ARRAY(SELECT y.batch_id FROM batches y WHERE y.job_ids @> ARRAY[c.job_id])
      ELSE ARRAY(SELECT batch_of(s.execution_id) FROM slots s WHERE s.job_id = c.job_id ORDER BY s.slot DESC LIMIT 1) END)
  ) batched ON true
  CROSS JOIN LATERAL (
    SELECT json_agg(json_build_object('executionId', y.execution_id, 'kind', y.kind, 'inRun', y.in_run,
      'slot', to_ms(y.slot), 'rank', to_ms(y.rank), 'operationId', y.operation_id,
      'key', y.concurrency_key, 'limit', y.key_limit)) AS waiting
    FROM (
      (SELECT ${waitingColumns} FROM live l WHERE l.job_id = c.job_id AND l.state = 'waiting'
        ORDER BY l.rank, l.execution_id LIMIT $2)
      UNION
      (SELECT ${waitingColumns} FROM live l WHERE l.job_id = c.job_id AND l.state = 'waiting' AND l.kind = 'slot'
        ORDER BY l.slot LIMIT CASE v.overlap_policy WHEN 'CANCEL_RUNNING' THEN $3::int ELSE $2 END)
      UNION
      (SELECT ${waitingColumns} FROM live l WHERE l.job_id = c.job_id AND l.state = 'waiting' AND ${isOfOpenRun}
        AND runs.under_way > 0 ORDER BY l.rank, l.execution_id LIMIT 1)
    ) y
  ) w
  LEFT JOIN LATERAL (
    SELECT json_agg(json_build_object('from', to_ms(y.f), 'to', to_ms(y.t)) ORDER BY y.f) AS owed_decided FROM (
      SELECT y.from_slot AS f, y.to_slot AS t FROM skips y
      WHERE y.job_id = c.job_id AND y.from_slot <= k.to_slot AND y.to_slot >= k.from_slot
      UNION ALL
      SELECT s.slot, s.slot FROM slots s
      WHERE s.job_id = c.job_id AND s.slot BETWEEN k.from_slot AND k.to_slot AND s.reason IS NULL
    ) y
  ) d ON k.job_id IS NOT NULL`

// Whoever lets an execution with this key go holds this lock until the commit, so that the count is exact. One that
// somebody else holds is left to them: nobody waits here.
export const lockKeys = sql('lockKeys')`
  SELECT x.t AS tenant_id, x.k AS key FROM json_to_recordset($1::json) AS x(t uuid, k text)
  WHERE pg_try_advisory_xact_lock(hashtextextended(x.k, hashtextextended(x.t::text, 7421)))`

export const countHeldKeys = sql('countHeldKeys')`
  SELECT x.t AS tenant_id, x.k AS key, (
    SELECT count(*) FROM live l WHERE l.tenant_id = x.t AND l.concurrency_key = x.k AND l.state <> 'waiting') AS held
  FROM json_to_recordset($1::json) AS x(t uuid, k text)`

// An owed slot goes to `live`, where the job leads to it: its row in slots is older than those of on-time slots that
// were skipped since. $1 executions to let go; $2 owed slots that run; $3 what does not run; $4 what is owed then;
// $5 next slots of jobs that awaited an end.
export const releaseWaiting = sql('releaseWaiting')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), locked AS MATERIALIZED (
    SELECT execution_id FROM live WHERE execution_id = ANY ($1::uuid[]) ORDER BY execution_id FOR UPDATE
  ), let_go AS (
    -- left(), so that the planner does not read the index of all that waits for it.
    UPDATE live l SET state = 'ready'
    WHERE l.execution_id = ANY (ARRAY(SELECT execution_id FROM locked)) AND left(l.state, 7) = 'waiting'
    RETURNING l.execution_id
  ), run AS MATERIALIZED (
    SELECT x.*, from_ms(x.s) AS slot
    FROM json_to_recordset($2::json) AS x(j uuid, v int, s float8, e uuid, l text, p int, st text, ru uuid)
  ), inserted AS (
    INSERT INTO slots (job_id, slot, execution_id) SELECT j, slot, e FROM run
    ON CONFLICT DO NOTHING RETURNING execution_id
  ), enqueued AS (
    INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank,
      concurrency_key, key_limit, run_id)
    SELECT o.e, o.j, o.v, d.tenant_id, 'slot', o.st, d.route, o.l, o.p, o.slot, m.at, m.at + o.p * interval '60 seconds',
      d.concurrency_key, d.concurrency_key_limit, o.ru
    FROM run o JOIN inserted n ON n.execution_id = o.e CROSS JOIN moment m CROSS JOIN LATERAL (
      SELECT v.tenant_id, v.route, v.concurrency_key, v.concurrency_key_limit FROM job_versions v
      WHERE v.job_id = o.j AND v.version = o.v LIMIT 1
    ) d
  ), skipped AS (
    INSERT INTO skips (job_id, from_slot, to_slot, slot_count, reason, version)
    SELECT x.j, from_ms(x.f), from_ms(x.t), x.c, x.r, x.v
    FROM json_to_recordset($3::json) AS x(j uuid, f float8, t float8, c int, r text, v int)
    ON CONFLICT DO NOTHING
  ), owes AS MATERIALIZED (
    SELECT x.* FROM json_to_recordset($4::json) AS x(j uuid, f float8, n float8)
  ), advanced AS (
    UPDATE catchups k SET from_slot = from_ms(o.f), next_at = from_ms(o.n)
    FROM owes o WHERE k.job_id = o.j AND o.f IS NOT NULL
  ), paid AS (
    DELETE FROM catchups k USING owes o WHERE k.job_id = o.j AND o.f IS NULL
  ), planned AS (
    UPDATE cursors c SET slot_at = from_ms(x.s), due_at = from_ms(x.d), awaited_id = x.e,
      status = CASE WHEN x.s IS NULL AND x.e IS NULL THEN 'COMPLETED' ELSE c.status END
    FROM json_to_recordset($5::json) AS x(j uuid, s float8, d float8, e uuid)
    -- num_nulls, not IS NULL: the planner would read the whole index of those that await an end for it.
    WHERE c.job_id = x.j AND c.status = 'ACTIVE' AND num_nulls(c.slot_at) = 1 AND NOT c.depends
    RETURNING c.job_id, c.partition_id, c.slot_at
  ), noted AS (
    INSERT INTO changes (partition_id, job_id)
    SELECT partition_id, job_id FROM planned WHERE slot_at IS NOT NULL ORDER BY job_id
    ON CONFLICT (partition_id, job_id) DO UPDATE SET job_id = excluded.job_id
  )
  SELECT (SELECT count(*) FROM let_go) + (SELECT count(*) FROM run o JOIN inserted n ON n.execution_id = o.e
    WHERE o.st = 'ready') AS ready`
