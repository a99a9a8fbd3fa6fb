// The statements that fold what ended into days.
import { sql } from '../../lib/sql.ts'

// One folder at a time, by the lock on the feed; how far it came is written with what it folded. A minute behind the
// clock: no transaction of ours lasts so long, so nothing is recorded behind the fold. $1 the most it folds at once.
export const foldStats = sql('foldStats')`
  WITH feed AS MATERIALIZED (
    SELECT folded_to AS since, least(folded_to + $1 * interval '1 millisecond', clock_ms() - interval '1 minute') AS until
    FROM stats_feed FOR UPDATE SKIP LOCKED
  ), moved AS (
    UPDATE stats_feed SET folded_to = f.until FROM feed f WHERE f.until > f.since
    RETURNING f.since, f.until
  ), ended AS MATERIALIZED (
    SELECT a.job_id, (a.recorded_at AT TIME ZONE 'UTC')::date AS day, a.execution_id, a.outcome, a.duration_ms, a.slot, a.kind
    FROM attempts a
    -- What was skipped was no run.
    WHERE a.final AND a.outcome <> 'skipped' AND a.recorded_at >= (SELECT since FROM feed) AND a.recorded_at < (SELECT until FROM feed)
      -- As the index has it.
      AND greatest(a.recorded_at, '-infinity'::timestamptz) >= (SELECT since FROM feed)
      AND greatest(a.recorded_at, '-infinity'::timestamptz) < (SELECT until FROM feed)
  ), folded AS (
    INSERT INTO job_days AS d (job_id, day, succeeded, failed, timed_out, timed, duration_ms, last_execution_id,
      last_outcome, last_slot)
    SELECT e.job_id, e.day, count(*) FILTER (WHERE e.outcome = 'succeeded'),
      count(*) FILTER (WHERE e.outcome IN ('failed', 'lost')), count(*) FILTER (WHERE e.outcome = 'timed_out'),
      count(e.duration_ms) FILTER (WHERE e.outcome <> 'cancelled'),
      coalesce(sum(e.duration_ms) FILTER (WHERE e.outcome <> 'cancelled'), 0),
      (array_agg(e.execution_id ORDER BY e.execution_id DESC))[1], (array_agg(e.outcome ORDER BY e.execution_id DESC))[1],
      max(e.slot) FILTER (WHERE e.kind = 'slot')
    FROM ended e GROUP BY e.job_id, e.day
    ON CONFLICT (job_id, day) DO UPDATE SET succeeded = d.succeeded + excluded.succeeded,
      failed = d.failed + excluded.failed, timed_out = d.timed_out + excluded.timed_out, timed = d.timed + excluded.timed,
      duration_ms = d.duration_ms + excluded.duration_ms,
      last_execution_id = greatest(d.last_execution_id, excluded.last_execution_id),
      last_outcome = CASE WHEN excluded.last_execution_id > d.last_execution_id THEN excluded.last_outcome
        ELSE d.last_outcome END,
      last_slot = greatest(d.last_slot, excluded.last_slot)
  )
  SELECT m.until >= m.since + $1 * interval '1 millisecond' AS more, (SELECT count(*) FROM ended) AS ended FROM moved m`

// A CTE, not a subquery: the planner may loop over a LIMITed subquery and take more than $2 rows.
export const pruneStats = sql('pruneStats')`
  WITH old AS MATERIALIZED (
    SELECT job_id, day FROM job_days WHERE day < (clock_timestamp() AT TIME ZONE 'UTC')::date - $1::int LIMIT $2
  )
  DELETE FROM job_days d USING old o WHERE d.job_id = o.job_id AND d.day = o.day`
