// The statements on `workers` and `former_workers`.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'
import { heldBy } from '../sql/fragments.ts'

export const insertWorker = sql('insertWorker')`
  INSERT INTO workers (worker_id, tenant_id, host, port, version, labels, executors, handlers, capacity,
    generation)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  ON CONFLICT (worker_id) DO NOTHING`

/** One after the other, so that their number holds. */
export const lockTenantWorkers = sql('lockTenantWorkers')`
  SELECT pg_advisory_xact_lock(7420, hashtext('workers of ' || $1::uuid))`

// $11: how many the tenant may have. A worker that is registered already is answered as one that is registered now.
export const insertTenantWorker = sql('insertTenantWorker')`
  WITH made AS (
    INSERT INTO workers (worker_id, tenant_id, host, port, version, labels, executors, handlers, capacity,
      generation)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
    WHERE (SELECT count(*) FROM (SELECT FROM workers w WHERE w.tenant_id = $2 LIMIT $11) w) < $11
    ON CONFLICT (worker_id) DO NOTHING
    RETURNING worker_id
  )
  SELECT worker_id FROM made
  UNION ALL
  SELECT worker_id FROM workers WHERE worker_id = $1`

// current_load is written for programs of an older version; ours count the executions that a worker holds.
export const beatWorker = sql('beatWorker')`
  UPDATE workers SET beats = beats + 1, status = $2, current_load = $3, generation = $4,
    beat_at = date_trunc('milliseconds', clock_timestamp())
  WHERE worker_id = $1`

const columns = fragment`
  worker_id, tenant_id, host, port, version, labels, executors, handlers, capacity, registered_at, beat_at`

/**
 * Deletes a worker ($1) and remembers it for people, unless its tenant has as many such already. $2 its status from now
 * on, $3 for how many milliseconds it is shown, $4 how many are remembered.
 */
const forgetWorker = fragment`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), gone AS (
    DELETE FROM workers WHERE worker_id = $1 RETURNING *
  )
  INSERT INTO former_workers (${columns}, status, ended_at, shown_until)
  SELECT ${columns}, $2, m.at, m.at + $3 * interval '1 millisecond'
  FROM gone g
  CROSS JOIN moment m
  WHERE CASE
    WHEN g.tenant_id IS NULL THEN (
      SELECT count(*) FROM (
        SELECT FROM former_workers f WHERE f.tenant_id IS NULL AND f.status = $2 LIMIT $4
      ) f
    )
    ELSE (
      SELECT count(*) FROM (
        SELECT FROM former_workers f WHERE f.tenant_id = g.tenant_id AND f.status = $2 LIMIT $4
      ) f
    )
  END < $4
  ON CONFLICT (worker_id) DO NOTHING`

export const deleteWorker = sql('deleteWorker')`${forgetWorker}`

/** After $2, in the order of ids. */
export const selectBeats = sql('selectBeats')`
  SELECT worker_id AS holder_id, beats FROM workers WHERE worker_id > $2 ORDER BY worker_id LIMIT $1`

/** Of a worker (w). $1: after how many milliseconds without a beat it is dead. */
const isSilent = fragment`w.beat_at < clock_timestamp() - $1 * interval '1 millisecond'`
const statusNow = fragment`CASE WHEN ${isSilent} THEN 'DEAD' ELSE w.status END`

/**
 * $2 how many, $3 behind this id, $4 the status; null: any. $5 the bytes of the page, as JSON. `whose`: a condition on a row
 * (w).
 */
const pageOf = (whose: Fragment): Fragment => fragment`
  SELECT ${columns}, p.status, p.ended_at, p.picked_count,
    CASE WHEN p.ended_at IS NULL THEN least(p.capacity, ${heldBy(fragment`p.worker_id`)}) ELSE 0 END AS current_load
  FROM (
    SELECT picked.*, count(*) OVER () AS picked_count, row_number() OVER in_order AS nth,
      sum(
        600 + octet_length(
          json_build_array(picked.host, picked.version, picked.labels, picked.executors, picked.handlers)::text
        )
      ) OVER in_order AS bytes
    FROM (
      (
        SELECT ${columns}, ${statusNow} AS status, NULL::timestamptz AS ended_at
        FROM workers w
        WHERE w.worker_id > $3 AND ${whose} AND ($4::text IS NULL OR ${statusNow} = $4)
        ORDER BY w.worker_id LIMIT $2::int + 1
      )
      UNION ALL
      (
        SELECT ${columns}, w.status, w.ended_at
        FROM former_workers w
        WHERE w.worker_id > $3 AND ${whose} AND ($4::text IS NULL OR w.status = $4)
          AND w.shown_until > clock_timestamp()
        ORDER BY w.worker_id LIMIT $2::int + 1
      )
      ORDER BY worker_id LIMIT $2::int + 1
    ) picked
    WINDOW in_order AS (ORDER BY picked.worker_id)
  ) p
  WHERE p.nth <= $2 AND (p.nth = 1 OR p.bytes <= $5::bigint)
  ORDER BY p.nth`

