// The statements that fold the record of attempts into the numbers of dashboards. The fold of a source is one transaction:
// one statement locks its mark and sets the end of the span, the others see everything recorded up to that end.
import { fragment, sql } from '../../lib/sql.ts'

// Returns no row while another process folds this source. $2: the longest span folded at once, in milliseconds; $3: how
// far to stay behind the clock. The commit need not reach the disk: the mark and the counts are lost together, and
// counted again.
export const lockFeed = sql('lockFeed')`
  SELECT to_ms(f.folded_to) AS since, to_ms(least(f.folded_to + $2 * interval '1 millisecond', recorded_until($3))) AS until,
    set_config('synchronous_commit', 'off', true)
  FROM rollup_feeds f WHERE f.feed = $1 FOR UPDATE SKIP LOCKED`

export const moveFeed = sql('moveFeed')`UPDATE rollup_feeds SET folded_to = from_ms($2) WHERE feed = $1`

// Second condition: as the index has it.
const isNew = fragment`
  a.recorded_at >= from_ms($1) AND a.recorded_at < from_ms($2)
  AND greatest(a.recorded_at, '-infinity'::timestamptz) >= from_ms($1)
  AND greatest(a.recorded_at, '-infinity'::timestamptz) < from_ms($2)`

// How late the first attempt of a slot or trigger began; null for any other attempt. A slot with jitter is due at any
// time up to the end of its jitter, at the latest when it was enqueued; the slot of an immediate job is the second in
// which the job was created. The version is looked up only for attempts that did not begin at once.
const lateness = fragment`
  CASE WHEN a.attempt = 1 AND a.started_at IS NOT NULL AND a.kind IN ('slot', 'trigger') THEN greatest(a.started_at - CASE
    WHEN a.kind = 'trigger' THEN a.enqueued_at
    WHEN a.started_at <= a.slot + interval '1 second' THEN a.slot
    ELSE least(a.enqueued_at, a.slot + coalesce((
      SELECT CASE v.schedule ->> 'type' WHEN 'IMMEDIATE' THEN 1 ELSE v.jitter_seconds END FROM job_versions v WHERE v.job_id = a.job_id AND v.version = a.version
    ), 0) * interval '1 second') END, interval '0') END`

const origin = fragment`timestamptz '2000-01-01 00:00:00+00'`

const counted = fragment`
  count(*) FILTER (WHERE x.final AND x.outcome = 'succeeded')::int AS succeeded,
  count(*) FILTER (WHERE x.final AND x.outcome IN ('failed', 'lost'))::int AS failed,
  count(*) FILTER (WHERE x.final AND x.outcome = 'timed_out')::int AS timed_out,
  count(*) FILTER (WHERE x.final AND x.outcome = 'cancelled')::int AS cancelled,
  count(*) FILTER (WHERE x.outcome = 'skipped')::int AS skipped,
  count(*) FILTER (WHERE x.outcome <> 'skipped')::int AS attempts,
  count(*) FILTER (WHERE x.attempt > 1 AND x.outcome <> 'skipped')::int AS retries,
  count(*) FILTER (WHERE x.dead_letter)::int AS dead_letters,
  coalesce(sum(x.duration_ms) FILTER (WHERE x.final AND x.outcome <> 'cancelled'), 0)::bigint AS duration_ms,
  coalesce(max(x.duration_ms) FILTER (WHERE x.final AND x.outcome <> 'cancelled'), 0) AS duration_ms_max,
  count(x.late)::int AS started,
  count(*) FILTER (WHERE x.late <= interval '1 second')::int AS within_1s,
  count(*) FILTER (WHERE x.late <= interval '5 seconds')::int AS within_5s,
  coalesce(extract(epoch FROM max(x.late)) * 1000, 0)::bigint AS late_ms_max`

const columns = fragment`
  succeeded, failed, timed_out, cancelled, skipped, attempts, retries, dead_letters, duration_ms, duration_ms_max, started,
  within_1s, within_5s, late_ms_max`

/** Of counts of shorter spans. */
const summed = fragment`
  sum(succeeded)::int, sum(failed)::int, sum(timed_out)::int, sum(cancelled)::int, sum(skipped)::int, sum(attempts)::int,
  sum(retries)::int, sum(dead_letters)::int, sum(duration_ms)::bigint, max(duration_ms_max), sum(started)::int,
  sum(within_1s)::int, sum(within_5s)::int, max(late_ms_max)`

