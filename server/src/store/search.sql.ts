// The lists of executions. One statement a page: those under way and those recorded are seen at one moment, so an
// execution on its way from one table to the next is seen once; and a round trip costs more than most of them. Each
// looks at no more rows than it is told, newest first: a page that found too little among them is short, and says
// where to go on.
import { type Fragment, fragment, sql } from '../lib/sql.ts'

const batchedStatus = fragment`
  CASE WHEN b.worker_id IS NULL THEN 'PENDING' WHEN b.cancels ? u.place::text THEN 'CANCELLING' ELSE 'RUNNING' END AS status`

const batched = fragment`
  execution_at(b.batch_id, u.place) AS execution_id, u.job_id, u.version, 'slot' AS kind, ${batchedStatus},
  NULL::text AS outcome,
  from_ms(u.slot_ms) AS slot, CASE WHEN b.worker_id IS NULL THEN 0 ELSE 1 END AS attempt, b.enqueued_at,
  b.claimed_at AS started_at, NULL::timestamptz AS finished_at, NULL::int AS duration_ms, b.worker_id,
  NULL::int AS http_status, NULL::text AS error_type, NULL::text AS error_message, false AS dead_letter,
  NULL::timestamptz AS retry_at, NULL::text AS last_error_type, NULL::text AS last_error_message,
  NULL::uuid AS run_id, NULL::text AS skip_reason`

const places = fragment`
  CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.versions, b.slots_ms) AS u(place, job_id, version, slot_ms)`

const statusOfLive = fragment`
  CASE WHEN l.cancelled_at IS NOT NULL THEN 'CANCELLING' WHEN l.state IN ('running', 'awaiting') THEN 'RUNNING'
    WHEN l.state = 'blocked' THEN 'WAITING_DEPENDENCIES'
    WHEN l.state = 'retrying' OR l.attempt > 0 THEN 'RETRYING' ELSE 'PENDING' END`

const alive = fragment`
  l.execution_id, l.job_id, l.version, l.kind,
  ${statusOfLive}, NULL,
  l.slot, l.attempt, l.enqueued_at, coalesce(l.started_at, s.started_at), s.finished_at, s.duration_ms,
  coalesce(l.worker_id, l.caller_id, s.worker_id), s.http_status, s.error_type, s.error_message, false, l.ready_at,
  a.error_type, a.error_message, l.run_id, NULL`

/** Between two attempts (s) it shows what the last one (a) did; it is found by that also while the next one runs. */
const lastAttempt = fragment`
  LEFT JOIN LATERAL (
    SELECT * FROM attempts a WHERE a.job_id = l.job_id AND a.execution_id = l.execution_id AND l.attempt > 0
      AND a.recorded_at < now() + interval '1 hour'
    ORDER BY a.attempt DESC LIMIT 1
  ) a ON true
  LEFT JOIN LATERAL (SELECT a.* WHERE l.state NOT IN ('running', 'awaiting')) s ON true`

// $1 job, $2 before. In two parts, as the indexes are.
const liveOfJob = fragment`(
    SELECT * FROM live WHERE job_id = $1 AND execution_id < $2::uuid AND state <> 'blocked'
    UNION ALL
    SELECT * FROM live WHERE job_id = $1 AND execution_id < $2::uuid AND state = 'blocked'
  ) l`

// $1 job, $2 before, $14 rows of live to look at.
const underWayOfJob = fragment`
  (SELECT ${batched} FROM batches b ${places}
  WHERE b.job_ids @> ARRAY[$1::uuid] AND u.job_id = $1 AND execution_at(b.batch_id, u.place) < $2::uuid)
  UNION ALL
  (SELECT ${alive} FROM (
    SELECT * FROM ${liveOfJob} ORDER BY execution_id DESC LIMIT $14
  ) l ${lastAttempt})`

