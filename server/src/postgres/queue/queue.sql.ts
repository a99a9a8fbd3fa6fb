// The statements of the worker: list waiting work, claim, finish. Every write names the worker and the fence of its
// claim, and takes the values it records from the row it deletes or changes.
import { fragment, sql } from '../../lib/sql.ts'
import { deadlineAfter, endingItem, endLive, endPositions, ownPayloads } from '../sql/ending.ts'
import { claimedSingle, heldBy, suspect } from '../sql/fragments.ts'
import { columnsOf, insertAttempts, insertLive } from '../sql/insert.ts'
import { definitionItem, finishedBatchItem, hostItem, laneItem } from './items.ts'

/** An execution (l) that waits for a host, and not for the budget of its tenant. As the index live_hosts has it. */
const waitsForHost = fragment`l.state = 'ready' AND l.host IS NOT NULL AND l.host <> 'quota'`

// Distinct lanes and hosts of each route by skipping through the index: the cost grows with their number, not with the
// number of waiting executions. Of more than are asked for, each look brings others, so that every one has its turn: lanes
// of tenants at their limits may be there for long. The shared lane is always among them.
// Of a tenant no more hosts than are asked for ($2) are visited, and fewer where many tenants have some, since a tenant can
// make as many as it likes: in the order of their names, behind the last one of the look before ($3 routes, $4 tenants, $5 hosts).
// `last host`: the next look goes on behind it. Tenants take turns in the list, so that the hosts of one hide no others.
export const selectWaiting = sql('selectWaiting')`
  WITH RECURSIVE batch_lane AS (
    SELECT r.route, (SELECT b.lane FROM batches b WHERE b.route = r.route AND b.worker_id IS NULL
      ORDER BY b.lane LIMIT 1) AS lane FROM unnest($1::text[]) AS r(route)
    UNION ALL
    SELECT o.route, (SELECT b.lane FROM batches b
      WHERE b.route = o.route AND b.worker_id IS NULL AND b.lane > o.lane
      ORDER BY b.lane LIMIT 1) FROM batch_lane o WHERE o.lane IS NOT NULL
  ), live_lane AS (
    SELECT r.route, (SELECT l.lane FROM live l
      WHERE l.route = r.route AND l.state = 'ready' AND l.host IS NULL
      ORDER BY l.lane LIMIT 1) AS lane FROM unnest($1::text[]) AS r(route)
    UNION ALL
    SELECT o.route, (SELECT l.lane FROM live l
      WHERE l.route = o.route AND l.state = 'ready' AND l.host IS NULL
      AND l.lane > o.lane ORDER BY l.lane LIMIT 1) FROM live_lane o WHERE o.lane IS NOT NULL
  ), host_tenant AS (
    SELECT r.route, (SELECT l.tenant_id FROM live l
      WHERE l.route = r.route AND ${waitsForHost}
      ORDER BY l.tenant_id LIMIT 1) AS tenant_id FROM unnest($1::text[]) AS r(route)
    UNION ALL
    SELECT o.route, (SELECT l.tenant_id FROM live l
      WHERE l.route = o.route AND ${waitsForHost} AND l.tenant_id > o.tenant_id
      ORDER BY l.tenant_id LIMIT 1) FROM host_tenant o WHERE o.tenant_id IS NOT NULL
  ), visited AS MATERIALIZED (
    SELECT least($2::bigint, greatest(16, 2 * $2::bigint / greatest(1, count(DISTINCT tenant_id)))) AS hosts
    FROM host_tenant
  ), live_host AS (
    SELECT o.route, o.tenant_id, 1 AS nth, coalesce(
      (SELECT l.host FROM live l
        WHERE l.route = o.route AND l.tenant_id = o.tenant_id AND ${waitsForHost} AND l.host > f.host
        ORDER BY l.host LIMIT 1),
      (SELECT l.host FROM live l
        WHERE l.route = o.route AND l.tenant_id = o.tenant_id AND ${waitsForHost}
        ORDER BY l.host LIMIT 1)) AS host
    FROM host_tenant o
    LEFT JOIN unnest($3::text[], $4::uuid[], $5::text[]) AS f(route, tenant_id, host) USING (route, tenant_id)
    WHERE o.tenant_id IS NOT NULL
    UNION ALL
    SELECT o.route, o.tenant_id, o.nth + 1, (SELECT l.host FROM live l
      WHERE l.route = o.route AND l.tenant_id = o.tenant_id AND ${waitsForHost} AND l.host > o.host
      ORDER BY l.host LIMIT 1) FROM live_host o WHERE o.host IS NOT NULL AND o.nth < (SELECT hosts FROM visited)
  )
  (SELECT 'lane' AS what, n.lane AS name, coalesce(r.weight, 1) AS weight, NULL AS route, NULL::uuid AS tenant_id
  FROM (SELECT lane FROM batch_lane UNION SELECT lane FROM live_lane) n
  LEFT JOIN tenants t ON t.tenant_id = CASE WHEN n.lane <> 'shared' THEN n.lane::uuid END
  LEFT JOIN tiers r ON r.tier = t.tier
  WHERE n.lane IS NOT NULL ORDER BY n.lane <> 'shared', random() LIMIT $2)
  UNION ALL
  (SELECT 'host', h.host, 1, NULL, NULL
  FROM (
    SELECT l.host, row_number() OVER (PARTITION BY l.tenant_id ORDER BY random()) AS turn
    FROM live_host l WHERE l.host IS NOT NULL
  ) h
  GROUP BY h.host ORDER BY min(h.turn), random() LIMIT $2)
  UNION ALL
  SELECT 'last host', l.host, 1, l.route, l.tenant_id
  FROM live_host l WHERE l.host IS NOT NULL AND l.nth = (SELECT hosts FROM visited)`