const added = fragment`
  succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed,
  timed_out = t.timed_out + excluded.timed_out, cancelled = t.cancelled + excluded.cancelled,
  skipped = t.skipped + excluded.skipped, attempts = t.attempts + excluded.attempts, retries = t.retries + excluded.retries,
  dead_letters = t.dead_letters + excluded.dead_letters, duration_ms = t.duration_ms + excluded.duration_ms,
  duration_ms_max = greatest(t.duration_ms_max, excluded.duration_ms_max), started = t.started + excluded.started,
  within_1s = t.within_1s + excluded.within_1s, within_5s = t.within_5s + excluded.within_5s,
  late_ms_max = greatest(t.late_ms_max, excluded.late_ms_max)`

// OFFSET 0: how late each began is computed once, not once for each count of it.
export const foldTenants = sql('foldTenants')`
  WITH delta AS MATERIALIZED (
    SELECT x.tenant_id, x.minute AS at, ${counted}
    FROM (
      SELECT a.tenant_id, date_bin('1 minute', a.recorded_at, ${origin}) AS minute, a.final, a.outcome, a.attempt,
        a.dead_letter, a.duration_ms, ${lateness} AS late
      FROM attempts a WHERE ${isNew} OFFSET 0
    ) x GROUP BY x.tenant_id, x.minute
  ), peaked AS MATERIALIZED (
    SELECT d.*, d.succeeded + d.failed + d.timed_out + coalesce((
      SELECT m.succeeded + m.failed + m.timed_out FROM tenant_activity m
      WHERE m.tenant_id = d.tenant_id AND m.step = 60 AND m.at = d.at), 0) AS peak
    FROM delta d
  ), written AS (
    INSERT INTO tenant_activity AS t (tenant_id, step, at, ${columns}, peak, peak_at)
    SELECT tenant_id, 60, at, ${columns}, peak, at FROM peaked
    UNION ALL
    SELECT tenant_id, s.step, date_bin(s.step * interval '1 second', at, ${origin}), ${summed}, max(peak),
      (array_agg(at ORDER BY peak DESC, at))[1]
    FROM peaked CROSS JOIN (VALUES (3600), (86400)) AS s(step) GROUP BY 1, 2, 3
    ON CONFLICT (tenant_id, step, at) DO UPDATE SET ${added}, peak = greatest(t.peak, excluded.peak),
      peak_at = CASE WHEN excluded.peak > t.peak THEN excluded.peak_at ELSE t.peak_at END
  )
  SELECT coalesce(sum(attempts + skipped), 0)::int AS recorded FROM delta`

export const foldJobs = sql('foldJobs')`
  WITH delta AS MATERIALIZED (
    SELECT x.job_id, x.hour AS at, ${counted}
    FROM (
      SELECT a.job_id, date_bin('1 hour', a.recorded_at, ${origin}) AS hour, a.final, a.outcome, a.attempt,
        a.dead_letter, a.duration_ms, ${lateness} AS late
      FROM attempts a WHERE ${isNew} OFFSET 0
    ) x GROUP BY x.job_id, x.hour
  ), written AS (
    INSERT INTO job_activity AS t (job_id, step, at, ${columns})
    SELECT job_id, 3600, at, ${columns} FROM delta
    ON CONFLICT (job_id, step, at) DO UPDATE SET ${added}
  )
  SELECT coalesce(sum(attempts + skipped), 0)::int AS recorded FROM delta`

// The mark of days is in an hour that is over, as far into it as parts of it are done: 225 seconds each. Hours in which
// nothing was recorded are passed over. No row: the hour is not over, or another process is at it.
export const lockDays = sql('lockDays')`
  SELECT to_ms(d.folded_to) AS since, to_ms(least(h.folded_to, (
    SELECT a.at FROM job_activity a WHERE a.step = 3600 AND a.at >= date_bin('1 hour', d.folded_to, ${origin})
    ORDER BY a.step, a.at LIMIT 1))) AS next_hour
  FROM rollup_feeds d CROSS JOIN (
    SELECT date_bin('1 hour', j.folded_to, ${origin}) AS folded_to FROM rollup_feeds j WHERE j.feed = 'job'
  ) h
  WHERE d.feed = 'day' AND d.folded_to < h.folded_to FOR UPDATE OF d SKIP LOCKED`

export const foldDays = sql('foldDays')`
  WITH part AS MATERIALIZED (
    SELECT job_id, at, ${columns} FROM job_activity
    WHERE step = 3600 AND at = date_bin('1 hour', from_ms($1), ${origin})
      AND part_of(job_id) = extract(epoch FROM from_ms($1) - date_bin('1 hour', from_ms($1), ${origin}))::int / 225
  )
  INSERT INTO job_activity AS t (job_id, step, at, ${columns})
  SELECT job_id, 86400, date_bin('1 day', at, ${origin}), ${columns} FROM part
  ON CONFLICT (job_id, step, at) DO UPDATE SET ${added}`