// $1 tenant, $2 before, $14 rows of live and $15 batches to look at: a batch holds executions of many tenants.
const underWayOfTenant = fragment`
  (SELECT ${batched} FROM (SELECT * FROM batches WHERE batch_id <= $2::uuid ORDER BY batch_id DESC LIMIT $15) b ${places}
  CROSS JOIN LATERAL (SELECT j.tenant_id FROM jobs j WHERE j.job_id = u.job_id LIMIT 1) j
  WHERE j.tenant_id = $1 AND execution_at(b.batch_id, u.place) < $2::uuid)
  UNION ALL
  (SELECT ${alive} FROM (SELECT * FROM live WHERE execution_id < $2::uuid ORDER BY execution_id DESC LIMIT $14) l
  ${lastAttempt} WHERE l.tenant_id = $1)`

// Recorded. $1 job or tenant, $2 before, $3 from; then the conditions: $4 outcomes, $5 kind, $6 error type, $7 dead
// letter, $8 to, $9 tag, $10 text; $11 rows to look at. Bounds of recorded_at leave out days: a slot is never recorded
// before its time, and two weeks of days to come are empty. What was enqueued long after its slot has indexes of its own.
// k.since: what is kept.
const columns = fragment`
  a.execution_id, a.job_id, a.version, a.kind, a.outcome, a.slot, a.attempt, a.enqueued_at, a.started_at, a.finished_at,
  a.duration_ms, a.worker_id, a.http_status, a.error_type, a.error_message, a.dead_letter, a.run_id,
  a.skip_reason`

// The least id of what was enqueued later than its slot by so much that it is in the index of what was late; clocks of
// servers differ by less than the second minute. Infinity has no id.
const lateId = fragment`
  first_id(least($8::timestamptz, timestamptz '2200-01-01 00:00:00+00') + interval '2 minutes')`

const newest = fragment`
  AND a.final AND a.execution_id < least($2::uuid, ${lateId}) AND a.recorded_at >= greatest($3::timestamptz, k.since)
  AND a.recorded_at < now() + interval '1 hour' ORDER BY a.execution_id DESC LIMIT $11`

const newestLate = fragment`
  AND a.final AND a.enqueued_at - a.slot > interval '1 minute' AND a.execution_id < $2::uuid AND a.execution_id >= ${lateId}
  AND a.recorded_at >= greatest($8::timestamptz, k.since) AND a.recorded_at < now() + interval '1 hour'
  ORDER BY a.execution_id DESC LIMIT $11`

const inOrder = (rows: Fragment): Fragment => fragment`
  SELECT * FROM ((${rows} ${newest}) UNION ALL (${rows} ${newestLate})) a ORDER BY a.execution_id DESC LIMIT $11`

const matches = fragment`
  ($4::text[] IS NULL OR a.outcome = ANY ($4)) AND ($5::text IS NULL OR a.kind = $5)
  AND ($6::text IS NULL OR a.error_type = $6) AND ($7::boolean IS NULL OR a.dead_letter = $7)
  AND a.slot >= $3::timestamptz AND a.slot < $8::timestamptz
  AND ($9::text IS NULL OR $9 = ANY ((SELECT j.tags FROM jobs j WHERE j.job_id = a.job_id)::text[]))
  AND ($10::text IS NULL OR strpos(lower(a.error_message), $10) > 0
    OR strpos((SELECT j.search FROM jobs j WHERE j.job_id = a.job_id), $10) > 0)`

const ofJob = inOrder(fragment`SELECT ${columns} FROM attempts a WHERE a.job_id = $1`)
const ofTenant = inOrder(fragment`SELECT ${columns} FROM attempts a WHERE a.tenant_id = $1`)
// What did not succeed has indexes of its own: the few are found among the many.
const failedOfJob = inOrder(fragment`
  SELECT ${columns} FROM attempts a WHERE a.job_id = $1 AND a.outcome <> 'succeeded'`)
const failedOfTenant = inOrder(fragment`
  SELECT ${columns} FROM attempts a WHERE a.tenant_id = $1 AND a.outcome <> 'succeeded'`)

// $12 limit.
const found = fragment`
  a.execution_id, a.job_id, a.version, a.kind, NULL::text, a.outcome, a.slot, a.attempt::int, a.enqueued_at, a.started_at,
  a.finished_at, a.duration_ms, a.worker_id, a.http_status::int, a.error_type, a.error_message, a.dead_letter,
  NULL::timestamptz, NULL::text, NULL::text, a.run_id, a.skip_reason`