/** Of a row (l) that worker $1 takes at a moment (m.at), of a version (v) of its job. */
const claimedLive = fragment`
  state = 'running', worker_id = $1, fence = l.fence + 1, attempt = l.attempt + 1, started_at = m.at,
  deadline = ${deadlineAfter(fragment`m.at`)},
    silent_at = m.at + v.heartbeat_timeout_seconds * interval '1 second',
  total_deadline = coalesce(l.total_deadline, m.at + v.total_timeout_seconds * interval '1 second')`

// The claimed executions come from the locked rows themselves: re-read under this statement's snapshot, a batch that
// another worker has just split would yield the same executions twice. Keys go into the updates as arrays: joined, the
// planner estimates the lists at 118,000 rows and reads the whole backlog. On each route ($2) as many rows are locked
// as may be claimed in total, because only then is it known which of them come first; the others are free again after
// the commit.
// $6: whether the next batch is split when it does not fit behind others; the first of a lane always is.
// The worker is locked first, as reclaim does: lanes and hosts come with its lock, and nothing is locked without them.
// Locked by the update, while rows are locked that others wait for, it would deadlock. A worker that is gone fails at
// the update.
// A row of its own gets its start and its deadlines here; its actual start comes with its end report. Workers enforce
// the timeout of an attempt themselves; a minute later maintenance does.
export const claimWork = sql('claimWork')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), holder AS MATERIALIZED (
    SELECT worker_id FROM workers WHERE worker_id = $1 FOR KEY SHARE
  ), lane AS MATERIALIZED (
    SELECT ${laneItem.named(fragment`x`)}
    FROM json_to_recordset($3::json) AS x(${laneItem.columns})
    LEFT JOIN holder ON true
  ), host AS MATERIALIZED (
    SELECT ${hostItem.named(fragment`x`)}
    FROM json_to_recordset($4::json) AS x(${hostItem.columns})
    LEFT JOIN holder ON true
  ), batch AS MATERIALIZED (
    SELECT c.* FROM lane CROSS JOIN unnest($2::text[]) AS r(route) CROSS JOIN LATERAL (
      SELECT b.*, cardinality(b.positions) AS size FROM batches b
      WHERE b.route = r.route AND b.lane = lane.lane AND b.worker_id IS NULL
      ORDER BY b.rank LIMIT least($5, lane.count) FOR UPDATE SKIP LOCKED
    ) c
  ), single AS MATERIALIZED (
    SELECT c.* FROM lane CROSS JOIN unnest($2::text[]) AS r(route) CROSS JOIN LATERAL (
      SELECT l.execution_id, l.lane, l.rank FROM live l
      WHERE l.route = r.route AND l.lane = lane.lane AND l.state = 'ready' AND l.host IS NULL
      ORDER BY l.rank LIMIT lane.count FOR UPDATE SKIP LOCKED
    ) c
  ), for_host AS MATERIALIZED (
    SELECT c.execution_id, host.count, row_number() OVER (PARTITION BY c.host
      ORDER BY c.rank, c.execution_id) AS nth
    FROM host CROSS JOIN unnest($2::text[]) AS r(route) CROSS JOIN LATERAL (
      SELECT l.execution_id, l.host, l.rank FROM live l
      WHERE l.route = r.route AND l.host = host.host AND l.state = 'ready'
      ORDER BY l.rank LIMIT host.count FOR UPDATE SKIP LOCKED
    ) c
  ), ordered AS MATERIALIZED (
    -- An execution that left a batch from position 0 has the id of the batch: it goes first.
    SELECT o.*, sum(o.size) OVER (
      PARTITION BY o.lane ORDER BY o.rank, o.id, o.is_batch ROWS UNBOUNDED PRECEDING
    ) AS upto
    FROM (
      SELECT batch_id AS id, lane, rank, size, true AS is_batch FROM (
        SELECT b.*, row_number() OVER (PARTITION BY b.lane ORDER BY b.rank, b.batch_id) AS nth FROM batch b
      ) b WHERE nth <= $5
      UNION ALL SELECT execution_id, lane, rank, 1, false FROM single
    ) o
  ), whole AS (
    UPDATE batches b SET worker_id = $1, fence = b.fence + 1, claimed_at = m.at FROM moment m
    WHERE b.batch_id = ANY (ARRAY(
      SELECT o.id FROM ordered o JOIN lane USING (lane) WHERE o.is_batch AND o.upto <= lane.count))
    RETURNING b.*
  ), part AS MATERIALIZED (
    SELECT b.*, (lane.count - (o.upto - o.size))::int AS take
    FROM ordered o JOIN lane USING (lane) JOIN batch b ON b.batch_id = o.id
    WHERE o.is_batch AND o.upto > lane.count AND o.upto - o.size < lane.count AND ($6 OR o.upto = o.size)
  ), kept AS (
    UPDATE batches b SET positions = p.positions[p.take + 1:], job_ids = p.job_ids[p.take + 1:],
      versions = p.versions[p.take + 1:], slots_ms = p.slots_ms[p.take + 1:]
    FROM part p WHERE b.batch_id = p.batch_id AND b.batch_id = ANY (ARRAY(SELECT batch_id FROM part))
  ), moved AS (
    ${insertLive(
      {
        ...columnsOf(fragment`p`, 'kind', 'route', 'lane', 'priority', 'enqueued_at', 'rank'),
        ...columnsOf(fragment`u`, 'job_id', 'version'),
        execution_id: fragment`execution_at(p.batch_id, u.position)`,
        tenant_id: fragment`j.tenant_id`,
        state: fragment`'running'`,
        slot: fragment`from_ms(u.slot_ms)`,
        worker_id: fragment`$1`,
        fence: fragment`1`,
        attempt: fragment`1`,
        started_at: fragment`m.at`,
        deadline: deadlineAfter(fragment`m.at`),
        payload_override: fragment`u.payload`,
      },
      fragment`
        FROM part p
        CROSS JOIN moment m
        CROSS JOIN LATERAL unnest(p.positions[:p.take], p.job_ids[:p.take], p.versions[:p.take],
          p.slots_ms[:p.take], (${ownPayloads(fragment`p`)})[:p.take]) AS u(position, job_id, version, slot_ms,
            payload)
        -- LIMIT keeps the planner, which takes the lists for far longer, from reading all jobs.
        CROSS JOIN LATERAL (SELECT j.tenant_id FROM jobs j WHERE j.job_id = u.job_id LIMIT 1) j
        LEFT JOIN LATERAL (
          SELECT v.timeout_seconds FROM job_versions v
            WHERE v.job_id = u.job_id AND v.version = u.version LIMIT 1
        ) v ON true`,
    )}
    RETURNING l.*
  ), claimed AS (
    UPDATE live l SET ${claimedLive}
    FROM moment m CROSS JOIN job_versions v
    WHERE v.job_id = l.job_id AND v.version = l.version AND l.execution_id = ANY (ARRAY(
      SELECT o.id FROM ordered o JOIN lane USING (lane) WHERE NOT o.is_batch AND o.upto <= lane.count
      UNION ALL SELECT execution_id FROM for_host WHERE nth <= count))
    RETURNING l.*
  )
  SELECT batch_id AS id, fence, lane, priority, to_ms(enqueued_at) AS enqueued_ms, to_ms(rank) AS rank_ms,
    positions::text, job_ids::text, versions::text, slots_ms::text, NULL::uuid AS job_id,
      NULL::int AS version,
    kind, NULL::bigint AS slot_ms, NULL::int AS attempt, NULL::int AS losses, NULL::text AS payload_override,
    NULL::text AS idempotency_key, NULL::text AS checkpoint, NULL::bigint AS total_deadline_ms,
      false AS suspect,
    NULL::uuid AS run_id, payloads::text
  FROM whole
  UNION ALL
  SELECT execution_id, fence, lane, priority, to_ms(enqueued_at), to_ms(rank), NULL, NULL, NULL, NULL,
    job_id, version,
    kind, to_ms(slot), attempt, losses, payload_override::text, idempotency_key, checkpoint::text,
      to_ms(total_deadline),
    coalesce(host = ${suspect}, false), run_id, NULL
  FROM (SELECT * FROM moved UNION ALL SELECT * FROM claimed) l`

// A claim within the capacity of a worker: its row is locked against other claims of the same worker, then the executions
// it holds are counted under a snapshot that is taken after the lock, in a statement of its own. A full worker is not
// locked: a lock is a write. The lock lets finishes and reports through, which need a key share; beats wait for it.
export const lockRoomyWorker = sql('lockRoomyWorker')`
  SELECT FROM workers w WHERE w.worker_id = $1 AND ${heldBy(fragment`$1`)} < w.capacity FOR NO KEY UPDATE`

export const selectRoom = sql('selectRoom')`
  SELECT w.capacity - ${heldBy(fragment`$1`)} AS room FROM workers w WHERE w.worker_id = $1`

// For a worker with nothing in flight: claims just-triggered executions, if no batch comes before them, with everything
// needed to run them. It costs a fraction of the statement above, which takes 1.8 ms to find nothing when polled every
// 100 ms ([m]).
// $2 routes, $3 lane, $4 how many.
export const claimSingles = sql('claimSingles')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), ready AS MATERIALIZED (
    SELECT r.route FROM unnest($2::text[]) AS r(route) CROSS JOIN LATERAL (
      SELECT FROM live l WHERE l.route = r.route AND l.lane = $3 AND l.state = 'ready'
        AND l.host IS NULL LIMIT 1
    ) l
  ), holder AS MATERIALIZED (
    -- Only when there is something: a lock is a write, which waits for the disk.
    SELECT worker_id FROM workers WHERE worker_id = $1 AND EXISTS (SELECT FROM ready) FOR KEY SHARE
  ), asked AS MATERIALIZED (
    SELECT r.route FROM ready r LEFT JOIN holder ON true
  ), batch AS MATERIALIZED (
    SELECT min(c.rank) AS rank FROM unnest($2::text[]) AS r(route) CROSS JOIN LATERAL (
      SELECT b.rank FROM batches b WHERE b.route = r.route AND b.lane = $3 AND b.worker_id IS NULL
        ORDER BY b.rank LIMIT 1
    ) c
  ), single AS MATERIALIZED (
    SELECT c.* FROM asked r CROSS JOIN LATERAL (
      SELECT l.execution_id, l.rank FROM live l
      WHERE l.route = r.route AND l.lane = $3 AND l.state = 'ready' AND l.host IS NULL
        AND l.rank < coalesce((SELECT b.rank FROM batch b), 'infinity')
      ORDER BY l.rank LIMIT $4 FOR UPDATE SKIP LOCKED
    ) c
  )
  UPDATE live l SET ${claimedLive}
  FROM moment m CROSS JOIN job_versions v
  WHERE v.job_id = l.job_id AND v.version = l.version
    AND l.execution_id = ANY (ARRAY(SELECT execution_id FROM single ORDER BY rank, execution_id LIMIT $4))
  RETURNING ${claimedSingle}`

