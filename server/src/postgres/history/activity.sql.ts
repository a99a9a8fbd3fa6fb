// The statements of the dashboards. Folded counts are found by key; waiting executions are scanned up to a bound.
import { fragment, sql } from '../../lib/sql.ts'
import { countsAsFailing } from '../sql/listed-jobs.ts'

const columns = fragment`
  succeeded, failed, timed_out, cancelled, skipped, attempts, retries, dead_letters, duration_ms,
  duration_ms_max, started, within_1s, within_5s, late_ms_max`

/** The same under the names of the port: buckets are JSON. */
const fields = fragment`
  succeeded, failed, timed_out AS "timedOut", cancelled, skipped, attempts, retries,
  dead_letters AS "deadLetters", duration_ms AS "durationMsSum", duration_ms_max AS "durationMsMax", started,
  within_1s AS "within1s", within_5s AS "within5s", late_ms_max AS "lateMsMax"`

// The mark first: everything it declares counted is in the rows of the same snapshot.
export const selectTenantActivity = sql('selectTenantActivity')`
  SELECT (SELECT folded_to FROM rollup_feeds WHERE feed = 'tenant') AS as_of,
    coalesce(
      (
        SELECT json_agg(bucket ORDER BY bucket.at)
        FROM (
          SELECT to_ms(at) AS at, ${fields}, peak, to_ms(peak_at) AS "peakAt"
          FROM tenant_activity
          WHERE tenant_id = $1 AND step = $2 AND at >= from_ms($3) AND at < from_ms($4)
          ORDER BY tenant_activity.at LIMIT $5
        ) bucket
      ),
      '[]'::json
    ) AS buckets`

/** No row: the tenant has no such job. */
export const selectJobHours = sql('selectJobHours')`
  SELECT (SELECT folded_to FROM rollup_feeds WHERE feed = 'job') AS as_of,
    coalesce(
      (
        SELECT json_agg(bucket ORDER BY bucket.at)
        FROM (
          SELECT to_ms(at) AS at, ${fields}
          FROM job_activity
          WHERE job_id = j.job_id AND step = 3600 AND at >= from_ms($2) AND at < from_ms($3)
          ORDER BY job_activity.at LIMIT $4
        ) bucket
      ),
      '[]'::json
    ) AS buckets
  FROM jobs j
  WHERE j.tenant_id = $1 AND j.job_id = $5`

// A day has the hours that were added to it, and the hours that are not yet.
export const selectJobDays = sql('selectJobDays')`
  SELECT (SELECT folded_to FROM rollup_feeds WHERE feed = 'job') AS as_of,
    coalesce(
      (
        SELECT json_agg(bucket ORDER BY bucket.at)
        FROM (
          SELECT to_ms(part.at) AS at, sum(succeeded) AS succeeded, sum(failed) AS failed,
            sum(timed_out) AS "timedOut", sum(cancelled) AS cancelled, sum(skipped) AS skipped,
            sum(attempts) AS attempts, sum(retries) AS retries, sum(dead_letters) AS "deadLetters",
            sum(duration_ms) AS "durationMsSum", max(duration_ms_max) AS "durationMsMax",
            sum(started) AS started, sum(within_1s) AS "within1s", sum(within_5s) AS "within5s",
            max(late_ms_max) AS "lateMsMax"
          FROM (
            SELECT at, ${columns}
            FROM job_activity
            WHERE job_id = j.job_id AND step = 86400 AND at >= from_ms($2) AND at < from_ms($3)
            UNION ALL
            SELECT date_bin('1 day', at, timestamptz '2000-01-01 00:00:00+00'), ${columns}
            FROM job_activity
            WHERE job_id = j.job_id
              AND step = 3600
              AND at >= from_ms($2)
              AND at < from_ms($3) + interval '1 day'
              AND at > days.folded_to - interval '1 hour'
              AND at + (part_of(j.job_id) + 1) * interval '225 seconds' > days.folded_to
          ) part
          WHERE part.at < from_ms($3)
          GROUP BY part.at
          ORDER BY part.at LIMIT $4
        ) bucket
      ),
      '[]'::json
    ) AS buckets
  FROM jobs j
  CROSS JOIN rollup_feeds days
  WHERE j.tenant_id = $1 AND j.job_id = $5 AND days.feed = 'day'`