// The most important rows of unusual attempts; most of the record is not unusual. At most $3 groups per tenant in ten
// minutes, the most frequent first, and $4 late slots per tenant in an hour, the latest first.
export const foldTroubles = sql('foldTroubles')`
  WITH failed AS MATERIALIZED (
    SELECT a.tenant_id, date_bin('10 minutes', a.recorded_at, ${origin}) AS at, a.job_id,
      coalesce(a.error_type, '') AS error_type, coalesce(a.http_status, 0) AS http_status,
      left(coalesce(a.error_message, ''), 500) AS message, count(*)::int AS failures, min(a.recorded_at) AS first_at,
      max(a.recorded_at) AS last_at, max(a.execution_id::text)::uuid AS last_execution_id
    -- left(), so that the planner does not read the index of all that ever failed for it.
    FROM attempts a WHERE ${isNew} AND left(a.outcome, 9) IN ('failed', 'timed_out', 'lost')
    GROUP BY 1, 2, 3, 4, 5, 6
  ), grouped AS MATERIALIZED (
    SELECT tenant_id, at, job_id, error_type, http_status, md5(error_shape(message))::uuid AS shape,
      (array_agg(message ORDER BY last_at DESC, last_execution_id DESC))[1] AS message, sum(failures)::int AS failures,
      min(first_at) AS first_at, max(last_at) AS last_at,
      (array_agg(last_execution_id ORDER BY last_at DESC, last_execution_id DESC))[1] AS last_execution_id
    FROM failed GROUP BY 1, 2, 3, 4, 5, 6
  ), room AS MATERIALIZED (
    SELECT k.tenant_id, k.at, $3::int - (SELECT count(*) FROM (
      SELECT FROM failure_groups f WHERE f.tenant_id = k.tenant_id AND f.at = k.at LIMIT $3) y) AS places
    FROM (SELECT DISTINCT tenant_id, at FROM grouped) k
  ), ranked AS (
    SELECT g.*, known.there, row_number() OVER (PARTITION BY g.tenant_id, g.at, known.there ORDER BY g.failures DESC, g.job_id) AS place
    FROM grouped g CROSS JOIN LATERAL (
      -- Not EXISTS: the planner would hash the whole table for it.
      SELECT coalesce((SELECT true FROM failure_groups f WHERE f.tenant_id = g.tenant_id AND f.at = g.at
        AND f.job_id = g.job_id AND f.error_type = g.error_type AND f.http_status = g.http_status AND f.shape = g.shape
        LIMIT 1), false) AS there
    ) known
  ), written AS (
    INSERT INTO failure_groups AS t (tenant_id, at, job_id, error_type, http_status, shape, message, failures, first_at,
      last_at, last_execution_id)
    SELECT r.tenant_id, r.at, r.job_id, r.error_type, r.http_status, r.shape, r.message, r.failures, r.first_at, r.last_at,
      r.last_execution_id
    FROM ranked r JOIN room m ON m.tenant_id = r.tenant_id AND m.at = r.at WHERE r.there OR r.place <= m.places
    ON CONFLICT (tenant_id, at, job_id, error_type, http_status, shape) DO UPDATE SET message = excluded.message,
      failures = t.failures + excluded.failures, first_at = least(t.first_at, excluded.first_at),
      last_at = excluded.last_at, last_execution_id = excluded.last_execution_id
  ), late AS MATERIALIZED (
    -- One of many triggers of a job at one second: they would leave no room for others.
    SELECT DISTINCT ON (x.tenant_id, x.slot, x.job_id) x.tenant_id, x.slot, x.job_id, x.execution_id, (extract(epoch FROM x.late) * 1000)::bigint AS late_ms
    FROM (
      SELECT a.tenant_id, a.slot, a.job_id, a.execution_id, ${lateness} AS late FROM attempts a
      WHERE ${isNew} AND a.attempt = 1
        AND a.started_at > CASE a.kind WHEN 'slot' THEN a.slot ELSE a.enqueued_at END + interval '5 seconds' OFFSET 0
    ) x WHERE x.late > interval '5 seconds' ORDER BY x.tenant_id, x.slot, x.job_id, x.execution_id
  ), free AS MATERIALIZED (
    SELECT k.tenant_id, k.hour, $4::int - (SELECT count(*) FROM (
      SELECT FROM late_slots s WHERE s.tenant_id = k.tenant_id AND s.slot >= k.hour AND s.slot < k.hour + interval '1 hour' LIMIT $4) y) AS places
    FROM (SELECT DISTINCT tenant_id, date_bin('1 hour', slot, ${origin}) AS hour FROM late) k
  ), noted AS (
    INSERT INTO late_slots (tenant_id, slot, job_id, kind, late_ms, slot_count, execution_id)
    SELECT r.tenant_id, r.slot, r.job_id, 'late', r.late_ms, 1, r.execution_id FROM (
      SELECT l.*, f.places, row_number() OVER (PARTITION BY l.tenant_id, f.hour ORDER BY l.slot DESC, l.job_id) AS place
      FROM late l JOIN free f ON f.tenant_id = l.tenant_id AND f.hour = date_bin('1 hour', l.slot, ${origin})
    ) r WHERE r.place <= r.places
    ON CONFLICT DO NOTHING
  )
  SELECT (SELECT count(*) FROM grouped) AS groups, (SELECT count(*) FROM late) AS late`

