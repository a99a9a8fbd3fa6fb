// The statements that fold the record of attempts into the numbers of dashboards. The fold of a source is one transaction:
// one statement locks its mark and sets the end of the span, the others see everything recorded up to that end.
import { fragment, sql } from '../../lib/sql.ts'
import { isNewAttempt } from '../sql/fragments.ts'

// Returns no row while another process folds this source. $2: the longest span folded at once, in milliseconds; $3: how
// far to stay behind the clock. The commit need not reach the disk: the mark and the counts are lost together, and
// counted again.
export const lockFeed = sql('lockFeed')`
  SELECT to_ms(feed.folded_to) AS since,
    to_ms(least(feed.folded_to + $2 * interval '1 millisecond', recorded_until($3))) AS until,
    set_config('synchronous_commit', 'off', true)
  FROM rollup_feeds feed
  WHERE feed.feed = $1 FOR UPDATE SKIP LOCKED`

export const moveFeed = sql('moveFeed')`UPDATE rollup_feeds SET folded_to = from_ms($2) WHERE feed = $1`

// How late the first attempt of a slot or trigger began; null for any other attempt. A slot with jitter is due at any
// time up to the end of its jitter, at the latest when it was enqueued; the slot of an immediate job is the second in
// which the job was created, and a job that runs once, at a time that had passed when it was created or edited, is due then.
// The version is looked up only for attempts that did not begin at once.
const lateness = fragment`
  CASE
    WHEN a.attempt = 1 AND a.started_at IS NOT NULL AND a.kind IN ('slot', 'trigger') THEN greatest(
        a.started_at - CASE
          WHEN a.kind = 'trigger' THEN a.enqueued_at
          WHEN a.started_at <= a.slot + interval '1 second' THEN a.slot
          ELSE least(
              a.enqueued_at, coalesce(
                (
                  SELECT CASE v.schedule ->> 'type'
                      WHEN 'IMMEDIATE' THEN a.slot + interval '1 second'
                      -- The first version is as old as its anchor.
                      WHEN 'ONE_TIME' THEN greatest(
                          a.slot + v.jitter_seconds * interval '1 second',
                          coalesce(v.created_at, v.anchor_at)
                        )
                      ELSE a.slot + v.jitter_seconds * interval '1 second'
                    END
                  FROM job_versions v
                  WHERE v.job_id = a.job_id AND v.version = a.version
                ),
                a.slot
              )
            )
        END,
        interval '0'
      )
  END`

const origin = fragment`timestamptz '2000-01-01 00:00:00+00'`

const counted = fragment`
  count(*) FILTER (WHERE attempt.final AND attempt.outcome = 'succeeded')::int AS succeeded,
  count(*) FILTER (WHERE attempt.final AND attempt.outcome IN ('failed', 'lost'))::int AS failed,
  count(*) FILTER (WHERE attempt.final AND attempt.outcome = 'timed_out')::int AS timed_out,
  count(*) FILTER (WHERE attempt.final AND attempt.outcome = 'cancelled')::int AS cancelled,
  count(*) FILTER (WHERE attempt.outcome = 'skipped')::int AS skipped,
  count(*) FILTER (WHERE attempt.outcome <> 'skipped')::int AS attempts,
  count(*) FILTER (WHERE attempt.attempt > 1 AND attempt.outcome <> 'skipped')::int AS retries,
  count(*) FILTER (WHERE attempt.dead_letter)::int AS dead_letters,
  coalesce(
    sum(attempt.duration_ms) FILTER (WHERE attempt.final AND attempt.outcome <> 'cancelled'), 0
  )::bigint AS duration_ms,
  coalesce(
    max(attempt.duration_ms) FILTER (WHERE attempt.final AND attempt.outcome <> 'cancelled'), 0
  ) AS duration_ms_max,
  count(attempt.late)::int AS started,
  count(*) FILTER (WHERE attempt.late <= interval '1 second')::int AS within_1s,
  count(*) FILTER (WHERE attempt.late <= interval '5 seconds')::int AS within_5s,
  coalesce(extract(epoch FROM max(attempt.late)) * 1000, 0)::bigint AS late_ms_max`