// $4: how many groups are looked at, the newest first. Deleted jobs are left out.
export const selectFailures = sql('selectFailures')`
  SELECT cluster.job_id, j.name AS job_name, nullif(cluster.error_type, '') AS error_type, cluster.message,
    nullif(cluster.http_status, 0) AS http_status, cluster.failures AS count, cluster.first_at, cluster.last_at,
    cluster.last_execution_id, coalesce(
      (
        SELECT ${countsAsFailing}
        FROM job_health h
        JOIN cursors c ON c.job_id = h.job_id
        WHERE h.job_id = cluster.job_id AND h.failing_since IS NOT NULL LIMIT 1
      ),
      false
    ) AS is_job_failing
  FROM (
    SELECT failed.job_id, failed.error_type, failed.http_status,
      (array_agg(failed.message ORDER BY failed.last_at DESC))[1] AS message,
      sum(failed.failures) AS failures, min(failed.first_at) AS first_at, max(failed.last_at) AS last_at,
      (array_agg(failed.last_execution_id ORDER BY failed.last_at DESC))[1] AS last_execution_id
    FROM (
      SELECT *
      FROM failure_groups
      WHERE tenant_id = $1
        AND at >= date_bin('10 minutes', from_ms($2), timestamptz '2000-01-01 00:00:00+00')
      ORDER BY tenant_id DESC, at DESC LIMIT $4
    ) failed
    WHERE failed.last_at >= from_ms($2)
      AND (SELECT c.status FROM cursors c WHERE c.job_id = failed.job_id) <> 'DELETED'
    GROUP BY failed.job_id, failed.error_type, failed.http_status, failed.shape
    ORDER BY sum(failed.failures) DESC, max(failed.last_at) DESC, failed.job_id LIMIT $3
  ) cluster
  JOIN jobs j ON j.job_id = cluster.job_id AND j.tenant_id = $1
  ORDER BY cluster.failures DESC, cluster.last_at DESC, cluster.job_id`

export const selectLateSlots = sql('selectLateSlots')`
  SELECT late.job_id, j.name AS job_name, late.slot, late.kind, late.late_ms, late.reason, late.slot_count,
    late.execution_id
  FROM (
    SELECT *
    FROM late_slots
    WHERE tenant_id = $1 AND slot >= from_ms($2)
    ORDER BY tenant_id DESC, slot DESC, job_id DESC LIMIT $3
  ) late
  JOIN jobs j ON j.job_id = late.job_id AND j.tenant_id = $1
  ORDER BY late.slot DESC, late.job_id DESC`

// Executions waiting to be claimed: $2 batches and $3 rows of `live` are scanned, at most. A lane is a tenant's own or
// shared. In the order of an index: the planner would read the whole of it otherwise.
const lookedAt = fragment`
  batch AS MATERIALIZED (
    SELECT batch_id, lane, enqueued_at, positions, job_ids, slots_ms
    FROM batches
    WHERE worker_id IS NULL
    ORDER BY route, lane, rank LIMIT $2
  ),
  alone AS MATERIALIZED (
    (
      SELECT execution_id, tenant_id, job_id, slot, enqueued_at
      FROM live
      WHERE state = 'ready' AND host IS NULL
      ORDER BY route, lane, rank LIMIT $3
    )
    UNION ALL
    (
      SELECT execution_id, tenant_id, job_id, slot, enqueued_at
      FROM live
      WHERE state = 'ready' AND host IS NOT NULL
      ORDER BY route, host, rank LIMIT $3
    )
  ),
  capped AS (SELECT (SELECT count(*) FROM batch) >= $2 OR (SELECT count(*) FROM alone) >= $3 AS capped)`

export const lookAtQueue = sql('lookAtQueue')`
  WITH ${lookedAt}, part AS (
    SELECT sum(cardinality(positions)) AS depth, min(enqueued_at) AS oldest_at
    FROM batch
    WHERE $1::uuid IS NULL OR lane = $1::text
    UNION ALL
    SELECT count(*), min(batch.enqueued_at)
    FROM batch
    CROSS JOIN LATERAL unnest(batch.job_ids) AS batched(job_id)
    JOIN jobs j ON j.job_id = batched.job_id AND j.tenant_id = $1
    WHERE $1::uuid IS NOT NULL AND batch.lane <> $1::text
    UNION ALL
    SELECT count(*), min(enqueued_at)
    FROM alone
    WHERE $1::uuid IS NULL OR tenant_id = $1
  )
  SELECT coalesce(sum(part.depth), 0)::bigint AS depth, min(part.oldest_at) AS oldest_at,
    (SELECT capped FROM capped) AS capped
  FROM part`

