// The most requested page of a job: without conditions, and with its count. Ended executions are not counted again: the
// fold has counted them by the day (`rollups.sql.ts`), in every outcome that an execution can end with.
import { fragment, sql } from '../../lib/sql.ts'
import { batchedStatus, batchesOfJob, enqueuedOfJob, liveOfJob, statusOfLive } from '../sql/under-way.ts'

const origin = fragment`timestamptz '2000-01-01 00:00:00+00'`

// The retained history (`since`), and its part on whole days (from `whole_from`) that are folded (up to `folded_to`):
// so many ended on these. `enough_from`: days from here on have a page of executions made before $4, and one day more,
// because an execution that ended on a day may have been made on the day before. Records of an earlier day have an id
// below `enough_id`; clocks of servers differ by less than the hour. No row: there is no such job.
// $1 job, $2 tenant, $3 rows of the page.
export const pastOfJob = sql('pastOfJob')`
  SELECT j.name, kept.since, kept.whole_from, fold.folded_to, coalesce(days.counted, 0) AS counted,
    days.enough_from, first_id(days.enough_from + interval '1 hour') AS enough_id
  FROM jobs j
  JOIN tenants t ON t.tenant_id = j.tenant_id
  JOIN tiers tier ON tier.tier = t.tier
  CROSS JOIN (
    SELECT date_bin('1 day', folded_to, ${origin}) AS folded_to FROM rollup_feeds WHERE feed = 'day'
  ) fold
  CROSS JOIN LATERAL (
    SELECT since,
      date_bin('1 day', since + interval '1 day' - interval '1 millisecond', ${origin}) AS whole_from
    FROM (
      SELECT date_trunc('milliseconds', now() - tier.history_days * interval '1 day') AS since OFFSET 0
    ) retention
  ) kept
  CROSS JOIN LATERAL (
    SELECT sum(ended) AS counted, max(at) FILTER (WHERE later >= $3::bigint) AS enough_from
    FROM (
      SELECT at, ended, sum(ended) FILTER (WHERE at < $4::timestamptz - interval '1 day') OVER (
          ORDER BY at DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS later
      FROM (
        SELECT activity.at,
          activity.succeeded + activity.failed + activity.timed_out + activity.cancelled + activity.skipped
            AS ended
        FROM job_activity activity
        WHERE activity.job_id = j.job_id
          AND activity.step = 86400
          AND activity.at >= kept.whole_from
          AND activity.at < fold.folded_to
      ) activity
    ) days
  ) days
  WHERE j.job_id = $1 AND j.tenant_id = $2`

// One row about the whole, without an execution, and the rows of the page.
// Bounds of recorded_at are parameters: days outside of them are not even opened, which would be most of the work. The
// result of the attempt before is not looked up (`is_between`: then the list has it), late ends need no index of their
// own, and the job's own columns are known. `uncounted`: executions that ended where the first statement has not
// counted, on the day at the end of the retention and since the fold. `under_way`: all of them, on later pages too.
// $1 job, $2 before, $3 from where to list, $4 rows of the page, $5 rows of live to scan, $6 since, $7 whole_from, $8
// folded_to, $9 how many to count.
export const pageOfJob = sql('pageOfJob')`
  WITH unended AS MATERIALIZED (
    SELECT * FROM ${liveOfJob} ORDER BY execution_id DESC LIMIT $5::bigint
  ), own AS MATERIALIZED (SELECT * FROM ${batchesOfJob})
  SELECT (SELECT execution_id FROM unended OFFSET $5::bigint - 1 LIMIT 1) AS live_end,
    (
      SELECT count(*)
      FROM (
        SELECT
        FROM own b
        CROSS JOIN LATERAL unnest(b.job_ids) AS batched(job_id)
        WHERE batched.job_id = $1 LIMIT $9::bigint
      ) b
    )
      + (SELECT count(*) FROM unended) + (
        SELECT count(*)
        FROM (
          SELECT
          FROM live
          WHERE job_id = $1 AND execution_id >= $2::uuid AND state <> 'blocked'
          UNION ALL
          SELECT
          FROM live
          WHERE job_id = $1 AND execution_id >= $2::uuid AND state = 'blocked' LIMIT $5::bigint
        ) l
      ) AS under_way,
    (
      SELECT count(*)
      FROM (
        SELECT
        FROM attempts a
        WHERE a.job_id = $1
          AND a.final
          AND a.recorded_at >= $6::timestamptz
          AND (a.recorded_at < $7::timestamptz OR a.recorded_at >= $8::timestamptz)
          AND a.recorded_at < now() + interval '1 hour' LIMIT $9::bigint
      ) a
    ) AS uncounted,
    NULL::uuid AS execution_id, NULL::int AS version, NULL::text AS kind, NULL::text AS status,
    NULL::text AS outcome, NULL::timestamptz AS slot, NULL::int AS attempt,
    NULL::timestamptz AS enqueued_at, NULL::timestamptz AS started_at, NULL::timestamptz AS finished_at,
    NULL::int AS duration_ms, NULL::uuid AS worker_id, NULL::int AS http_status, NULL::text AS error_type,
    NULL::text AS error_message, NULL::boolean AS dead_letter, NULL::timestamptz AS retry_at,
    NULL::uuid AS run_id, NULL::text AS skip_reason, NULL::boolean AS is_between
  UNION ALL
  (
    SELECT NULL, NULL, NULL, execution_at(b.batch_id, batched.position), batched.version, b.kind,
      ${batchedStatus}, NULL, from_ms(batched.slot_ms), CASE WHEN b.worker_id IS NULL THEN 0 ELSE 1 END,
      b.enqueued_at, b.claimed_at, NULL, NULL, b.worker_id, NULL, NULL, NULL, false, NULL, NULL, NULL,
      NULL ${enqueuedOfJob(fragment`own`)} LIMIT $4::bigint
  )
  UNION ALL
  SELECT NULL, NULL, NULL, l.execution_id, l.version, l.kind, ${statusOfLive}, NULL, l.slot, l.attempt,
    l.enqueued_at, l.started_at, NULL, NULL, coalesce(l.worker_id, l.caller_id), NULL, NULL, NULL, false,
    l.ready_at, l.run_id, NULL, l.attempt > 0 AND l.state NOT IN ('running', 'awaiting')
  FROM unended l
  UNION ALL
  (
    SELECT NULL, NULL, NULL, a.execution_id, a.version, a.kind, NULL, a.outcome, a.slot, a.attempt,
      a.enqueued_at, a.started_at, a.finished_at, a.duration_ms, a.worker_id, a.http_status, a.error_type,
      a.error_message, a.dead_letter, NULL, a.run_id, a.skip_reason, NULL
    FROM attempts a
    WHERE a.job_id = $1
      AND a.final
      AND a.execution_id < $2::uuid
      AND a.recorded_at >= $3::timestamptz
      AND a.recorded_at < now() + interval '1 hour'
    ORDER BY a.execution_id DESC LIMIT $4::bigint
  )`
