// How attempts end in the database: statements of several files, made from the same pieces, so that an end is the same
// whoever says it: our worker, an SDK worker, a target that was called, maintenance.
import { type Fragment, fragment, type Sql, sql } from '../../lib/sql.ts'

/**
 * The payloads of the places of a batch, as an argument of the unnest of its places: taken apart once. There is one for each
 * place it began with, and places may have left. (`payloads -> place` would read all of them for each.)
 */
export const ownPayloads = (batch: Fragment): Fragment => fragment`
  CASE WHEN ${batch}.payloads IS NULL THEN NULL
    WHEN json_array_length(${batch}.payloads) = cardinality(${batch}.positions)
    THEN ARRAY(SELECT json_array_elements(${batch}.payloads))
    ELSE ARRAY(
      SELECT e.value FROM json_array_elements(${batch}.payloads) WITH ORDINALITY AS e(value, n)
      JOIN unnest(${batch}.positions) AS p(place) ON e.n = p.place + 1 ORDER BY p.place
    ) END`

/** What is said of one execution: see `toEndingItem`. */
export const endingFields = fragment`
  k text, o text, s float8, z float8, d int, h int, t text, m text, w text, a float8, x text, c text, g float8`

/** A cancelled attempt has this long to stop. */
export const cancelGrace = fragment`interval '30 seconds'`

/** When maintenance ends an attempt that began then, by its version (v): workers keep the time themselves, this is the net. */
export const deadlineAfter = (start: Fragment): Fragment => fragment`
  ${start} + v.timeout_seconds * interval '1 second' + interval '60 seconds'`

/** What belongs to an attempt alone is gone once it is over; its checkpoint and the time of all attempts are not. */
export const atRest = fragment`
  worker_id = NULL, caller_id = NULL, started_at = NULL, deadline = NULL, silent_at = NULL, heard_at = NULL,
  progress = NULL, progress_text = NULL`

// Of places in claimed batches (held), first attempts. One of which nothing was said (k) goes back to the queue
// as unstarted: nothing vanishes with its batch. Under fence 1 also then, so that a late word of this claim is refused.
export const endPlaces = fragment`
  recorded AS (
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, finished_at, duration_ms, worker_id, http_status, error_type, error_message, preview,
      dead_letter, payload_override)
    SELECT m.at, h.tenant_id, h.job_id, h.version, h.execution_id, 1, h.a IS NULL OR h.cancel IS NOT NULL, h.kind,
      CASE WHEN h.cancel IS NULL THEN h.o ELSE 'cancelled' END, h.slot, h.enqueued_at, from_ms(h.s),
      coalesce(from_ms(h.z), m.at), h.d, h.worker_id, h.h, CASE WHEN h.cancel IS NULL THEN h.t ELSE 'CANCELLED' END,
      coalesce(h.cancel, h.m), h.w, h.x IS NOT NULL AND h.cancel IS NULL, h.payload
    FROM held h CROSS JOIN moment m
    WHERE h.k = 'ended' OR (h.cancel IS NOT NULL AND (h.k IN ('running', 'awaiting')) IS NOT TRUE)
  ), stayed AS (
    INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at,
      rank, ready_at, worker_id, caller_id, fence, attempt, losses, host, started_at, deadline, cancelled_at,
      cancel_message, payload_override)
    SELECT h.execution_id, h.job_id, h.version, h.tenant_id, h.kind,
      CASE h.k WHEN 'ended' THEN 'retrying' WHEN 'running' THEN 'running' WHEN 'awaiting' THEN 'awaiting' ELSE 'ready' END,
      h.route, h.lane, h.priority, h.slot, h.enqueued_at, h.rank, from_ms(h.a),
      CASE h.k WHEN 'running' THEN h.worker_id END, CASE h.k WHEN 'awaiting' THEN h.worker_id END, 1,
      CASE WHEN h.k IN ('ended', 'running', 'awaiting') THEN 1 ELSE 0 END, CASE h.o WHEN 'lost' THEN 1 ELSE 0 END, h.c,
      CASE WHEN h.k IN ('running', 'awaiting') THEN from_ms(h.s) END,
      CASE WHEN h.k IN ('running', 'awaiting')
        THEN least(from_ms(h.g), CASE WHEN h.cancel IS NOT NULL THEN m.at + ${cancelGrace} END) END,
      CASE WHEN h.cancel IS NOT NULL THEN m.at END, h.cancel, h.payload
    FROM held h CROSS JOIN moment m
    WHERE CASE WHEN h.cancel IS NULL THEN h.k IS DISTINCT FROM 'ended' OR h.a IS NOT NULL
      ELSE h.k IN ('running', 'awaiting') END
  ), died AS (
    INSERT INTO dead_letters (execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, payload, kind,
      slot, redrive_at)
    SELECT h.execution_id, h.tenant_id, h.job_id, v.name, h.x, m.at, 1,
      json_build_array(json_build_object('attempt', 1, 'at', h.z, 'type', h.t, 'message', h.m, 'httpStatus', h.h)),
      coalesce(h.payload, v.execution -> 'payload'), h.kind, h.slot,
      m.at + (v.retry_policy ->> 'auto_redrive_after_seconds')::int * interval '1 second'
    FROM held h CROSS JOIN moment m JOIN job_versions v ON v.job_id = h.job_id AND v.version = h.version
    WHERE h.x IS NOT NULL AND h.cancel IS NULL
  )`

