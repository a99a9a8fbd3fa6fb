// The lists of executions. One statement per page: it sees unended and recorded executions in one snapshot, so an
// execution that moves between tables is seen once; and a round trip costs more than most of these statements. Each
// reads at most the given number of rows, newest first: a page with too few matches among them is short, and says where
// to continue.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'
import {
  batchedStatus,
  batchesOfJob,
  enqueuedOfJob,
  liveOfJob,
  statusOfLive,
  unnestBatches,
} from '../sql/under-way.ts'

const batched = fragment`
  execution_at(b.batch_id, batched.position) AS execution_id, batched.job_id, batched.version, b.kind,
  ${batchedStatus}, NULL::text AS outcome, from_ms(batched.slot_ms) AS slot,
  CASE WHEN b.worker_id IS NULL THEN 0 ELSE 1 END AS attempt, b.enqueued_at, b.claimed_at AS started_at,
  NULL::timestamptz AS finished_at, NULL::int AS duration_ms, b.worker_id, NULL::int AS http_status,
  NULL::text AS error_type, NULL::text AS error_message, false AS dead_letter,
  NULL::timestamptz AS retry_at, NULL::text AS last_error_type, NULL::text AS last_error_message,
  NULL::uuid AS run_id, NULL::text AS skip_reason`

const alive = fragment`
  l.execution_id, l.job_id, l.version, l.kind, ${statusOfLive}, NULL, l.slot, l.attempt, l.enqueued_at,
  coalesce(l.started_at, shown.started_at), shown.finished_at, shown.duration_ms,
  coalesce(l.worker_id, l.caller_id, shown.worker_id), shown.http_status, shown.error_type,
  shown.error_message, false, l.ready_at, a.error_type, a.error_message, l.run_id, NULL`

/**
 * Between attempts an execution shows (`shown`) the end of the last one (a); a search finds it by that also during the next.
 */
const lastAttempt = fragment`
  LEFT JOIN LATERAL (
    SELECT *
    FROM attempts a
    WHERE a.job_id = l.job_id
      AND a.execution_id = l.execution_id
      AND l.attempt > 0
      AND a.recorded_at < now() + interval '1 hour'
    ORDER BY a.attempt DESC LIMIT 1
  ) a ON true
  LEFT JOIN LATERAL (SELECT a.* WHERE l.state NOT IN ('running', 'awaiting')) shown ON true`

// $1 job, $2 before, $15 executions in batches and rows of live to look at.
const underWayOfJob = fragment`
  (SELECT ${batched} ${enqueuedOfJob(batchesOfJob)} LIMIT $15)
  UNION ALL
  (SELECT ${alive} FROM (SELECT * FROM ${liveOfJob} ORDER BY execution_id DESC LIMIT $15) l ${lastAttempt})`

// With a worker ($11): the executions that it holds, by the indexes of held ones; and the newest of executions that are
// between two attempts, because the one before may have been its own.
const newestBatches = fragment`
  (SELECT * FROM batches WHERE $11::uuid IS NULL AND batch_id <= $2::uuid ORDER BY batch_id DESC LIMIT $16)
  UNION ALL
  (SELECT * FROM batches WHERE worker_id = $11::uuid AND batch_id <= $2::uuid)`

const newestLive = fragment`
  (SELECT * FROM live WHERE $11::uuid IS NULL AND execution_id < $2::uuid ORDER BY execution_id DESC LIMIT $15)
  UNION ALL
  (SELECT * FROM live WHERE worker_id = $11::uuid AND execution_id < $2::uuid)
  UNION ALL
  (
    SELECT *
    FROM live
    WHERE $11::uuid IS NOT NULL AND worker_id IS NULL AND attempt > 0 AND execution_id < $2::uuid
    ORDER BY execution_id DESC LIMIT $15
  )`

// $1 tenant, $2 before, $15 rows of live and $16 batches to look at: a batch holds executions of many tenants.
const underWayOfTenant = fragment`
  (
    SELECT ${batched}
    FROM (${newestBatches}) b ${unnestBatches}
    CROSS JOIN LATERAL (SELECT j.tenant_id FROM jobs j WHERE j.job_id = batched.job_id LIMIT 1) j
    WHERE j.tenant_id = $1 AND execution_at(b.batch_id, batched.position) < $2::uuid
  )
  UNION ALL
  (
    SELECT ${alive}
    FROM (${newestLive}) l ${lastAttempt}
    WHERE l.tenant_id = $1
  )`

// Recorded executions. $1 job or tenant, $2 before, $3 from; then the conditions: $4 outcomes, $5 kind, $6 error type,
// $7 dead letter, $8 to, $9 tag, $10 text, $11 worker; $12 rows to read. Bounds of recorded_at exclude daily partitions: a slot is
// never recorded before its time, and the partitions of the next two weeks are empty. Executions enqueued long after
// their slot have their own indexes. kept.since: start of the retained history.
const columns = fragment`
  a.execution_id, a.job_id, a.version, a.kind, a.outcome, a.slot, a.attempt, a.enqueued_at, a.started_at,
  a.finished_at, a.duration_ms, a.worker_id, a.http_status, a.error_type, a.error_message, a.dead_letter,
  a.run_id, a.skip_reason`

