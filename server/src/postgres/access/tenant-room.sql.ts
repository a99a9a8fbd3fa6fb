// The statements that count the bytes that a tenant stores and its waiting executions. Each looks at a bounded number of
// rows: it is for a limit, and no account.
import { fragment, sql } from '../../lib/sql.ts'

const pending = fragment`l.state IN ('ready', 'waiting')`

// Of the tenants $1, whose own lanes are $2, up to $3; null: up to the limit of their tier, and tenants without one are left
// out. $4 batches of own lanes and $5 of the shared one are looked at. Without a tenant left nothing is counted.
export const countWaitingOfTenants = sql('countWaitingOfTenants')`
  WITH asked AS MATERIALIZED (
    SELECT t.tenant_id, coalesce($3::int, tier.waiting_executions_max) AS waiting_max
    FROM tenants t
    JOIN tiers tier ON tier.tier = t.tier
    WHERE t.tenant_id = ANY ($1) AND num_nonnulls($3::int, tier.waiting_executions_max) > 0
  ), own AS MATERIALIZED (
    SELECT b.lane, sum(cardinality(b.positions)) AS waiting
    FROM (
      SELECT lane, positions
      FROM batches
      WHERE worker_id IS NULL AND lane = ANY ($2::text[]) AND (SELECT count(*) FROM asked) > 0
      ORDER BY route, lane, rank LIMIT $4
    ) b
    GROUP BY b.lane
  ), shared AS MATERIALIZED (
    SELECT c.tenant_id, count(*) AS waiting
    FROM (
      SELECT job_ids
      FROM batches
      WHERE worker_id IS NULL AND lane = 'shared' AND (SELECT count(*) FROM asked) > 0
      ORDER BY route, lane, rank LIMIT $5
    ) b
    CROSS JOIN LATERAL unnest(b.job_ids) AS batched(job_id)
    CROSS JOIN LATERAL (SELECT c.tenant_id FROM cursors c WHERE c.job_id = batched.job_id LIMIT 1) c
    WHERE c.tenant_id = ANY ($1)
    GROUP BY c.tenant_id
  )
  SELECT asked.tenant_id, asked.waiting_max,
    (
      (SELECT count(*) FROM (
          SELECT FROM live l WHERE l.tenant_id = asked.tenant_id AND ${pending} LIMIT asked.waiting_max + 1
        ) l) + coalesce((SELECT own.waiting FROM own WHERE own.lane = asked.tenant_id::text), 0)
        + coalesce((SELECT shared.waiting FROM shared WHERE shared.tenant_id = asked.tenant_id), 0)
    )::int AS waiting
  FROM asked`

const usedBytes = fragment`
  (
    u.artifact_bytes + u.version_bytes + u.payload_bytes + u.drawn_bytes + (
      SELECT coalesce(sum(d.bytes), 0)::bigint FROM log_days d WHERE d.tenant_id = u.tenant_id
    )
  )`

export const beginStorage = sql('beginStorage')`
  INSERT INTO storage_usage (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING`

const countAges = fragment`
  u.counted_at < clock_timestamp() - $2 * interval '1 second' AS is_old,
  u.counted_at < clock_timestamp() - greatest($3, u.count_ms * $4) * interval '1 millisecond' AS may_recount`

// $2: a count older than so many seconds is taken anew; $3, $4: one that would refuse, when it is older than so many
// milliseconds, and than so many times as long as it took.
export const selectStorage = sql('selectStorage')`
  SELECT ${usedBytes} AS used, ${countAges} FROM storage_usage u WHERE u.tenant_id = $1`

export const selectLogBytes = sql('selectLogBytes')`
  SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM log_days WHERE tenant_id = $1`

/** Held until the commit, for a moment: no count is taken under it. */
export const lockStorage = sql('lockStorage')`
  SELECT ${usedBytes} AS used, ${countAges} FROM storage_usage u WHERE u.tenant_id = $1 FOR UPDATE OF u`

export const drawStorage = sql('drawStorage')`
  UPDATE storage_usage SET drawn_bytes = drawn_bytes + $2 WHERE tenant_id = $1`

// One process counts at a time; a count that has not ended for a minute was given up. Nothing is locked meanwhile: bytes
// that are drawn while it counts stay drawn, and are counted off by the next count.
export const beginStorageCount = sql('beginStorageCount')`
  INSERT INTO storage_usage AS u (tenant_id, counting_at) VALUES ($1, clock_ms())
  ON CONFLICT (tenant_id) DO UPDATE SET counting_at = excluded.counting_at
  WHERE u.counting_at IS NULL OR u.counting_at < clock_timestamp() - interval '1 minute'
  RETURNING u.counting_at, u.drawn_bytes`

export const endStorageCount = sql('endStorageCount')`
  UPDATE storage_usage
  SET artifact_bytes = $3, version_bytes = $4, payload_bytes = $5,
    drawn_bytes = greatest(0, drawn_bytes - $6), counted_at = clock_ms(),
    count_ms = to_ms(clock_timestamp()) - to_ms(counting_at), counting_at = NULL
  WHERE tenant_id = $1 AND counting_at = from_ms($2)`

// The sizes as stored, without reading values that are stored elsewhere. $2 versions of the newest jobs are looked at, and
// stand for the versions of other jobs; $3 rows of waiting executions, and $4 batches of the tenant's own lane. $5: bytes of a version
// besides.
export const measureStorage = sql('measureStorage')`
  WITH seen AS MATERIALIZED (
    SELECT v.job_id, v.bytes
    FROM (SELECT job_id FROM jobs WHERE tenant_id = $1 ORDER BY job_id DESC) j
    CROSS JOIN LATERAL (
      SELECT v.job_id,
        $5::int + pg_column_size(v.execution) + pg_column_size(v.schedule) + pg_column_size(v.metadata)
          + coalesce(pg_column_size(v.description), 0) + coalesce(pg_column_size(v.lean_execution), 0) AS bytes
      FROM job_versions v
      WHERE v.job_id = j.job_id
      ORDER BY v.version DESC LIMIT $2
    ) v
    LIMIT $2
  ), sample AS MATERIALIZED (
    SELECT coalesce(sum(bytes), 0) AS bytes, count(*) AS versions, count(DISTINCT job_id) AS jobs FROM seen
  )
  SELECT
    (SELECT coalesce(sum(a.bytes), 0)::bigint FROM artifacts a WHERE a.tenant_id = $1) AS artifact_bytes,
    (
      SELECT CASE
          WHEN sample.versions < $2 THEN sample.bytes
          ELSE sample.bytes * (SELECT count(*) FROM jobs WHERE tenant_id = $1) / sample.jobs
        END::bigint
      FROM sample
    ) AS version_bytes,
    (
      (SELECT coalesce(sum(pg_column_size(l.payload_override)), 0) FROM (
          SELECT l.payload_override FROM live l WHERE l.tenant_id = $1 AND ${pending} LIMIT $3
        ) l) + (SELECT coalesce(sum(pg_column_size(b.payloads)), 0) FROM (
          SELECT payloads
          FROM batches
          WHERE worker_id IS NULL AND lane = $1::text
          ORDER BY route, lane, rank LIMIT $4
        ) b)
    )::bigint AS payload_bytes,
    (SELECT coalesce(sum(d.bytes), 0)::bigint FROM log_days d WHERE d.tenant_id = $1) AS log_bytes`