const page = fragment`WHERE ${matches} ORDER BY a.execution_id DESC LIMIT $12`

// What is kept, and one row also when nothing was found; no row: there is no such job. $13 the tenant, and how many must
// have ended on whole days for nobody to count them. OFFSET 0: else the days are added up for every row of the page.
const keptOfJob = fragment`
  SELECT j.name, now() - r.history_days * interval '1 day' AS since, NULL::uuid AS batch_end, (
    SELECT coalesce(sum(d.succeeded + d.failed + d.timed_out), 0) > $15::bigint FROM job_days d
    WHERE d.job_id = j.job_id AND d.day > (now() AT TIME ZONE 'UTC')::date - r.history_days) AS many, (
    SELECT execution_id FROM ${liveOfJob} ORDER BY execution_id DESC OFFSET $14 - 1 LIMIT 1) AS live_end
  FROM jobs j JOIN tenants t ON t.tenant_id = j.tenant_id JOIN tiers r ON r.tier = t.tier
  WHERE j.job_id = $1 AND j.tenant_id = $13 OFFSET 0`

const keptOfTenant = fragment`
  SELECT NULL::text AS name, now() - r.history_days * interval '1 day' AS since, false AS many, (
    SELECT batch_id FROM batches WHERE batch_id <= $2::uuid ORDER BY batch_id DESC OFFSET $15 - 1 LIMIT 1) AS batch_end, (
    SELECT execution_id FROM live WHERE execution_id < $2::uuid ORDER BY execution_id DESC OFFSET $14 - 1 LIMIT 1
  ) AS live_end
  FROM tenants t JOIN tiers r ON r.tier = t.tier WHERE t.tenant_id = $1 AND t.tenant_id = $13`

const listed = fragment`
  SELECT k.many, k.batch_end, k.live_end, x.*, j.name AS job_name, j.tags, j.search`
const named = fragment`
  LEFT JOIN LATERAL (SELECT name, tags, search FROM jobs j WHERE j.job_id = x.job_id LIMIT 1) j ON true`

export const listOfJob = sql('listOfJob')`${listed} FROM (${keptOfJob}) k
  LEFT JOIN LATERAL (${underWayOfJob} UNION ALL (SELECT ${found} FROM (${ofJob}) a ${page})) x ON true ${named}`
export const listFailedOfJob = sql('listFailedOfJob')`${listed} FROM (${keptOfJob}) k
  LEFT JOIN LATERAL (${underWayOfJob} UNION ALL (SELECT ${found} FROM (${failedOfJob}) a ${page})) x ON true ${named}`
export const listOfTenant = sql('listOfTenant')`${listed} FROM (${keptOfTenant}) k
  LEFT JOIN LATERAL (${underWayOfTenant} UNION ALL (SELECT ${found} FROM (${ofTenant}) a ${page})) x ON true ${named}`
export const listFailedOfTenant = sql('listFailedOfTenant')`${listed} FROM (${keptOfTenant}) k
  LEFT JOIN LATERAL (${underWayOfTenant} UNION ALL (SELECT ${found} FROM (${failedOfTenant}) a ${page})) x ON true ${named}`

