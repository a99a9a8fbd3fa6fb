// The statements of the worker: what waits, claim, finish. Every write names the worker and the fence of its claim,
// and takes what it records from the row it deletes or changes.
import { sql } from '../lib/sql.ts'

// Distinct lanes and hosts by skipping through the index: the cost follows their number, not that of what waits.
export const selectWaiting = sql('selectWaiting')`
  WITH RECURSIVE batch_lane AS (
    (SELECT lane FROM batches WHERE route = $1 AND worker_id IS NULL ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (SELECT b.lane FROM batches b WHERE b.route = $1 AND b.worker_id IS NULL AND b.lane > o.lane
      ORDER BY b.lane LIMIT 1) FROM batch_lane o WHERE o.lane IS NOT NULL
  ), live_lane AS (
    (SELECT lane FROM live WHERE route = $1 AND state = 'ready' AND host IS NULL ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (SELECT l.lane FROM live l WHERE l.route = $1 AND l.state = 'ready' AND l.host IS NULL AND l.lane > o.lane
      ORDER BY l.lane LIMIT 1) FROM live_lane o WHERE o.lane IS NOT NULL
  ), live_host AS (
    (SELECT host FROM live WHERE route = $1 AND state = 'ready' AND host IS NOT NULL ORDER BY host LIMIT 1)
    UNION ALL
    SELECT (SELECT l.host FROM live l WHERE l.route = $1 AND l.state = 'ready' AND l.host IS NOT NULL AND l.host > o.host
      ORDER BY l.host LIMIT 1) FROM live_host o WHERE o.host IS NOT NULL
  )
  (SELECT 'lane' AS what, n.lane AS name, coalesce(r.weight, 1) AS weight
  FROM (SELECT lane FROM batch_lane UNION SELECT lane FROM live_lane) n
  LEFT JOIN tenants t ON t.tenant_id = CASE WHEN n.lane <> 'shared' THEN n.lane::uuid END
  LEFT JOIN tiers r ON r.tier = t.tier
  WHERE n.lane IS NOT NULL LIMIT $2)
  UNION ALL
  (SELECT 'host', host, 1 FROM live_host WHERE host IS NOT NULL LIMIT $2)`