// Due for more than five seconds and not begun; the latest first. A backfill, a retry or a redrive has a slot of long ago.
export const selectWaitingSlots = sql('selectWaitingSlots')`
  WITH ${lookedAt}, held_back AS MATERIALIZED (
    SELECT execution_id, tenant_id, job_id, kind, slot, enqueued_at
    FROM live
    WHERE state = 'waiting'
    ORDER BY job_id, rank LIMIT $3
  ), waiting AS (
    SELECT batch.batch_id, batched.position, batched.job_id, batched.slot_ms, batch.enqueued_at
    FROM batch
    CROSS JOIN LATERAL unnest(
      batch.positions, batch.job_ids, batch.slots_ms
    ) AS batched(position, job_id, slot_ms)
    WHERE batch.enqueued_at < clock_timestamp() - interval '5 seconds'
    UNION ALL
    SELECT execution_id, NULL, job_id, to_ms(slot), enqueued_at
    FROM alone
    WHERE tenant_id = $1 AND enqueued_at < clock_timestamp() - interval '5 seconds'
    UNION ALL
    SELECT execution_id, NULL, job_id, to_ms(slot), enqueued_at
    FROM held_back
    WHERE tenant_id = $1
      AND kind IN ('slot', 'trigger')
      AND enqueued_at < clock_timestamp() - interval '5 seconds'
  )
  SELECT latest.job_id, latest.job_name, from_ms(latest.slot_ms) AS slot,
    coalesce(execution_at(latest.batch_id, latest.position), latest.batch_id) AS execution_id,
    to_ms(clock_ms()) - to_ms(latest.enqueued_at) AS late_ms
  FROM (
    SELECT waiting.*, j.name AS job_name
    FROM waiting
    JOIN jobs j ON j.job_id = waiting.job_id AND j.tenant_id = $1
    ORDER BY waiting.slot_ms DESC, waiting.job_id DESC LIMIT $4
  ) latest
  ORDER BY latest.slot_ms DESC, latest.job_id DESC`

// Rows by the last analysed density and the present size; for a table that was never analysed, by the size of a row.
export const estimateHistory = sql('estimateHistory')`
  WITH day AS MATERIALIZED (
    SELECT to_date(right(partition.relname, 8), 'YYYYMMDD') AS date,
      pg_total_relation_size(partition.oid) AS bytes,
      CASE
        WHEN partition.relpages > 0 AND partition.reltuples >= 0
          THEN partition.reltuples::float8 / partition.relpages * (pg_relation_size(partition.oid) / 8192)
        ELSE pg_relation_size(partition.oid) / 250
      END AS attempts
    FROM pg_inherits inherited
    JOIN pg_class partition ON partition.oid = inherited.inhrelid
    WHERE inherited.inhparent = 'attempts'::regclass
  ), today AS MATERIALIZED (
    SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS date,
      extract(epoch FROM (clock_timestamp() AT TIME ZONE 'UTC')::time)::float8 / 86400 AS part
  ), whole AS MATERIALIZED (
    SELECT coalesce(sum(day.bytes), 0)::float8 AS bytes, coalesce(sum(day.attempts), 0)::float8 AS attempts,
      min(day.date::timestamp AT TIME ZONE 'UTC') FILTER (WHERE day.attempts >= 1) AS oldest_at,
      coalesce(sum(day.bytes * last.part) FILTER (WHERE day.attempts >= 1), 0)::float8 AS written_bytes,
      coalesce(sum(day.attempts * last.part), 0)::float8 AS written_attempts
    FROM day
    CROSS JOIN today
    -- How much of the day lies in the last 24 hours.
    CROSS JOIN LATERAL (
      SELECT CASE day.date WHEN today.date THEN 1 WHEN today.date - 1 THEN 1 - today.part ELSE 0 END AS part
    ) last
  )
  SELECT whole.bytes, round(whole.written_bytes) AS written_bytes,
    round(whole.written_attempts) AS written_attempts, lately.attempts AS own_written_attempts, round(whole.attempts) AS attempts, whole.oldest_at, own.attempts AS own_attempts,
    own.oldest_at AS own_oldest_at
  FROM whole
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(activity.attempts + activity.skipped), 0)::float8 AS attempts,
      min(activity.at) AS oldest_at
    FROM tenants t
    JOIN tiers tier ON tier.tier = t.tier
    JOIN tenant_activity activity ON activity.tenant_id = t.tenant_id
      AND activity.step = 86400
      AND activity.at >= clock_timestamp() - (tier.history_days + 1) * interval '1 day'
    WHERE t.tenant_id = $1
  ) own
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(activity.attempts + activity.skipped), 0)::float8 AS attempts
    FROM tenant_activity activity
    WHERE activity.tenant_id = $1
      AND activity.step = 3600
      AND activity.at > clock_timestamp() - interval '24 hours'
  ) lately`
