// The statements on the statistics of jobs: executions that ended are folded into days, and a reader adds the tail.
import { sql } from '../../lib/sql.ts'

// One folder at a time, by the lock on the feed; its progress is written with the folded counts. A minute behind the
// clock: no transaction of ours lasts so long, so nothing is recorded behind the fold. $1 the most it folds at once.
export const foldStats = sql('foldStats')`
  WITH feed AS MATERIALIZED (
    SELECT folded_to AS since,
      least(folded_to + $1 * interval '1 millisecond', clock_ms() - interval '1 minute') AS until
    FROM stats_feed FOR UPDATE SKIP LOCKED
  ), moved AS (
    UPDATE stats_feed
    SET folded_to = feed.until
    FROM feed
    WHERE feed.until > feed.since
    RETURNING feed.since, feed.until
  ), ended AS MATERIALIZED (
    SELECT a.job_id, (a.recorded_at AT TIME ZONE 'UTC')::date AS day, a.execution_id, a.outcome,
      a.duration_ms, a.slot, a.kind
    FROM attempts a
    -- A skipped execution did not run.
    WHERE a.final
      AND a.outcome <> 'skipped'
      AND a.recorded_at >= (SELECT since FROM feed)
      AND a.recorded_at < (SELECT until FROM feed)
      -- As the index has it.
      AND greatest(a.recorded_at, '-infinity'::timestamptz) >= (SELECT since FROM feed)
      AND greatest(a.recorded_at, '-infinity'::timestamptz) < (SELECT until FROM feed)
  ), folded AS (
    INSERT INTO job_days AS day (
      job_id, day, succeeded, failed, timed_out, timed, duration_ms, last_execution_id, last_outcome,
      last_slot
    )
    SELECT ended.job_id, ended.day, count(*) FILTER (WHERE ended.outcome = 'succeeded'),
      count(*) FILTER (WHERE ended.outcome IN ('failed', 'lost')),
      count(*) FILTER (WHERE ended.outcome = 'timed_out'),
      count(ended.duration_ms) FILTER (WHERE ended.outcome <> 'cancelled'),
      coalesce(sum(ended.duration_ms) FILTER (WHERE ended.outcome <> 'cancelled'), 0),
      (array_agg(ended.execution_id ORDER BY ended.execution_id DESC))[1],
      (array_agg(ended.outcome ORDER BY ended.execution_id DESC))[1],
      max(ended.slot) FILTER (WHERE ended.kind = 'slot')
    FROM ended
    GROUP BY ended.job_id, ended.day
    ON CONFLICT (job_id, day) DO UPDATE SET succeeded = day.succeeded + excluded.succeeded,
      failed = day.failed + excluded.failed, timed_out = day.timed_out + excluded.timed_out,
      timed = day.timed + excluded.timed, duration_ms = day.duration_ms + excluded.duration_ms,
      last_execution_id = greatest(day.last_execution_id, excluded.last_execution_id),
      last_outcome = CASE
        WHEN excluded.last_execution_id > day.last_execution_id THEN excluded.last_outcome
        ELSE day.last_outcome
      END,
      last_slot = greatest(day.last_slot, excluded.last_slot)
  )
  SELECT moved.until >= moved.since + $1 * interval '1 millisecond' AS more,
    (SELECT count(*) FROM ended) AS ended
  FROM moved`

// A CTE, not a subquery: the planner may loop over a LIMITed subquery and take more than $2 rows.
export const pruneStats = sql('pruneStats')`
  WITH old AS MATERIALIZED (
    SELECT job_id, day
    FROM job_days
    WHERE day < (clock_timestamp() AT TIME ZONE 'UTC')::date - $1::int LIMIT $2
  )
  DELETE FROM job_days day
  USING old
  WHERE day.job_id = old.job_id AND day.day = old.day`

// Folded days, and the records since the fold. $2: the days that are kept. An execution that was made more than an hour
// before the fold and ended since is counted by the next fold, seconds later.
export const selectStats = sql('selectStats')`
  WITH feed AS MATERIALIZED (SELECT folded_to FROM stats_feed), tail AS MATERIALIZED (
    SELECT a.execution_id, a.outcome, a.duration_ms
    FROM attempts a
    WHERE a.job_id = $1
      AND a.final
      AND a.outcome <> 'skipped'
      AND a.recorded_at >= (SELECT folded_to FROM feed)
      AND a.recorded_at >= now() - $2::int * interval '1 day'
      AND a.recorded_at < now() + interval '1 hour'
      AND a.execution_id >= first_id((SELECT folded_to FROM feed) - interval '1 hour')
  ), day AS MATERIALIZED (
    SELECT *
    FROM job_days days
    WHERE days.job_id = $1 AND days.day > (clock_timestamp() AT TIME ZONE 'UTC')::date - $2::int
  )
  SELECT days.succeeded + tail.succeeded AS succeeded, days.failed + tail.failed AS failed,
    days.timed_out + tail.timed_out AS timed_out, days.timed + tail.timed AS timed,
    (days.duration_ms + tail.duration_ms)::float8 AS duration_ms,
    (
      SELECT last.outcome
      FROM (
        (SELECT execution_id, outcome FROM tail ORDER BY execution_id DESC LIMIT 1)
        UNION ALL (SELECT last_execution_id, last_outcome FROM day ORDER BY last_execution_id DESC LIMIT 1)
      ) last
      ORDER BY last.execution_id DESC LIMIT 1
    ) AS last_outcome
  FROM (
    SELECT coalesce(sum(succeeded), 0) AS succeeded, coalesce(sum(failed), 0) AS failed,
      coalesce(sum(timed_out), 0) AS timed_out, coalesce(sum(timed), 0) AS timed,
      coalesce(sum(duration_ms), 0) AS duration_ms
    FROM day
  ) days
  CROSS JOIN (
    SELECT count(*) FILTER (WHERE outcome = 'succeeded') AS succeeded,
      count(*) FILTER (WHERE outcome IN ('failed', 'lost')) AS failed,
      count(*) FILTER (WHERE outcome = 'timed_out') AS timed_out,
      count(duration_ms) FILTER (WHERE outcome <> 'cancelled') AS timed,
      coalesce(sum(duration_ms) FILTER (WHERE outcome <> 'cancelled'), 0) AS duration_ms
    FROM tail
  ) tail`