const columns = fragment`
  succeeded, failed, timed_out, cancelled, skipped, attempts, retries, dead_letters, duration_ms,
  duration_ms_max, started, within_1s, within_5s, late_ms_max`

/** Of counts of shorter spans. */
const summed = fragment`
  sum(succeeded)::int, sum(failed)::int, sum(timed_out)::int, sum(cancelled)::int, sum(skipped)::int,
  sum(attempts)::int, sum(retries)::int, sum(dead_letters)::int, sum(duration_ms)::bigint,
  max(duration_ms_max), sum(started)::int, sum(within_1s)::int, sum(within_5s)::int, max(late_ms_max)`

const added = fragment`
  succeeded = total.succeeded + excluded.succeeded, failed = total.failed + excluded.failed,
  timed_out = total.timed_out + excluded.timed_out, cancelled = total.cancelled + excluded.cancelled,
  skipped = total.skipped + excluded.skipped, attempts = total.attempts + excluded.attempts,
  retries = total.retries + excluded.retries, dead_letters = total.dead_letters + excluded.dead_letters,
  duration_ms = total.duration_ms + excluded.duration_ms,
  duration_ms_max = greatest(total.duration_ms_max, excluded.duration_ms_max),
  started = total.started + excluded.started, within_1s = total.within_1s + excluded.within_1s,
  within_5s = total.within_5s + excluded.within_5s,
  late_ms_max = greatest(total.late_ms_max, excluded.late_ms_max)`

// OFFSET 0: how late each began is computed once, not once for each count of it.
export const foldTenants = sql('foldTenants')`
  WITH delta AS MATERIALIZED (
    SELECT attempt.tenant_id, attempt.minute AS at, ${counted}
    FROM (
      SELECT a.tenant_id, date_bin('1 minute', a.recorded_at, ${origin}) AS minute, a.final, a.outcome,
        a.attempt, a.dead_letter, a.duration_ms, ${lateness} AS late
      FROM attempts a
      WHERE ${isNewAttempt} OFFSET 0
    ) attempt
    GROUP BY attempt.tenant_id, attempt.minute
  ), peaked AS MATERIALIZED (
    SELECT delta.*, delta.succeeded + delta.failed + delta.timed_out + coalesce(
        (
          SELECT minute.succeeded + minute.failed + minute.timed_out
          FROM tenant_activity minute
          WHERE minute.tenant_id = delta.tenant_id AND minute.step = 60 AND minute.at = delta.at
        ),
        0
      ) AS peak
    FROM delta
  ), written AS (
    INSERT INTO tenant_activity AS total (tenant_id, step, at, ${columns}, peak, peak_at)
    SELECT tenant_id, 60, at, ${columns}, peak, at
    FROM peaked
    UNION ALL
    SELECT tenant_id, longer.step, date_bin(longer.step * interval '1 second', at, ${origin}), ${summed},
      max(peak), (array_agg(at ORDER BY peak DESC, at))[1]
    FROM peaked
    CROSS JOIN (VALUES (3600), (86400)) AS longer(step)
    GROUP BY 1, 2, 3
    ON CONFLICT (tenant_id, step, at) DO UPDATE SET ${added}, peak = greatest(total.peak, excluded.peak),
      peak_at = CASE WHEN excluded.peak > total.peak THEN excluded.peak_at ELSE total.peak_at END
  )
  SELECT coalesce(sum(attempts + skipped), 0)::int AS recorded
  FROM delta`

export const foldJobs = sql('foldJobs')`
  WITH delta AS MATERIALIZED (
    SELECT attempt.job_id, attempt.hour AS at, ${counted}
    FROM (
      SELECT a.job_id, date_bin('1 hour', a.recorded_at, ${origin}) AS hour, a.final, a.outcome, a.attempt,
        a.dead_letter, a.duration_ms, ${lateness} AS late
      FROM attempts a
      WHERE ${isNewAttempt} OFFSET 0
    ) attempt
    GROUP BY attempt.job_id, attempt.hour
  ), written AS (
    INSERT INTO job_activity AS total (job_id, step, at, ${columns})
    SELECT job_id, 3600, at, ${columns}
    FROM delta
    ON CONFLICT (job_id, step, at) DO UPDATE SET ${added}
  )
  SELECT coalesce(sum(attempts + skipped), 0)::int AS recorded
  FROM delta`