// Places that reports (report: e execution, n attempt, f fence, u worker or null, b batch, p place) name are taken out of
// their batches; the others stay in them, in order and with their flags. `which`: the batches (b) that may be touched.
export const takePlaces = (which: Fragment): Fragment => fragment`
  batch AS MATERIALIZED (
    SELECT * FROM batches b WHERE b.batch_id = ANY (ARRAY(SELECT DISTINCT r.b FROM report r)) AND ${which}
    ORDER BY b.batch_id FOR UPDATE
  ), place AS MATERIALIZED (
    SELECT b.batch_id, b.fence, b.worker_id, 1 AS attempt, u.* FROM batch b
    CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.versions, b.slots_ms, ${ownPayloads(fragment`b`)})
      WITH ORDINALITY AS u(place, job_id, version, slot_ms, payload, nth)
  ), held AS MATERIALIZED (
    SELECT b.batch_id, b.route, b.lane, b.priority, b.enqueued_at, b.rank, b.worker_id, b.claimed_at, r.e AS execution_id,
      u.job_id, u.version, from_ms(u.slot_ms) AS slot, j.tenant_id, b.cancels ->> r.p::text AS cancel, b.kind,
      u.payload, r.*
    FROM place u
    -- All by equality of columns: the planner hashes them then, and would compare each with each otherwise.
    JOIN report r ON r.b = u.batch_id AND r.p = u.place AND r.f = u.fence AND r.n = u.attempt
      AND (r.u IS NULL OR r.u = u.worker_id)
    JOIN batch b ON b.batch_id = u.batch_id
    CROSS JOIN LATERAL (SELECT j.tenant_id FROM jobs j WHERE j.job_id = u.job_id LIMIT 1) j
  ), rest AS MATERIALIZED (
    SELECT u.batch_id, array_agg(u.place ORDER BY u.nth) AS positions, array_agg(u.job_id ORDER BY u.nth) AS job_ids,
      array_agg(u.version ORDER BY u.nth) AS versions, array_agg(u.slot_ms ORDER BY u.nth) AS slots_ms
    FROM place u
    WHERE (u.batch_id, u.place) NOT IN (SELECT h.batch_id, h.p FROM held h) GROUP BY u.batch_id
  ), kept AS (
    UPDATE batches b SET positions = r.positions, job_ids = r.job_ids, versions = r.versions, slots_ms = r.slots_ms,
      cancels = nullif(b.cancels - ARRAY(SELECT h.p::text FROM held h WHERE h.batch_id = b.batch_id), '{}')
    FROM rest r WHERE b.batch_id = r.batch_id AND b.batch_id = ANY (ARRAY(SELECT batch_id FROM held))
  ), emptied AS (
    DELETE FROM batches b WHERE b.batch_id = ANY (ARRAY(
      SELECT batch_id FROM held EXCEPT SELECT batch_id FROM rest))
  )`

/** Places that were taken out of their batches run on as rows, with what was noted of each; `start`: of its time. */
export const leaveRunning = (start: Fragment): Fragment => fragment`
  INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank,
    worker_id, fence, attempt, started_at, deadline, cancelled_at, cancel_message, heard_at, progress, progress_text,
    checkpoint, payload_override)
  SELECT h.execution_id, h.job_id, h.version, h.tenant_id, h.kind, 'running', h.route, h.lane, h.priority, h.slot,
    h.enqueued_at, h.rank, h.worker_id, 1, 1, coalesce(from_ms(h.s), h.claimed_at),
    least(${deadlineAfter(start)},
      CASE WHEN h.cancel IS NOT NULL THEN m.at + ${cancelGrace} END),
    CASE WHEN h.cancel IS NOT NULL THEN m.at END, h.cancel, CASE WHEN h.is_said THEN m.at END, h.progress, h.said,
    h.checkpoint::json, h.payload
  FROM held h CROSS JOIN moment m LEFT JOIN LATERAL (
    SELECT v.timeout_seconds FROM job_versions v WHERE v.job_id = h.job_id AND v.version = h.version LIMIT 1
  ) v ON true`