// A range that grows is noted anew with its latest slot; the row of its earlier one goes. $3: see foldTroubles.
export const foldSkips = sql('foldSkips')`
  WITH changed AS MATERIALIZED (
    SELECT j.tenant_id, k.job_id, k.from_slot, k.to_slot, k.slot_count, k.reason,
      row_number() OVER (PARTITION BY j.tenant_id ORDER BY k.to_slot DESC, k.job_id) AS place
    FROM skips k JOIN jobs j ON j.job_id = k.job_id
    WHERE k.reason IN ('overlap', 'misfire') AND k.changed_at >= from_ms($1) AND k.changed_at < from_ms($2)
  ), free AS MATERIALIZED (
    -- Once for an hour, not for each that was skipped: under overload these are thousands a second.
    SELECT k.tenant_id, k.hour, $3::int - (SELECT count(*) FROM (
      SELECT FROM late_slots s WHERE s.tenant_id = k.tenant_id AND s.slot >= k.hour AND s.slot < k.hour + interval '1 hour' LIMIT $3) y) AS places
    FROM (SELECT DISTINCT tenant_id, date_bin('1 hour', to_slot, ${origin}) AS hour FROM changed WHERE place <= $3) k
  ), kept AS MATERIALIZED (
    SELECT c.* FROM changed c JOIN free f ON f.tenant_id = c.tenant_id AND f.hour = date_bin('1 hour', c.to_slot, ${origin})
    WHERE c.place <= f.places
  ), gone AS (
    -- By its places, and these by the job: of a tenant there are many in the time of a long range.
    DELETE FROM late_slots s WHERE s.ctid = ANY (ARRAY(
      SELECT o.ctid FROM kept c CROSS JOIN LATERAL (
        SELECT s.ctid FROM late_slots s WHERE s.job_id = c.job_id AND s.slot >= c.from_slot AND s.slot < c.to_slot
          AND s.kind = 'skipped' AND s.reason = c.reason LIMIT 10
      ) o
    ))
  ), noted AS (
    INSERT INTO late_slots AS t (tenant_id, slot, job_id, kind, reason, slot_count)
    SELECT tenant_id, to_slot, job_id, 'skipped', reason, slot_count FROM kept
    ON CONFLICT (tenant_id, slot, job_id, kind) DO UPDATE SET slot_count = excluded.slot_count, reason = excluded.reason
  )
  SELECT count(*)::int AS recorded FROM changed`

// CTEs, not subqueries: the planner may loop over a LIMITed subquery and take more than $2 rows.
export const pruneTenantActivity = sql('pruneTenantActivity')`
  WITH old AS MATERIALIZED (
    SELECT tenant_id, step, at FROM tenant_activity
    WHERE step = $3 AND at < clock_timestamp() - $1 * interval '1 day' ORDER BY at LIMIT $2
  )
  DELETE FROM tenant_activity t USING old o WHERE t.tenant_id = o.tenant_id AND t.step = o.step AND t.at = o.at`

export const pruneJobActivity = sql('pruneJobActivity')`
  WITH old AS MATERIALIZED (
    SELECT job_id, step, at FROM job_activity
    WHERE step = $3 AND at < clock_timestamp() - $1 * interval '1 day' ORDER BY at LIMIT $2
  )
  DELETE FROM job_activity t USING old o WHERE t.job_id = o.job_id AND t.step = o.step AND t.at = o.at`

export const pruneFailureGroups = sql('pruneFailureGroups')`
  WITH old AS MATERIALIZED (
    SELECT ctid AS id FROM failure_groups WHERE at < clock_timestamp() - $1 * interval '1 day' ORDER BY at LIMIT $2
  )
  DELETE FROM failure_groups t USING old o WHERE t.ctid = o.id`

export const pruneLateSlots = sql('pruneLateSlots')`
  WITH old AS MATERIALIZED (
    SELECT ctid AS id FROM late_slots WHERE slot < clock_timestamp() - $1 * interval '1 day' ORDER BY slot LIMIT $2
  )
  DELETE FROM late_slots t USING old o WHERE t.ctid = o.id`