// The mark of days is in an hour that is over, as far into it as parts of it are done: 225 seconds each. Hours in which
// nothing was recorded are passed over. No row: the hour is not over, or another process is at it.
export const lockDays = sql('lockDays')`
  SELECT to_ms(days.folded_to) AS since, to_ms(
      least(
        hours.folded_to, (
          SELECT activity.at
          FROM job_activity activity
          WHERE activity.step = 3600 AND activity.at >= date_bin('1 hour', days.folded_to, ${origin})
          ORDER BY activity.step, activity.at LIMIT 1
        )
      )
    ) AS next_hour
  FROM rollup_feeds days
  CROSS JOIN (
    SELECT date_bin('1 hour', jobs.folded_to, ${origin}) AS folded_to
    FROM rollup_feeds jobs
    WHERE jobs.feed = 'job'
  ) hours
  WHERE days.feed = 'day' AND days.folded_to < hours.folded_to FOR UPDATE OF days SKIP LOCKED`

export const foldDays = sql('foldDays')`
  WITH part AS MATERIALIZED (
    SELECT job_id, at, ${columns}
    FROM job_activity
    WHERE step = 3600
      AND at = date_bin('1 hour', from_ms($1), ${origin})
      AND part_of(job_id) = extract(
        epoch FROM from_ms($1) - date_bin('1 hour', from_ms($1), ${origin})
      )::int / 225
  )
  INSERT INTO job_activity AS total (job_id, step, at, ${columns})
  SELECT job_id, 86400, date_bin('1 day', at, ${origin}), ${columns}
  FROM part
  ON CONFLICT (job_id, step, at) DO UPDATE SET ${added}`

