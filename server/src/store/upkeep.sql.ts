// The statements of upkeep: return what a dead worker held, wake retries, release what waits.
import { sql } from '../lib/sql.ts'

/** A claim in flight holds a key-share lock on this row, so it is seen or it fails. */
export const lockSilentWorker = sql('lockSilentWorker')`
  SELECT worker_id FROM workers WHERE worker_id = $1 AND beats = $2 FOR UPDATE`

export const reclaimBatches = sql('reclaimBatches')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), gone AS (
    DELETE FROM batches WHERE worker_id = $1 RETURNING *
  ), held AS MATERIALIZED (
    SELECT g.route, g.lane, g.priority, g.enqueued_at, g.rank, execution_at(g.batch_id, u.place) AS execution_id,
      u.job_id, u.version, from_ms(u.slot_ms) AS slot, j.tenant_id
    FROM gone g
    CROSS JOIN LATERAL unnest(g.positions, g.job_ids, g.versions, g.slots_ms) AS u(place, job_id, version, slot_ms)
    JOIN jobs j ON j.job_id = u.job_id
  ), recorded AS (
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, finished_at, worker_id, error_type, error_message)
    SELECT m.at, h.tenant_id, h.job_id, h.version, h.execution_id, 1, false, 'slot', 'lost', h.slot, h.enqueued_at, m.at,
      $1, 'WORKER_LOST', $2
    FROM held h CROSS JOIN moment m
  )
  INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank,
    attempt, losses)
  SELECT h.execution_id, h.job_id, h.version, h.tenant_id, 'slot', 'ready', h.route, h.lane, h.priority, h.slot,
    h.enqueued_at, h.rank, 1, 1
  FROM held h`

export const reclaimLive = sql('reclaimLive')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), held AS MATERIALIZED (
    SELECT l.*, l.losses + 1 >= $3 AS dead FROM live l WHERE l.worker_id = $1 ORDER BY l.execution_id FOR UPDATE
  ), recorded AS (
    INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
      enqueued_at, started_at, finished_at, worker_id, error_type, error_message, dead_letter, payload_override,
      idempotency_key, retry_of)
    SELECT m.at, h.tenant_id, h.job_id, h.version, h.execution_id, h.attempt, h.dead, h.kind, 'lost', h.slot,
      h.enqueued_at, h.started_at, m.at, $1, 'WORKER_LOST', $2, h.dead, h.payload_override, h.idempotency_key, h.retry_of
    FROM held h CROSS JOIN moment m
  ), ended AS (
    DELETE FROM live l USING held h WHERE l.execution_id = h.execution_id AND h.dead
  ), died AS (
    INSERT INTO dead_letters (execution_id, tenant_id, job_id, job_name, reason, died_at, attempts, errors, payload,
      idempotency_key, kind, slot, redrive_at)
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
        THEN m.at + (v.retry_policy ->> 'auto_redrive_after_seconds')::int * interval '1 second' END
    FROM held h CROSS JOIN moment m JOIN job_versions v ON v.job_id = h.job_id AND v.version = h.version
    WHERE h.dead
  )
  UPDATE live l SET state = 'ready', worker_id = NULL, losses = l.losses + 1, started_at = NULL
  FROM held h WHERE l.execution_id = h.execution_id AND NOT h.dead`

export const deleteReclaimed = sql('deleteReclaimed')`DELETE FROM workers WHERE worker_id = $1`