// Of rows of live. $1: what is said of each; `which`: the rows (l) of which it may be said, by what is said (x). What waits
// or is between attempts ends here only when its time is over: then no attempt of it is told to have started.
export const endLive = (name: string, which: Fragment): Sql => sql(name)`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), report AS MATERIALIZED (
    SELECT x.* FROM json_to_recordset($1::json) AS x(e uuid, n int, f int, u uuid, ${endingFields})
  ), held AS MATERIALIZED (
    SELECT l.*, x.* FROM (SELECT * FROM report ORDER BY e) x
    -- One by one, by its id and in order, whatever the planner believes of the table: it would read all of it and compare
    -- each row with each report ([m] 1,000 ends beside 12,000 rows: 2 s).
    CROSS JOIN LATERAL (
      SELECT l.job_id, l.version, l.tenant_id, l.kind, l.slot, l.enqueued_at, l.attempt, l.payload_override,
        l.idempotency_key, l.retry_of, l.run_id, l.cancel_message AS cancel,
        coalesce(l.worker_id, l.caller_id) AS worker_id, l.state IN ('running', 'awaiting') AS runs
      FROM live l WHERE l.execution_id = x.e AND ${which} LIMIT 1 FOR UPDATE
    ) l
  ), recorded AS (
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, finished_at, duration_ms, worker_id, http_status, error_type, error_message, preview,
      dead_letter, payload_override, idempotency_key, retry_of, run_id)
    SELECT m.at, h.tenant_id, h.job_id, h.version, h.e, h.attempt, h.a IS NULL OR h.cancel IS NOT NULL, h.kind,
      CASE WHEN h.cancel IS NULL THEN h.o ELSE 'cancelled' END, h.slot, h.enqueued_at, CASE WHEN h.runs THEN from_ms(h.s) END,
      coalesce(from_ms(h.z), m.at), CASE WHEN h.runs THEN h.d END, h.worker_id, h.h,
      CASE WHEN h.cancel IS NULL THEN h.t ELSE 'CANCELLED' END, coalesce(h.cancel, h.m), h.w,
      h.x IS NOT NULL AND h.cancel IS NULL, h.payload_override, h.idempotency_key, h.retry_of, h.run_id
    FROM held h CROSS JOIN moment m WHERE h.k = 'ended' OR (h.cancel IS NOT NULL AND h.k <> 'awaiting')
  ), ended AS (
    DELETE FROM live l USING held h
    WHERE l.execution_id = h.e AND ((h.cancel IS NOT NULL AND h.k <> 'awaiting') OR (h.k = 'ended' AND h.a IS NULL))
  ), awaiting AS (
    UPDATE live l SET state = 'awaiting', worker_id = NULL, caller_id = h.worker_id, started_at = from_ms(h.s),
      deadline = least(from_ms(h.g), l.cancelled_at + ${cancelGrace}),
      silent_at = (SELECT m.at + v.heartbeat_timeout_seconds * interval '1 second' FROM job_versions v
        WHERE v.job_id = l.job_id AND v.version = l.version LIMIT 1)
    FROM held h CROSS JOIN moment m WHERE l.execution_id = h.e AND h.k = 'awaiting'
  ), stayed AS (
    -- One that may have killed its worker stays apart from others until an attempt of it has ended.
    UPDATE live l SET state = CASE h.k WHEN 'ended' THEN 'retrying' ELSE 'ready' END, ready_at = from_ms(h.a),
      attempt = CASE h.k WHEN 'ended' THEN l.attempt ELSE l.attempt - 1 END,
      losses = CASE h.o WHEN 'lost' THEN l.losses + 1 ELSE l.losses END,
      host = CASE WHEN h.k = 'unstarted' AND l.host = 'suspect' THEN l.host ELSE h.c END, ${atRest}
    FROM held h
    WHERE l.execution_id = h.e AND h.cancel IS NULL AND (h.k = 'unstarted' OR (h.k = 'ended' AND h.a IS NOT NULL))
  ), died AS (
    INSERT INTO dead_letters (execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, payload,
      idempotency_key, kind, slot, redrive_at, run_id)
    SELECT h.e, h.tenant_id, h.job_id, v.name, h.x, m.at, h.attempt, (
        SELECT json_agg(y.error ORDER BY y.attempt, y.last) FROM (
          SELECT a.attempt, false AS last, json_build_object('attempt', a.attempt,
            'at', to_ms(coalesce(a.finished_at, a.recorded_at)), 'type', a.error_type, 'message', a.error_message,
            'httpStatus', a.http_status) AS error
          FROM attempts a WHERE a.job_id = h.job_id AND a.execution_id = h.e
          UNION ALL
          SELECT h.attempt, true, json_build_object('attempt', h.attempt, 'at', h.z, 'type', h.t, 'message', h.m,
            'httpStatus', h.h)
        ) y),
      coalesce(h.payload_override, v.execution -> 'payload'), h.idempotency_key, h.kind, h.slot,
      CASE WHEN h.kind <> 'redrive'
        THEN m.at + (v.retry_policy ->> 'auto_redrive_after_seconds')::int * interval '1 second' END, h.run_id
    FROM held h CROSS JOIN moment m JOIN job_versions v ON v.job_id = h.job_id AND v.version = h.version
    WHERE h.x IS NOT NULL AND h.cancel IS NULL
  )
  SELECT x.e AS id, 'missing' AS what FROM report x WHERE NOT EXISTS (SELECT FROM held h WHERE h.e = x.e)
  UNION ALL SELECT h.e, 'cancelled' FROM held h WHERE h.cancel IS NOT NULL AND h.k <> 'awaiting'`