// What is taken comes from the locked rows themselves: re-read under this statement's snapshot, a batch that another
// worker has just split would give the same executions twice. Keys go into the updates as arrays: joined, the planner
// takes the lists for 118,000 rows and reads the whole backlog.
export const claimWork = sql('claimWork')`
  WITH lane AS MATERIALIZED (
    SELECT x.l AS lane, x.n FROM json_to_recordset($3::json) AS x(l text, n int)
  ), host AS MATERIALIZED (
    SELECT x.h AS host, x.n FROM json_to_recordset($4::json) AS x(h text, n int)
  ), batch AS MATERIALIZED (
    SELECT c.* FROM lane CROSS JOIN LATERAL (
      SELECT b.*, cardinality(b.positions) AS size FROM batches b
      WHERE b.route = $2 AND b.lane = lane.lane AND b.worker_id IS NULL
      ORDER BY b.rank LIMIT least($5, lane.n) FOR UPDATE SKIP LOCKED
    ) c
  ), single AS MATERIALIZED (
    SELECT c.* FROM lane CROSS JOIN LATERAL (
      SELECT l.execution_id, l.lane, l.rank FROM live l
      WHERE l.route = $2 AND l.lane = lane.lane AND l.state = 'ready' AND l.host IS NULL
      ORDER BY l.rank LIMIT lane.n FOR UPDATE SKIP LOCKED
    ) c
  ), for_host AS MATERIALIZED (
    SELECT c.* FROM host CROSS JOIN LATERAL (
      SELECT l.execution_id FROM live l
      WHERE l.route = $2 AND l.host = host.host AND l.state = 'ready'
      ORDER BY l.rank LIMIT host.n FOR UPDATE SKIP LOCKED
    ) c
  ), ordered AS MATERIALIZED (
    SELECT o.*, sum(o.size) OVER (PARTITION BY o.lane ORDER BY o.rank, o.id ROWS UNBOUNDED PRECEDING) AS upto
    FROM (
      SELECT batch_id AS id, lane, rank, size, true AS is_batch FROM batch
      UNION ALL SELECT execution_id, lane, rank, 1, false FROM single
    ) o
  ), whole AS (
    UPDATE batches b SET worker_id = $1, fence = b.fence + 1
    WHERE b.batch_id = ANY (ARRAY(
      SELECT o.id FROM ordered o JOIN lane USING (lane) WHERE o.is_batch AND o.upto <= lane.n))
    RETURNING b.*
  ), part AS MATERIALIZED (
    SELECT b.*, (lane.n - (o.upto - o.size))::int AS take
    FROM ordered o JOIN lane USING (lane) JOIN batch b ON b.batch_id = o.id
    WHERE o.is_batch AND o.upto > lane.n AND o.upto - o.size < lane.n
  ), kept AS (
    UPDATE batches b SET positions = p.positions[p.take + 1:], job_ids = p.job_ids[p.take + 1:],
      versions = p.versions[p.take + 1:], slots_ms = p.slots_ms[p.take + 1:]
    FROM part p WHERE b.batch_id = p.batch_id AND b.batch_id = ANY (ARRAY(SELECT batch_id FROM part))
  ), moved AS (
    INSERT INTO live AS l (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot,
      enqueued_at, rank, worker_id, fence, attempt)
    SELECT execution_at(p.batch_id, u.place), u.job_id, u.version, j.tenant_id, 'slot', 'running', p.route, p.lane,
      p.priority, from_ms(u.slot_ms), p.enqueued_at, p.rank, $1, 1, 1
    FROM part p CROSS JOIN LATERAL unnest(p.positions[:p.take], p.job_ids[:p.take], p.versions[:p.take],
      p.slots_ms[:p.take]) AS u(place, job_id, version, slot_ms)
    JOIN jobs j ON j.job_id = u.job_id
    RETURNING l.*
  ), claimed AS (
    UPDATE live l SET state = 'running', worker_id = $1, fence = l.fence + 1, attempt = l.attempt + 1
    WHERE l.execution_id = ANY (ARRAY(
      SELECT o.id FROM ordered o JOIN lane USING (lane) WHERE NOT o.is_batch AND o.upto <= lane.n
      UNION ALL SELECT execution_id FROM for_host))
    RETURNING l.*
  )
  SELECT batch_id AS id, fence, lane, priority, to_ms(enqueued_at) AS enqueued_ms, to_ms(rank) AS rank_ms,
    positions::text, job_ids::text, versions::text, slots_ms::text, NULL::uuid AS job_id, NULL::int AS version,
    NULL::text AS kind, NULL::bigint AS slot_ms, NULL::int AS attempt, NULL::int AS losses,
    NULL::text AS payload_override, NULL::text AS idempotency_key
  FROM whole
  UNION ALL
  SELECT execution_id, fence, lane, priority, to_ms(enqueued_at), to_ms(rank), NULL, NULL, NULL, NULL, job_id, version,
    kind, to_ms(slot), attempt, losses, payload_override::text, idempotency_key
  FROM (SELECT * FROM moved UNION ALL SELECT * FROM claimed) l`

export const selectDefinitions = sql('selectDefinitions')`
  SELECT v.job_id, v.version, v.tenant_id, v.name, v.execution, v.retry_policy, v.priority, v.jitter_seconds
  FROM json_to_recordset($1::json) AS x(j uuid, v int)
  CROSS JOIN LATERAL (SELECT * FROM job_versions v WHERE v.job_id = x.j AND v.version = x.v LIMIT 1) v`