// The page of a job that most people ask for: without conditions, and with its count. The days of attempts are opened once,
// which is most of its work: the list and the count above open them five times. What the attempt before did is not looked up
// (`is_between`: then the list says it), late ends need no index of their own, and the job's own columns come once, not by row.
// $1 job, $2 before, $3 tenant, $4 rows of the page, $5 rows to look at so as to count them, $6 rows of live to look at, $7 how
// many must have ended on whole days for nobody to count them.
export const pageOfJob = sql('pageOfJob')`
  WITH kept AS MATERIALIZED (
    SELECT j.name, now() - r.history_days * interval '1 day' AS since, (
      SELECT coalesce(sum(d.succeeded + d.failed + d.timed_out), 0) > $7::bigint FROM job_days d
      WHERE d.job_id = j.job_id AND d.day > (now() AT TIME ZONE 'UTC')::date - r.history_days) AS many
    FROM jobs j JOIN tenants t ON t.tenant_id = j.tenant_id JOIN tiers r ON r.tier = t.tier
    WHERE j.job_id = $1 AND j.tenant_id = $3
  ), unended AS MATERIALIZED (
    SELECT * FROM ${liveOfJob} ORDER BY execution_id DESC LIMIT $6::bigint
  ), seen AS MATERIALIZED (
    SELECT a.* FROM kept k CROSS JOIN LATERAL (
      SELECT ${columns} FROM attempts a
      WHERE a.job_id = $1 AND a.final AND a.execution_id < $2::uuid AND a.recorded_at >= k.since
        AND a.recorded_at < now() + interval '1 hour'
      ORDER BY a.execution_id DESC LIMIT CASE WHEN k.many THEN $4::bigint ELSE $5::bigint END
    ) a
  )
  SELECT k.name AS job_name, k.many, (SELECT count(*) FROM seen) AS seen,
    (SELECT execution_id FROM unended OFFSET $6::bigint - 1 LIMIT 1) AS live_end, NULL::uuid AS batch_end, x.*
  FROM kept k LEFT JOIN LATERAL (
    (SELECT execution_at(b.batch_id, u.place) AS execution_id, u.version, 'slot' AS kind, ${batchedStatus}, NULL::text AS outcome,
      from_ms(u.slot_ms) AS slot, CASE WHEN b.worker_id IS NULL THEN 0 ELSE 1 END AS attempt, b.enqueued_at,
      b.claimed_at AS started_at, NULL::timestamptz AS finished_at, NULL::int AS duration_ms, b.worker_id,
      NULL::int AS http_status, NULL::text AS error_type, NULL::text AS error_message, false AS dead_letter,
      NULL::timestamptz AS retry_at, NULL::uuid AS run_id, NULL::text AS skip_reason, false AS is_between
    FROM batches b ${places}
    WHERE b.job_ids @> ARRAY[$1::uuid] AND u.job_id = $1 AND execution_at(b.batch_id, u.place) < $2::uuid)
    UNION ALL
    (SELECT l.execution_id, l.version, l.kind, ${statusOfLive}, NULL, l.slot, l.attempt, l.enqueued_at, l.started_at, NULL, NULL,
      coalesce(l.worker_id, l.caller_id), NULL, NULL, NULL, false, l.ready_at, l.run_id, NULL,
      l.attempt > 0 AND l.state NOT IN ('running', 'awaiting')
    FROM unended l)
    UNION ALL
    (SELECT a.execution_id, a.version, a.kind, NULL, a.outcome, a.slot, a.attempt::int, a.enqueued_at, a.started_at,
      a.finished_at, a.duration_ms, a.worker_id, a.http_status::int, a.error_type, a.error_message, a.dead_letter, NULL,
      a.run_id, a.skip_reason, false
    FROM seen a LIMIT $4::bigint)
  ) x ON true`

// How many of those looked at match, and where the look ends. $12 the tenant.
const kept = fragment`
  (SELECT now() - r.history_days * interval '1 day' AS since FROM tenants t JOIN tiers r ON r.tier = t.tier
  WHERE t.tenant_id = $12) k`
// The last of them by its place: the least of 10,000 ids would be found by comparing texts.
const count = fragment`
  SELECT count(*) AS seen, count(*) FILTER (WHERE ${matches}) AS total, (array_agg(a.execution_id))[$11::int] AS end_id`

export const countOfJob = sql('countOfJob')`${count} FROM ${kept} CROSS JOIN LATERAL (${ofJob}) a`
export const countFailedOfJob = sql(
  'countFailedOfJob',
)`${count} FROM ${kept} CROSS JOIN LATERAL (${failedOfJob}) a`
export const countOfTenant = sql('countOfTenant')`${count} FROM ${kept} CROSS JOIN LATERAL (${ofTenant}) a`
export const countFailedOfTenant = sql(
  'countFailedOfTenant',
)`${count} FROM ${kept} CROSS JOIN LATERAL (${failedOfTenant}) a`