// The most important rows of unusual attempts; most of the record is not unusual. At most $3 groups per tenant in ten
// minutes, the most frequent first, and $4 late slots per tenant in an hour, the latest first.
export const foldTroubles = sql('foldTroubles')`
  WITH failed AS MATERIALIZED (
    SELECT a.tenant_id, date_bin('10 minutes', a.recorded_at, ${origin}) AS at, a.job_id,
      coalesce(a.error_type, '') AS error_type, coalesce(a.http_status, 0) AS http_status,
      left(coalesce(a.error_message, ''), 500) AS message, count(*)::int AS failures,
      min(a.recorded_at) AS first_at, max(a.recorded_at) AS last_at,
      max(a.execution_id::text)::uuid AS last_execution_id
    -- left(), so that the planner does not read the index of all that ever failed for it.
    FROM attempts a
    WHERE ${isNewAttempt} AND left(a.outcome, 9) IN ('failed', 'timed_out', 'lost')
    GROUP BY 1, 2, 3, 4, 5, 6
  ), grouped AS MATERIALIZED (
    SELECT tenant_id, at, job_id, error_type, http_status, md5(error_shape(message))::uuid AS shape,
      (array_agg(message ORDER BY last_at DESC, last_execution_id DESC))[1] AS message,
      sum(failures)::int AS failures, min(first_at) AS first_at, max(last_at) AS last_at,
      (array_agg(last_execution_id ORDER BY last_at DESC, last_execution_id DESC))[1] AS last_execution_id
    FROM failed
    GROUP BY 1, 2, 3, 4, 5, 6
  ), room AS MATERIALIZED (
    SELECT span.tenant_id, span.at, $3::int - (
        SELECT count(*)
        FROM (
          SELECT
          FROM failure_groups known
          WHERE known.tenant_id = span.tenant_id AND known.at = span.at LIMIT $3
        ) counted
      ) AS rows_left
    FROM (SELECT DISTINCT tenant_id, at FROM grouped) span
  ), ranked AS (
    SELECT grouped.*, known.there, row_number() OVER (
        PARTITION BY grouped.tenant_id, grouped.at,
        known.there ORDER BY grouped.failures DESC, grouped.job_id
      ) AS nth
    FROM grouped
    CROSS JOIN LATERAL (
      -- Not EXISTS: the planner would hash the whole table for it.
      SELECT coalesce(
          (
            SELECT true
            FROM failure_groups failed
            WHERE failed.tenant_id = grouped.tenant_id
              AND failed.at = grouped.at
              AND failed.job_id = grouped.job_id
              AND failed.error_type = grouped.error_type
              AND failed.http_status = grouped.http_status
              AND failed.shape = grouped.shape LIMIT 1
          ),
          false
        ) AS there
    ) known
  ), written AS (
    INSERT INTO failure_groups AS known_group (
      tenant_id, at, job_id, error_type, http_status, shape, message, failures, first_at, last_at,
      last_execution_id
    )
    SELECT ranked.tenant_id, ranked.at, ranked.job_id, ranked.error_type, ranked.http_status, ranked.shape,
      ranked.message, ranked.failures, ranked.first_at, ranked.last_at, ranked.last_execution_id
    FROM ranked
    JOIN room ON room.tenant_id = ranked.tenant_id AND room.at = ranked.at
    WHERE ranked.there OR ranked.nth <= room.rows_left
    ON CONFLICT (tenant_id, at, job_id, error_type, http_status, shape) DO UPDATE SET
      message = excluded.message, failures = known_group.failures + excluded.failures,
      first_at = least(known_group.first_at, excluded.first_at), last_at = excluded.last_at,
      last_execution_id = excluded.last_execution_id
  ), late AS MATERIALIZED (
    -- One of many triggers of a job at one second: they would leave no room for others.
    SELECT DISTINCT ON (started.tenant_id, started.slot, started.job_id) started.tenant_id, started.slot,
      started.job_id, started.execution_id, (extract(epoch FROM started.late) * 1000)::bigint AS late_ms
    FROM (
      SELECT a.tenant_id, a.slot, a.job_id, a.execution_id, ${lateness} AS late
      FROM attempts a
      WHERE ${isNewAttempt}
        AND a.attempt = 1
        AND a.started_at > CASE a.kind WHEN 'slot' THEN a.slot ELSE a.enqueued_at END + interval '5 seconds'
      OFFSET 0
    ) started
    WHERE started.late > interval '5 seconds'
    ORDER BY started.tenant_id, started.slot, started.job_id, started.execution_id
  ), free AS MATERIALIZED (
    SELECT span.tenant_id, span.hour, $4::int - (
        SELECT count(*)
        FROM (
          SELECT
          FROM late_slots known
          WHERE known.tenant_id = span.tenant_id
            AND known.slot >= span.hour
            AND known.slot < span.hour + interval '1 hour' LIMIT $4
        ) counted
      ) AS rows_left
    FROM (SELECT DISTINCT tenant_id, date_bin('1 hour', slot, ${origin}) AS hour FROM late) span
  ), noted AS (
    INSERT INTO late_slots (tenant_id, slot, job_id, kind, late_ms, slot_count, execution_id)
    SELECT ranked.tenant_id, ranked.slot, ranked.job_id, 'late', ranked.late_ms, 1, ranked.execution_id
    FROM (
      SELECT late.*, free.rows_left, row_number() OVER (
          PARTITION BY late.tenant_id, free.hour ORDER BY late.slot DESC, late.job_id
        ) AS nth
      FROM late
      JOIN free ON free.tenant_id = late.tenant_id AND free.hour = date_bin('1 hour', late.slot, ${origin})
    ) ranked
    WHERE ranked.nth <= ranked.rows_left
    ON CONFLICT DO NOTHING
  )
  SELECT (SELECT count(*) FROM grouped) AS groups, (SELECT count(*) FROM late) AS late`