// A position that the worker does not report goes back to the queue as unstarted: nothing vanishes with its batch.
export const finishBatches = sql('finishBatches')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), report AS MATERIALIZED (
    SELECT x.b, x.f, x.r FROM json_to_recordset($2::json) AS x(b uuid, f int, r json)
  ), holder AS MATERIALIZED (
    -- First, as reclaim does: the rows inserted below need this lock, and taken after the batches it would deadlock.
    SELECT worker_id FROM workers WHERE worker_id = $1 FOR KEY SHARE
  ), locked AS MATERIALIZED (
    SELECT b.batch_id FROM holder w CROSS JOIN report x JOIN batches b ON b.batch_id = x.b
    WHERE w.worker_id = $1 ORDER BY b.batch_id FOR UPDATE OF b
  ), gone AS (
    DELETE FROM batches b USING locked k, report x
    WHERE b.batch_id = k.batch_id AND k.batch_id = x.b AND b.worker_id = $1 AND b.fence = x.f
    RETURNING b.*, x.r AS endings
  ), held AS MATERIALIZED (
    SELECT g.route, g.lane, g.priority, g.enqueued_at, g.rank, execution_at(g.batch_id, u.place) AS execution_id,
      u.job_id, u.version, from_ms(u.slot_ms) AS slot, j.tenant_id, g.cancels ->> u.place::text AS cancel, e.*
    FROM gone g
    CROSS JOIN LATERAL unnest(g.positions, g.job_ids, g.versions, g.slots_ms) AS u(place, job_id, version, slot_ms)
    JOIN jobs j ON j.job_id = u.job_id
    LEFT JOIN LATERAL json_to_recordset(g.endings) AS e(p int, k text, o text, s float8, z float8, d int, h int,
      t text, m text, w text, a float8, x text, c text) ON e.p = u.place
  ), recorded AS (
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, finished_at, duration_ms, worker_id, http_status, error_type, error_message, preview,
      dead_letter)
    SELECT m.at, h.tenant_id, h.job_id, h.version, h.execution_id, 1, h.a IS NULL OR h.cancel IS NOT NULL, 'slot',
      CASE WHEN h.cancel IS NULL THEN h.o ELSE 'cancelled' END, h.slot, h.enqueued_at, from_ms(h.s),
      coalesce(from_ms(h.z), m.at), h.d, $1, h.h, CASE WHEN h.cancel IS NULL THEN h.t ELSE 'CANCELLED' END,
      coalesce(h.cancel, h.m), h.w, h.x IS NOT NULL AND h.cancel IS NULL
    FROM held h CROSS JOIN moment m WHERE h.k = 'ended' OR (h.cancel IS NOT NULL AND h.k IS DISTINCT FROM 'running')
  ), stayed AS (
    INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at,
      rank, ready_at, worker_id, fence, attempt, host, started_at, cancelled_at, cancel_message)
    SELECT h.execution_id, h.job_id, h.version, h.tenant_id, 'slot',
      CASE h.k WHEN 'ended' THEN 'retrying' WHEN 'running' THEN 'running' ELSE 'ready' END,
      h.route, h.lane, h.priority, h.slot, h.enqueued_at, h.rank, from_ms(h.a),
      CASE h.k WHEN 'running' THEN $1::uuid END, CASE h.k WHEN 'running' THEN 1 ELSE 0 END,
      CASE WHEN h.k IN ('ended', 'running') THEN 1 ELSE 0 END, h.c, CASE h.k WHEN 'running' THEN from_ms(h.s) END,
      CASE WHEN h.cancel IS NOT NULL THEN m.at END, h.cancel
    FROM held h CROSS JOIN moment m
    WHERE CASE WHEN h.cancel IS NULL THEN h.k IS DISTINCT FROM 'ended' OR h.a IS NOT NULL ELSE h.k = 'running' END
  ), died AS (
    INSERT INTO dead_letters (execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, payload, kind,
      slot, redrive_at)
    SELECT h.execution_id, h.tenant_id, h.job_id, v.name, h.x, m.at, 1,
      json_build_array(json_build_object('attempt', 1, 'at', h.z, 'type', h.t, 'message', h.m, 'httpStatus', h.h)),
      v.execution -> 'payload', 'slot', h.slot,
      m.at + (v.retry_policy ->> 'auto_redrive_after_seconds')::int * interval '1 second'
    FROM held h CROSS JOIN moment m JOIN job_versions v ON v.job_id = h.job_id AND v.version = h.version
    WHERE h.x IS NOT NULL AND h.cancel IS NULL
  )
  SELECT x.b AS id, true AS missing FROM report x WHERE NOT EXISTS (SELECT FROM gone g WHERE g.batch_id = x.b)
  UNION ALL SELECT h.execution_id, false FROM held h WHERE h.cancel IS NOT NULL AND h.k IS DISTINCT FROM 'running'`

export const finishLive = sql('finishLive')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), report AS MATERIALIZED (
    SELECT x.* FROM json_to_recordset($2::json) AS x(e uuid, f int, k text, o text, s float8, z float8, d int, h int,
      t text, m text, w text, a float8, x text, c text)
  ), held AS MATERIALIZED (
    SELECT l.job_id, l.version, l.tenant_id, l.kind, l.slot, l.enqueued_at, l.attempt, l.payload_override,
      l.idempotency_key, l.retry_of, l.cancel_message AS cancel, x.*
    FROM live l JOIN report x ON x.e = l.execution_id
    WHERE l.worker_id = $1 AND l.fence = x.f AND l.state = 'running'
    ORDER BY l.execution_id FOR UPDATE OF l
  ), recorded AS (
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, finished_at, duration_ms, worker_id, http_status, error_type, error_message, preview,
      dead_letter, payload_override, idempotency_key, retry_of)
    SELECT m.at, h.tenant_id, h.job_id, h.version, h.e, h.attempt, h.a IS NULL OR h.cancel IS NOT NULL, h.kind,
      CASE WHEN h.cancel IS NULL THEN h.o ELSE 'cancelled' END, h.slot, h.enqueued_at, from_ms(h.s),
      coalesce(from_ms(h.z), m.at), h.d, $1, h.h, CASE WHEN h.cancel IS NULL THEN h.t ELSE 'CANCELLED' END,
      coalesce(h.cancel, h.m), h.w, h.x IS NOT NULL AND h.cancel IS NULL, h.payload_override, h.idempotency_key, h.retry_of
    FROM held h CROSS JOIN moment m WHERE h.k = 'ended' OR h.cancel IS NOT NULL
  ), ended AS (
    DELETE FROM live l USING held h
    WHERE l.execution_id = h.e AND (h.cancel IS NOT NULL OR (h.k = 'ended' AND h.a IS NULL))
  ), stayed AS (
    UPDATE live l SET state = CASE h.k WHEN 'ended' THEN 'retrying' ELSE 'ready' END, ready_at = from_ms(h.a),
      worker_id = NULL, attempt = CASE h.k WHEN 'ended' THEN l.attempt ELSE l.attempt - 1 END, host = h.c,
      started_at = NULL
    FROM held h WHERE l.execution_id = h.e AND h.cancel IS NULL AND (h.k <> 'ended' OR h.a IS NOT NULL)
  ), died AS (
    INSERT INTO dead_letters (execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, payload,
      idempotency_key, kind, slot, redrive_at)
    SELECT h.e, h.tenant_id, h.job_id, v.name, h.x, m.at, h.attempt, (
        SELECT json_agg(y.error ORDER BY y.attempt) FROM (
          SELECT a.attempt, json_build_object('attempt', a.attempt, 'at', to_ms(coalesce(a.finished_at, a.recorded_at)),
            'type', a.error_type, 'message', a.error_message, 'httpStatus', a.http_status) AS error
          FROM attempts a WHERE a.job_id = h.job_id AND a.execution_id = h.e
          UNION ALL
          SELECT h.attempt, json_build_object('attempt', h.attempt, 'at', h.z, 'type', h.t, 'message', h.m,
            'httpStatus', h.h)
        ) y),
      coalesce(h.payload_override, v.execution -> 'payload'), h.idempotency_key, h.kind, h.slot,
      CASE WHEN h.kind <> 'redrive'
        THEN m.at + (v.retry_policy ->> 'auto_redrive_after_seconds')::int * interval '1 second' END
    FROM held h CROSS JOIN moment m JOIN job_versions v ON v.job_id = h.job_id AND v.version = h.version
    WHERE h.x IS NOT NULL AND h.cancel IS NULL
  )
  SELECT x.e AS id, true AS missing FROM report x WHERE NOT EXISTS (SELECT FROM held h WHERE h.e = x.e)
  UNION ALL SELECT h.e, false FROM held h WHERE h.cancel IS NOT NULL`