// A CTE, not a subquery: the planner may loop over a LIMITed subquery and take more than $1 rows.
export const wakeRetries = sql('wakeRetries')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), due AS MATERIALIZED (
    SELECT execution_id FROM live WHERE state = 'retrying' AND ready_at <= clock_timestamp()
    ORDER BY ready_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )
  UPDATE live l SET state = 'ready', ready_at = NULL, host = NULL, enqueued_at = m.at,
    rank = m.at + l.priority * interval '60 seconds'
  FROM due d CROSS JOIN moment m WHERE l.execution_id = d.execution_id`

export const selectNextRetry = sql('selectNextRetry')`
  SELECT min(ready_at) AS at FROM live WHERE state = 'retrying'`

export const selectWaitingJobs = sql('selectWaitingJobs')`
  SELECT w.job_id, c.version, v.tenant_id, v.priority, v.overlap_policy, v.schedule, v.anchor_at, k.from_slot, k.to_slot
  FROM (
    (SELECT DISTINCT job_id FROM live WHERE state = 'waiting' AND job_id > $1 ORDER BY job_id LIMIT $2)
    UNION
    (SELECT job_id FROM catchups WHERE job_id > $1 ORDER BY job_id LIMIT $2)
    ORDER BY job_id LIMIT $2
  ) w
  JOIN cursors c ON c.job_id = w.job_id
  JOIN job_versions v ON v.job_id = w.job_id AND v.version = c.version
  LEFT JOIN catchups k ON k.job_id = w.job_id
  ORDER BY w.job_id`

// In a statement after lockCursors, which keeps fires and triggers of these jobs out meanwhile. An owed slot goes to
// `live`, where the job leads to it: its row in slots is older than those of on-time slots that were skipped since.
export const releaseWaiting = sql('releaseWaiting')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), item AS MATERIALIZED (
    SELECT x.*, from_ms(x.s) AS slot, from_ms(x.n) AS next
    FROM json_to_recordset($1::json) AS x(j uuid, v int, s float8, n float8, e uuid, r text, l text, p int)
  ), idle AS MATERIALIZED (
    SELECT i.* FROM item i JOIN cursors c ON c.job_id = i.j
    WHERE c.version = i.v
      AND NOT EXISTS (SELECT FROM live l WHERE l.job_id = i.j AND l.state <> 'waiting')
      AND NOT EXISTS (
        SELECT FROM batches b WHERE i.j = ANY (b.job_ids) AND b.batch_id = batch_of((
          SELECT s.execution_id FROM slots s WHERE s.job_id = i.j ORDER BY s.slot DESC LIMIT 1)))
      AND (NOT c.scattered OR NOT EXISTS (SELECT FROM batches b WHERE b.job_ids @> ARRAY[i.j]))
  ), chosen AS MATERIALIZED (
    SELECT DISTINCT ON (w.job_id) w.execution_id FROM idle i JOIN live w ON w.job_id = i.j AND w.state = 'waiting'
    ORDER BY w.job_id, w.rank, w.execution_id
  ), let_go AS (
    UPDATE live l SET state = 'ready' FROM chosen h WHERE l.execution_id = h.execution_id RETURNING l.job_id
  ), owed AS MATERIALIZED (
    SELECT i.j, i.v, i.e, i.r, i.l, i.p, i.slot, k.to_slot, greatest(i.next, x.to_slot + interval '1 millisecond') AS next,
      x.to_slot IS NULL AND i.slot <= k.to_slot AS runs
    FROM idle i JOIN catchups k ON k.job_id = i.j
    -- A second hold-up may have recorded slots of the owed range as misfired: they have their record.
    LEFT JOIN LATERAL (
      SELECT x.to_slot FROM skips x WHERE x.job_id = i.j AND x.reason = 'misfire' AND x.from_slot <= i.slot
      ORDER BY x.from_slot DESC LIMIT 1
    ) x ON x.to_slot >= i.slot
    WHERE k.from_slot <= i.slot AND NOT EXISTS (SELECT FROM let_go g WHERE g.job_id = i.j)
  ), inserted AS (
    INSERT INTO slots (job_id, slot, execution_id) SELECT j, slot, e FROM owed WHERE runs
    ON CONFLICT DO NOTHING RETURNING job_id
  ), enqueued AS (
    INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at,
      rank)
    SELECT o.e, o.j, o.v, j.tenant_id, 'slot', 'ready', o.r, o.l, o.p, o.slot, m.at, m.at + o.p * interval '60 seconds'
    FROM owed o JOIN inserted n ON n.job_id = o.j JOIN jobs j ON j.job_id = o.j CROSS JOIN moment m
  ), advanced AS (
    UPDATE catchups k SET from_slot = o.next FROM owed o WHERE k.job_id = o.j AND o.next <= o.to_slot
  ), paid AS (
    DELETE FROM catchups k USING owed o WHERE k.job_id = o.j AND (o.next IS NULL OR o.next > o.to_slot)
  )
  SELECT job_id FROM let_go UNION ALL SELECT job_id FROM inserted`