export const selectAllWorkers = sql('selectAllWorkers')`${pageOf(fragment`true`)}`
export const selectTenantWorkers = sql('selectTenantWorkers')`${pageOf(fragment`w.tenant_id = $6`)}`

export const selectWorker = sql('selectWorker')`
  SELECT ${columns}, ${statusNow} AS status FROM workers w WHERE w.tenant_id = $2 AND w.worker_id = $3`

/** `whose`: a condition on a row (w) of either table. */
const countOf = (whose: Fragment): Fragment => fragment`
  SELECT count(*) FILTER (WHERE NOT n.silent AND n.status = 'ACTIVE')::int AS active,
    count(*) FILTER (WHERE NOT n.silent AND n.status = 'DRAINING')::int AS draining,
    count(*) FILTER (WHERE n.silent)::int AS silent,
    coalesce(sum(n.capacity) FILTER (WHERE NOT n.silent), 0)::float8 AS capacity,
    coalesce(sum(n.held) FILTER (WHERE NOT n.silent), 0)::float8 AS running,
    (
      SELECT count(*)
      FROM former_workers w
      WHERE ${whose} AND w.status = 'DEAD' AND w.shown_until > clock_timestamp()
    )::int AS dead_last_hour
  FROM (
    SELECT w.status, ${isSilent} AS silent, w.capacity,
      least(w.capacity, ${heldBy(fragment`w.worker_id`)}) AS held
    FROM workers w
    WHERE ${whose}
  ) n`

export const countAllWorkers = sql('countAllWorkers')`${countOf(fragment`true`)}`
export const countTenantWorkers = sql('countTenantWorkers')`${countOf(fragment`w.tenant_id = $2`)}`

/** Whether a worker (w) of either table has the executor ($3), the handler ($4; null: none is needed) and the labels ($5). */
const isEquipped = fragment`
  w.executors @> ARRAY[$3::text] AND ($4::text IS NULL OR w.handlers @> ARRAY[$4]) AND w.labels @> $5::text[]`
const isActive = fragment`w.status = 'ACTIVE' AND NOT (${isSilent})`

// The workers of the tenant ($2; null: none) apart from ours: each part reads the index by tenant. $6 how many of ours.
export const selectRunners = sql('selectRunners')`
  WITH runner AS MATERIALIZED (
    SELECT w.worker_id, w.tenant_id, w.capacity
    FROM workers w
    WHERE w.tenant_id IS NULL AND ${isActive} AND ${isEquipped}
    UNION ALL
    SELECT w.worker_id, w.tenant_id, w.capacity
    FROM workers w
    WHERE w.tenant_id = $2::uuid AND ${isActive} AND ${isEquipped}
  )
  SELECT (SELECT count(*) FROM runner)::int AS count,
    EXISTS (SELECT FROM runner r WHERE ${heldBy(fragment`r.worker_id`)} < r.capacity) AS has_room,
    (
      SELECT coalesce(json_agg(json_build_object('workerId', o.worker_id, 'capacity', o.capacity)), '[]')
      FROM (
        SELECT r.worker_id, r.capacity
        FROM runner r
        WHERE r.tenant_id IS NULL
        ORDER BY r.worker_id LIMIT $6
      ) o
    ) AS own`

// $6 whether workers of any status count, and the ones that are gone and still shown.
export const findRunner = sql('findRunner')`
  SELECT true AS found
  FROM workers w
  WHERE w.tenant_id IS NULL AND ($6::boolean OR (${isActive})) AND ${isEquipped}
  UNION ALL
  SELECT true
  FROM workers w
  WHERE w.tenant_id = $2::uuid AND ($6 OR (${isActive})) AND ${isEquipped}
  UNION ALL
  SELECT true
  FROM former_workers w
  WHERE w.tenant_id IS NULL AND $6 AND w.shown_until > clock_timestamp() AND ${isEquipped}
  UNION ALL
  SELECT true
  FROM former_workers w
  WHERE w.tenant_id = $2 AND $6 AND w.shown_until > clock_timestamp() AND ${isEquipped}
  LIMIT 1`

// $2 after how many ms an execution is a long one. Executions leave their batches after 200 ms.
export const countHeldOfTenants = sql('countHeldOfTenants')`
  SELECT l.worker_id, l.tenant_id, count(*)::int AS held,
    (count(*) FILTER (WHERE l.started_at < clock_timestamp() - $2 * interval '1 millisecond'))::int AS long
  FROM live l
  WHERE l.worker_id = ANY ($1::uuid[])
  GROUP BY l.worker_id, l.tenant_id`

// A CTE, not a subquery: the planner may loop over a LIMITed subquery and take more than $1 rows.
export const pruneFormerWorkers = sql('pruneFormerWorkers')`
  WITH old AS MATERIALIZED (
    SELECT worker_id FROM former_workers WHERE shown_until <= (SELECT clock_timestamp())
    ORDER BY shown_until LIMIT $1 FOR UPDATE SKIP LOCKED
  )
  DELETE FROM former_workers WHERE worker_id = ANY (ARRAY(SELECT worker_id FROM old))`