// A range that grows is noted anew with its latest slot; the row of its earlier one goes. $3: see foldTroubles.
export const foldSkips = sql('foldSkips')`
  WITH changed AS MATERIALIZED (
    SELECT j.tenant_id, skip.job_id, skip.from_slot, skip.to_slot, skip.slot_count, skip.reason,
      row_number() OVER (PARTITION BY j.tenant_id ORDER BY skip.to_slot DESC, skip.job_id) AS nth
    FROM skips skip
    JOIN jobs j ON j.job_id = skip.job_id
    WHERE skip.reason IN ('overlap', 'misfire')
      AND skip.changed_at >= from_ms($1)
      AND skip.changed_at < from_ms($2)
  ), free AS MATERIALIZED (
    -- Once for an hour, not for each that was skipped: under overload these are thousands a second.
    SELECT span.tenant_id, span.hour, $3::int - (
        SELECT count(*)
        FROM (
          SELECT
          FROM late_slots known
          WHERE known.tenant_id = span.tenant_id
            AND known.slot >= span.hour
            AND known.slot < span.hour + interval '1 hour' LIMIT $3
        ) counted
      ) AS rows_left
    FROM (
      SELECT DISTINCT tenant_id, date_bin('1 hour', to_slot, ${origin}) AS hour FROM changed WHERE nth <= $3
    ) span
  ), kept AS MATERIALIZED (
    SELECT changed.*
    FROM changed
    JOIN free ON free.tenant_id = changed.tenant_id
      AND free.hour = date_bin('1 hour', changed.to_slot, ${origin})
    WHERE changed.nth <= free.rows_left
  ), gone AS (
    -- By its places, and these by the job: of a tenant there are many in the time of a long range.
    DELETE FROM late_slots late
    WHERE late.ctid = ANY (ARRAY(
      SELECT gone.ctid
      FROM kept
      CROSS JOIN LATERAL (
        SELECT late.ctid
        FROM late_slots late
        WHERE late.job_id = kept.job_id
          AND late.slot >= kept.from_slot
          AND late.slot < kept.to_slot
          AND late.kind = 'skipped'
          AND late.reason = kept.reason LIMIT 10
      ) gone
    ))
  ), noted AS (
    INSERT INTO late_slots AS late (tenant_id, slot, job_id, kind, reason, slot_count)
    SELECT tenant_id, to_slot, job_id, 'skipped', reason, slot_count
    FROM kept
    ON CONFLICT (tenant_id, slot, job_id, kind) DO UPDATE SET slot_count = excluded.slot_count,
      reason = excluded.reason
  )
  SELECT count(*)::int AS recorded
  FROM changed`

// CTEs, not subqueries: the planner may loop over a LIMITed subquery and take more than $2 rows.
export const pruneTenantActivity = sql('pruneTenantActivity')`
  WITH old AS MATERIALIZED (
    SELECT tenant_id, step, at
    FROM tenant_activity
    WHERE step = $3 AND at < clock_timestamp() - $1 * interval '1 day'
    ORDER BY at LIMIT $2
  )
  DELETE FROM tenant_activity activity
  USING old
  WHERE activity.tenant_id = old.tenant_id AND activity.step = old.step AND activity.at = old.at`

export const pruneJobActivity = sql('pruneJobActivity')`
  WITH old AS MATERIALIZED (
    SELECT job_id, step, at
    FROM job_activity
    WHERE step = $3 AND at < clock_timestamp() - $1 * interval '1 day'
    ORDER BY at LIMIT $2
  )
  DELETE FROM job_activity activity
  USING old
  WHERE activity.job_id = old.job_id AND activity.step = old.step AND activity.at = old.at`

export const pruneFailureGroups = sql('pruneFailureGroups')`
  WITH old AS MATERIALIZED (
    SELECT ctid AS id
    FROM failure_groups
    WHERE at < clock_timestamp() - $1 * interval '1 day'
    ORDER BY at LIMIT $2
  )
  DELETE FROM failure_groups failed
  USING old
  WHERE failed.ctid = old.id`

export const pruneLateSlots = sql('pruneLateSlots')`
  WITH old AS MATERIALIZED (
    SELECT ctid AS id
    FROM late_slots
    WHERE slot < clock_timestamp() - $1 * interval '1 day'
    ORDER BY slot LIMIT $2
  )
  DELETE FROM late_slots late
  USING old
  WHERE late.ctid = old.id`