// The least id of executions enqueued so long after their slot that they are in the index of late executions; the
// second minute allows for clock differences between servers. Infinity has no id.
const lateId = fragment`
  first_id(least($8::timestamptz, timestamptz '2200-01-01 00:00:00+00') + interval '2 minutes')`

const newest = fragment`
  AND a.final
    AND a.execution_id < least($2::uuid, ${lateId})
    AND a.recorded_at >= greatest($3::timestamptz, kept.since)
    AND a.recorded_at < now() + interval '1 hour'
  ORDER BY a.execution_id DESC LIMIT $12`

const newestLate = fragment`
  AND a.final
    AND a.enqueued_at - a.slot > interval '1 minute'
    AND a.execution_id < $2::uuid
    AND a.execution_id >= ${lateId}
    AND a.recorded_at >= greatest($8::timestamptz, kept.since)
    AND a.recorded_at < now() + interval '1 hour'
  ORDER BY a.execution_id DESC LIMIT $12`

const inOrder = (rows: Fragment): Fragment => fragment`
  SELECT *
  FROM ((${rows} ${newest}) UNION ALL (${rows} ${newestLate})) a
  ORDER BY a.execution_id DESC LIMIT $12`

const matches = fragment`
  ($4::text[] IS NULL OR a.outcome = ANY ($4))
    AND ($5::text IS NULL OR a.kind = $5)
    AND ($6::text IS NULL OR a.error_type = $6)
    AND ($7::boolean IS NULL OR a.dead_letter = $7)
    AND ($11::uuid IS NULL OR a.worker_id = $11)
    AND a.slot >= $3::timestamptz
    AND a.slot < $8::timestamptz
    AND ($9::text IS NULL OR $9 = ANY ((SELECT j.tags FROM jobs j WHERE j.job_id = a.job_id)::text[]))
    AND (
      $10::text IS NULL
      OR strpos(lower(a.error_message), $10) > 0
      OR strpos((SELECT j.search FROM jobs j WHERE j.job_id = a.job_id), $10) > 0
    )`

const ofJob = inOrder(fragment`SELECT ${columns} FROM attempts a WHERE a.job_id = $1`)
const ofTenant = inOrder(fragment`SELECT ${columns} FROM attempts a WHERE a.tenant_id = $1`)
// Executions that did not succeed have their own indexes, so the few are found quickly among the many.
const failedOfJob = inOrder(fragment`
  SELECT ${columns} FROM attempts a WHERE a.job_id = $1 AND a.outcome <> 'succeeded'`)
const failedOfTenant = inOrder(fragment`
  SELECT ${columns} FROM attempts a WHERE a.tenant_id = $1 AND a.outcome <> 'succeeded'`)

// $13 limit.
const found = fragment`
  a.execution_id, a.job_id, a.version, a.kind, NULL::text, a.outcome, a.slot, a.attempt::int, a.enqueued_at,
  a.started_at, a.finished_at, a.duration_ms, a.worker_id, a.http_status::int, a.error_type,
  a.error_message, a.dead_letter, NULL::timestamptz, NULL::text, NULL::text, a.run_id, a.skip_reason`
const page = fragment`WHERE ${matches} ORDER BY a.execution_id DESC LIMIT $13`

// Whether past days have more ends than a count goes up to: then the ends need not be counted. The fold may be behind,
// but the days it has counted are there. Null: there are conditions besides the outcome, which the counts per day
// cannot answer.
const endedOn = (outcome: Fragment, column: Fragment): Fragment => fragment`
  CASE WHEN $4::text[] IS NULL OR ${outcome} = ANY ($4) THEN ${column} ELSE 0 END`
const isMany = (days: Fragment, most: Fragment): Fragment => fragment`
  CASE
    WHEN ${most}::bigint IS NULL THEN false
    ELSE (
        SELECT coalesce(
            sum(
              ${endedOn(fragment`'succeeded'`, fragment`days.succeeded`)} +
                ${endedOn(fragment`'failed'`, fragment`days.failed`)} +
                ${endedOn(fragment`'timed_out'`, fragment`days.timed_out`)} +
                ${endedOn(fragment`'cancelled'`, fragment`days.cancelled`)} +
                ${endedOn(fragment`'skipped'`, fragment`days.skipped`)}
            ),
            0
          ) > ${most}
        FROM ${days} AND days.step = 86400 AND days.at >= now() - tier.history_days * interval '1 day'
      )
  END AS many`

// Nothing was recorded by a worker ($11) before it registered, which its id tells; an hour for clocks. Null: no worker.
const workerSince = fragment`
  to_timestamp(('x' || left(replace($11::uuid::text, '-', ''), 12))::bit(48)::bigint / 1000.0) - interval '1 hour'`