export const selectDefinitions = sql('selectDefinitions')`
  SELECT v.job_id, v.version, v.tenant_id, v.name, v.execution, v.retry_policy, v.priority, v.jitter_seconds
  FROM (
    SELECT ${definitionItem.named(fragment`x`)}
      FROM json_to_recordset($1::json) AS x(${definitionItem.columns})
  ) x
  CROSS JOIN LATERAL (
    SELECT * FROM job_versions v WHERE v.job_id = x.job_id AND v.version = x.version LIMIT 1
  ) v`

// Most batches finish as a whole, with every execution succeeded. The reports of such batches are concatenated arrays
// ($4 where the reports of a batch begin, $5 where they end), in the order of the batch's positions, which is checked.
// A batch with a cancelled execution, or one that has left, is not changed but returned, and `finishBatches` finishes
// it ([m] 2,000 executions: half of the CPU).
// A tenant's own lane is named by the tenant's id. $6 positions, $7 when each began, $8 when it ended, $9 ms, $10 HTTP
// status, $11 previews, $12 CPU, $13 bytes sent, $14 received (each null when no report has it).
export const finishSucceeded = sql('finishSucceeded')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), report AS MATERIALIZED (
    SELECT * FROM unnest($2::uuid[], $3::int[], $4::int[], $5::int[]) AS x(batch_id, fence, first, last)
  ), holder AS MATERIALIZED (
    SELECT worker_id FROM workers WHERE worker_id = $1 FOR KEY SHARE
  ), locked AS MATERIALIZED (
    SELECT b.batch_id FROM holder w
    CROSS JOIN batches b
    WHERE w.worker_id = $1 AND b.batch_id = ANY ($2::uuid[])
    ORDER BY b.batch_id FOR UPDATE OF b
  ), gone AS (
    DELETE FROM batches b USING locked k, report x
    WHERE b.batch_id = k.batch_id AND k.batch_id = x.batch_id AND (b.worker_id = $1) IS TRUE
      AND b.fence = x.fence
      AND b.cancels IS NULL AND b.positions = ($6::smallint[])[x.first:x.last]
    RETURNING b.*, x.first, x.last
  ), recorded AS (
    ${insertAttempts(
      {
        ...columnsOf(fragment`u`, 'job_id', 'version', 'duration_ms', 'http_status', 'preview'),
        ...columnsOf(fragment`u`, 'cpu_ms', 'bytes_sent', 'bytes_received'),
        ...columnsOf(fragment`g`, 'kind', 'enqueued_at'),
        recorded_at: fragment`m.at`,
        tenant_id: fragment`
          coalesce(g.tenant_id, (SELECT j.tenant_id FROM jobs j WHERE j.job_id = u.job_id))`,
        execution_id: fragment`(g.stem || substr(to_hex(256 + u.position), 2))::uuid`,
        attempt: fragment`1`,
        final: fragment`true`,
        outcome: fragment`'succeeded'`,
        slot: fragment`from_ms(u.slot_ms)`,
        started_at: fragment`from_ms(u.started_ms)`,
        finished_at: fragment`from_ms(u.finished_ms)`,
        worker_id: fragment`$1`,
        dead_letter: fragment`false`,
        payload_override: fragment`u.payload`,
      },
      fragment`
        FROM (
          SELECT *, CASE WHEN lane <> 'shared'
            THEN lane::uuid END AS tenant_id, left(batch_id::text, 34) AS stem
          FROM gone
        ) g
        CROSS JOIN moment m
        CROSS JOIN LATERAL unnest(g.positions, g.job_ids, g.versions, g.slots_ms,
          ($7::bigint[])[g.first:g.last], ($8::bigint[])[g.first:g.last], ($9::int[])[g.first:g.last],
          ($10::smallint[])[g.first:g.last], ($11::text[])[g.first:g.last], ($12::bigint[])[g.first:g.last],
          ($13::int[])[g.first:g.last], ($14::int[])[g.first:g.last], ${ownPayloads(fragment`g`)})
          AS u(position, job_id, version, slot_ms, started_ms, finished_ms, duration_ms, http_status, preview,
            cpu_ms, bytes_sent, bytes_received, payload)`,
    )}
  )
  SELECT x.batch_id FROM report x WHERE x.batch_id NOT IN (SELECT g.batch_id FROM gone g)`

// First the lock on the worker, as reclaim does: the rows inserted below need it, and taken after the batches it would
// deadlock. Positions that were reported (n in all of a batch) and are not in it any more have left it before.
export const finishBatches = sql('finishBatches')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), report AS MATERIALIZED (
    SELECT ${finishedBatchItem.named(fragment`x`)}
    FROM json_to_recordset($2::json) AS x(${finishedBatchItem.columns})
  ), holder AS MATERIALIZED (
    SELECT worker_id FROM workers WHERE worker_id = $1 FOR KEY SHARE
  ), locked AS MATERIALIZED (
    -- By a list of ids, not by a join: a plan made while the table was young would read all of it, with the dead rows
    -- that an old snapshot keeps ([m] 90 ms with 60,000 dead batches, now 1 ms).
    SELECT b.batch_id FROM holder w
    CROSS JOIN batches b
    WHERE w.worker_id = $1 AND b.batch_id = ANY (ARRAY(SELECT x.batch_id FROM report x))
    ORDER BY b.batch_id FOR UPDATE OF b
  ), gone AS (
    DELETE FROM batches b USING locked k, report x
    -- IS TRUE keeps the planner from the index of held batches, which has every batch that the worker ever held.
    WHERE b.batch_id = k.batch_id AND k.batch_id = x.batch_id AND (b.worker_id = $1) IS TRUE
      AND b.fence = x.fence
    RETURNING b.*, x.endings, x.size
  ), held AS MATERIALIZED (
    SELECT g.route, g.lane, g.priority, g.enqueued_at, g.rank, g.worker_id,
      execution_at(g.batch_id, u.position) AS execution_id, u.job_id, u.version, from_ms(u.slot_ms) AS slot,
        j.tenant_id,
      g.cancels ->> u.position::text AS cancel, g.kind, u.payload, e.p AS reported_place,
      ${endingItem.named(fragment`e`)}
    FROM gone g
    CROSS JOIN LATERAL unnest(g.positions, g.job_ids, g.versions, g.slots_ms, ${ownPayloads(fragment`g`)})
      AS u(position, job_id, version, slot_ms, payload)
    JOIN jobs j ON j.job_id = u.job_id
    LEFT JOIN LATERAL json_to_recordset(g.endings) AS e(p int, ${endingItem.columns}) ON e.p = u.position
  ), ${endPositions}
  SELECT x.batch_id AS id, 'missing' AS what FROM report x
  WHERE NOT EXISTS (SELECT FROM gone g WHERE g.batch_id = x.batch_id)
  UNION ALL
  SELECT h.execution_id, 'cancelled' FROM held h
  WHERE h.cancel IS NOT NULL AND (h.ending IN ('running', 'awaiting')) IS NOT TRUE
  UNION ALL
  -- Counted first, so that the reports are not read twice when nothing has left.
  SELECT execution_at(g.batch_id, e.p), 'left' FROM gone g
  CROSS JOIN LATERAL json_to_recordset(g.endings) AS e(p int)
  WHERE (SELECT count(h.reported_place) FROM held h) < (SELECT sum(y.size)
    FROM gone y) AND e.p <> ALL (g.positions)`

// $2 the worker. IS TRUE keeps the planner from using the index of executions held by a worker, which is the longer way
// to a row.
export const finishLive = endLive(
  'finishLive',
  fragment`(l.worker_id = $2) IS TRUE AND l.fence = x.fence AND l.state = 'running'`,
)

/** Flagged, and held by a worker. */
export const selectCancelled = sql('selectCancelled')`
  SELECT execution_id FROM live WHERE worker_id = $1 AND cancelled_at IS NOT NULL
  UNION ALL
  SELECT execution_at(b.batch_id, c.position::int) FROM batches b
  CROSS JOIN LATERAL jsonb_object_keys(b.cancels) AS c(position)
  WHERE b.worker_id = $1 AND b.cancels IS NOT NULL`