/** Flagged in the hands of a worker. */
export const selectCancelled = sql('selectCancelled')`
  SELECT execution_id FROM live WHERE worker_id = $1 AND cancelled_at IS NOT NULL
  UNION ALL
  SELECT execution_at(b.batch_id, c.place::int) FROM batches b CROSS JOIN LATERAL jsonb_object_keys(b.cancels) AS c(place)
  WHERE b.worker_id = $1 AND b.cancels IS NOT NULL`

// A row that the reclaim wrote is not ours. Two days: longer than any outage of which a worker keeps its results.
export const findOwn = sql('findOwn')`
  SELECT x.e AS execution_id, coalesce((
      SELECT 'recorded' FROM attempts a WHERE a.job_id = x.j AND a.execution_id = x.e AND a.attempt = x.n
        AND a.worker_id = $1 AND a.outcome <> 'lost' AND a.recorded_at > now() - interval '2 days' LIMIT 1
    ), (SELECT 'held' FROM live l WHERE l.execution_id = x.e AND l.worker_id = $1 LIMIT 1)) AS state
  FROM json_to_recordset($2::json) AS x(e uuid, n int, j uuid)`

// What somebody has cancelled meanwhile is not handed back: it ends here.
export const returnBatches = sql('returnBatches')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), locked AS MATERIALIZED (
    SELECT batch_id FROM batches WHERE worker_id = $1 AND batch_id <> ALL ($2::uuid[]) ORDER BY batch_id FOR UPDATE
  ), gone AS (
    DELETE FROM batches WHERE batch_id = ANY (ARRAY(SELECT batch_id FROM locked)) RETURNING *
  ), held AS MATERIALIZED (
    SELECT g.route, g.lane, g.priority, g.enqueued_at, g.rank, execution_at(g.batch_id, u.place) AS execution_id,
      u.job_id, u.version, from_ms(u.slot_ms) AS slot, j.tenant_id, g.cancels ->> u.place::text AS cancel
    FROM gone g
    CROSS JOIN LATERAL unnest(g.positions, g.job_ids, g.versions, g.slots_ms) AS u(place, job_id, version, slot_ms)
    JOIN jobs j ON j.job_id = u.job_id
  ), recorded AS (
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, finished_at, worker_id, error_type, error_message)
    SELECT m.at, h.tenant_id, h.job_id, h.version, h.execution_id, 1, true, 'slot', 'cancelled', h.slot, h.enqueued_at,
      m.at, $1, 'CANCELLED', h.cancel
    FROM held h CROSS JOIN moment m WHERE h.cancel IS NOT NULL
  )
  INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank)
  SELECT execution_id, job_id, version, tenant_id, 'slot', 'ready', route, lane, priority, slot, enqueued_at, rank
  FROM held WHERE cancel IS NULL`

export const returnLive = sql('returnLive')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), held AS MATERIALIZED (
    SELECT * FROM live WHERE worker_id = $1 AND execution_id <> ALL ($2::uuid[]) ORDER BY execution_id FOR UPDATE
  ), recorded AS (
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, finished_at, worker_id, error_type, error_message, payload_override, idempotency_key,
      retry_of)
    SELECT m.at, h.tenant_id, h.job_id, h.version, h.execution_id, h.attempt, true, h.kind, 'cancelled', h.slot,
      h.enqueued_at, h.started_at, m.at, $1, 'CANCELLED', h.cancel_message, h.payload_override, h.idempotency_key,
      h.retry_of
    FROM held h CROSS JOIN moment m WHERE h.cancelled_at IS NOT NULL
  ), ended AS (
    DELETE FROM live l USING held h WHERE l.execution_id = h.execution_id AND h.cancelled_at IS NOT NULL
  )
  UPDATE live l SET state = 'ready', worker_id = NULL, attempt = l.attempt - 1, started_at = NULL
  FROM held h WHERE l.execution_id = h.execution_id AND h.cancelled_at IS NULL`