const sinceOf = fragment`greatest(now() - tier.history_days * interval '1 day', ${workerSince})`

// The start of the retained history, and one row even when nothing was found; no row: there is no such job. $14 the
// tenant. OFFSET 0: without it the days are summed for every row of the page.
const keptOfJob = fragment`
  SELECT j.name, ${sinceOf} AS since,
    (
      SELECT execution_at(b.batch_id, batched.position) ${enqueuedOfJob(batchesOfJob)}
      OFFSET $15 - 1 LIMIT 1
    ) AS batch_end,
    ${isMany(fragment`job_activity days WHERE days.job_id = j.job_id`, fragment`$16`)},
    (SELECT execution_id FROM ${liveOfJob} ORDER BY execution_id DESC OFFSET $15 - 1 LIMIT 1) AS live_end
  FROM jobs j
  JOIN tenants t ON t.tenant_id = j.tenant_id
  JOIN tiers tier ON tier.tier = t.tier
  WHERE j.job_id = $1 AND j.tenant_id = $14 OFFSET 0`

const keptOfTenant = fragment`
  SELECT NULL::text AS name, ${sinceOf} AS since,
    ${isMany(fragment`tenant_activity days WHERE days.tenant_id = t.tenant_id`, fragment`$17`)},
    (
      SELECT batch_id
      FROM batches
      WHERE $11::uuid IS NULL AND batch_id <= $2::uuid
      ORDER BY batch_id DESC OFFSET $16 - 1 LIMIT 1
    ) AS batch_end,
    coalesce(
      (
        SELECT execution_id
        FROM live
        WHERE $11::uuid IS NULL AND execution_id < $2::uuid
        ORDER BY execution_id DESC OFFSET $15 - 1 LIMIT 1
      ),
      (
        SELECT execution_id
        FROM live
        WHERE $11::uuid IS NOT NULL AND worker_id IS NULL AND attempt > 0 AND execution_id < $2::uuid
        ORDER BY execution_id DESC OFFSET $15 - 1 LIMIT 1
      )
    ) AS live_end
  FROM tenants t
  JOIN tiers tier ON tier.tier = t.tier
  WHERE t.tenant_id = $1 AND t.tenant_id = $14 OFFSET 0`

const listed = fragment`
  SELECT kept.many, kept.batch_end, kept.live_end, found.*, j.name AS job_name, j.tags, j.search`
const named = fragment`
  LEFT JOIN LATERAL (SELECT name, tags, search FROM jobs j WHERE j.job_id = found.job_id LIMIT 1) j ON true`

export const listOfJob = sql('listOfJob')`
  ${listed}
  FROM (${keptOfJob}) kept
  LEFT JOIN LATERAL (
    ${underWayOfJob} UNION ALL (SELECT ${found} FROM (${ofJob}) a ${page})
  ) found ON true ${named}`
export const listFailedOfJob = sql('listFailedOfJob')`
  ${listed}
  FROM (${keptOfJob}) kept
  LEFT JOIN LATERAL (
    ${underWayOfJob} UNION ALL (SELECT ${found} FROM (${failedOfJob}) a ${page})
  ) found ON true ${named}`
export const listOfTenant = sql('listOfTenant')`
  ${listed}
  FROM (${keptOfTenant}) kept
  LEFT JOIN LATERAL (
    ${underWayOfTenant} UNION ALL (SELECT ${found} FROM (${ofTenant}) a ${page})
  ) found ON true ${named}`
export const listFailedOfTenant = sql('listFailedOfTenant')`
  ${listed}
  FROM (${keptOfTenant}) kept
  LEFT JOIN LATERAL (
    ${underWayOfTenant} UNION ALL (SELECT ${found} FROM (${failedOfTenant}) a ${page})
  ) found ON true ${named}`

// How many of the rows read match, and where the read ended. $13 the tenant.
const kept = fragment`
  (
    SELECT ${sinceOf} AS since
    FROM tenants t
    JOIN tiers tier ON tier.tier = t.tier
    WHERE t.tenant_id = $13
  ) kept`
// The last of them by its number: the least of 10,000 ids would be found by comparing texts.
const count = fragment`
  SELECT count(*) AS seen, count(*) FILTER (WHERE ${matches}) AS total,
    (array_agg(a.execution_id))[$12::int] AS end_id`

export const countOfJob = sql('countOfJob')`${count} FROM ${kept} CROSS JOIN LATERAL (${ofJob}) a`
export const countFailedOfJob = sql(
  'countFailedOfJob',
)`${count} FROM ${kept} CROSS JOIN LATERAL (${failedOfJob}) a`
export const countOfTenant = sql('countOfTenant')`${count} FROM ${kept} CROSS JOIN LATERAL (${ofTenant}) a`
export const countFailedOfTenant = sql(
  'countFailedOfTenant',
)`${count} FROM ${kept} CROSS JOIN LATERAL (${failedOfTenant}) a`
