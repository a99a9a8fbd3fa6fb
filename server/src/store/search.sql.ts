// The lists of executions. Each looks at no more rows than it is told, newest first: a page that found too little
// among them is short, and says where to go on. All statements of one page run in one snapshot, so an execution on its
// way from one table to the next is seen once.
import { fragment, sql } from '../lib/sql.ts'

export const selectListedJob = sql('selectListedJob')`
  SELECT j.name, j.search, r.history_days, clock_ms() AS now FROM jobs j
  JOIN tenants t ON t.tenant_id = j.tenant_id JOIN tiers r ON r.tier = t.tier
  WHERE j.tenant_id = $1 AND j.job_id = $2`

export const selectRetention = sql('selectRetention')`
  SELECT r.history_days, clock_ms() AS now FROM tenants t JOIN tiers r ON r.tier = t.tier WHERE t.tenant_id = $1`

export const selectNames = sql('selectNames')`
  SELECT j.* FROM unnest($1::uuid[]) AS x(job_id)
  CROSS JOIN LATERAL (SELECT job_id, name, tags, search FROM jobs j WHERE j.job_id = x.job_id LIMIT 1) j`

const batched = fragment`
  execution_at(b.batch_id, u.place) AS execution_id, u.job_id, u.version, 'slot' AS kind,
  CASE WHEN b.worker_id IS NULL THEN 'PENDING' ELSE 'RUNNING' END AS status, from_ms(u.slot_ms) AS slot,
  CASE WHEN b.worker_id IS NULL THEN 0 ELSE 1 END AS attempt, b.enqueued_at, NULL::timestamptz AS started_at,
  NULL::timestamptz AS finished_at, NULL::int AS duration_ms, b.worker_id, NULL::int AS http_status,
  NULL::text AS error_type, NULL::text AS error_message, false AS dead_letter, NULL::timestamptz AS retry_at,
  NULL::text AS last_error_type, NULL::text AS last_error_message`

const places = fragment`
  CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.versions, b.slots_ms) AS u(place, job_id, version, slot_ms)`

const alive = fragment`
  l.execution_id, l.job_id, l.version, l.kind,
  CASE WHEN l.state = 'running' THEN 'RUNNING' WHEN l.state = 'retrying' OR l.attempt > 0 THEN 'RETRYING'
    ELSE 'PENDING' END,
  l.slot, l.attempt, l.enqueued_at, coalesce(l.started_at, s.started_at), s.finished_at, s.duration_ms,
  coalesce(l.worker_id, s.worker_id), s.http_status, s.error_type, s.error_message, false, l.ready_at,
  a.error_type, a.error_message`

/** Between two attempts (s) it shows what the last one (a) did; it is found by that also while the next one runs. */
const lastAttempt = fragment`
  LEFT JOIN LATERAL (
    SELECT * FROM attempts a WHERE a.job_id = l.job_id AND a.execution_id = l.execution_id AND l.attempt > 0
    ORDER BY a.attempt DESC LIMIT 1
  ) a ON true
  LEFT JOIN LATERAL (SELECT a.* WHERE l.state <> 'running') s ON true`

// Under way, filtered by the caller. $1 job, $2 before, $3 rows of live to look at.
export const selectUnderWayOfJob = sql('selectUnderWayOfJob')`
  (SELECT ${batched} FROM batches b ${places}
  WHERE b.job_ids @> ARRAY[$1::uuid] AND u.job_id = $1 AND execution_at(b.batch_id, u.place) < $2::uuid)
  UNION ALL
  (SELECT ${alive} FROM (
    SELECT * FROM live WHERE job_id = $1 AND execution_id < $2::uuid ORDER BY execution_id DESC LIMIT $3
  ) l ${lastAttempt})`

// $1 tenant, $2 before, $3 batches and $4 rows of live to look at: a batch holds executions of many tenants.
export const selectUnderWay = sql('selectUnderWay')`
  (SELECT ${batched} FROM (SELECT * FROM batches WHERE batch_id <= $2::uuid ORDER BY batch_id DESC LIMIT $3) b ${places}
  CROSS JOIN LATERAL (SELECT j.tenant_id FROM jobs j WHERE j.job_id = u.job_id LIMIT 1) j
  WHERE j.tenant_id = $1 AND execution_at(b.batch_id, u.place) < $2::uuid)
  UNION ALL
  (SELECT ${alive} FROM (SELECT * FROM live WHERE execution_id < $2::uuid ORDER BY execution_id DESC LIMIT $4) l
  ${lastAttempt} WHERE l.tenant_id = $1)`

export const selectUnderWayEndOfJob = sql('selectUnderWayEndOfJob')`
  SELECT execution_id FROM live WHERE job_id = $1 AND execution_id < $2::uuid ORDER BY execution_id DESC OFFSET $3 LIMIT 1`

/** The last rows of these looks; null: they saw all. */
export const selectUnderWayEnd = sql('selectUnderWayEnd')`
  SELECT (SELECT batch_id FROM batches WHERE batch_id <= $1::uuid ORDER BY batch_id DESC OFFSET $2 LIMIT 1) AS batch_id,
    (SELECT execution_id FROM live WHERE execution_id < $1::uuid ORDER BY execution_id DESC OFFSET $3 LIMIT 1) AS execution_id`

// Recorded. $1 job or tenant, $2 before, $3 kept since, $4 rows to look at; then the conditions: $5 outcomes, $6 kind,
// $7 error type, $8 dead letter, $9 and $10 bounds of the slot, $11 tag, $12 text; $13 limit. The bound of recorded_at
// leaves out days: a slot is never recorded before its time.
const columns = fragment`
  a.execution_id, a.job_id, a.version, a.kind, a.outcome, a.slot, a.attempt, a.enqueued_at, a.started_at, a.finished_at,
  a.duration_ms, a.worker_id, a.http_status, a.error_type, a.error_message, a.dead_letter`

const newest = fragment`
  AND a.final AND a.execution_id < $2::uuid AND a.recorded_at >= $3::timestamptz ORDER BY a.execution_id DESC LIMIT $4`

const matches = fragment`
  ($5::text[] IS NULL OR a.outcome = ANY ($5)) AND ($6::text IS NULL OR a.kind = $6)
  AND ($7::text IS NULL OR a.error_type = $7) AND ($8::boolean IS NULL OR a.dead_letter = $8)
  AND a.slot >= $9::timestamptz AND a.slot < $10::timestamptz
  AND ($11::text IS NULL OR $11 = ANY ((SELECT j.tags FROM jobs j WHERE j.job_id = a.job_id)::text[]))
  AND ($12::text IS NULL OR strpos(lower(a.error_message), $12) > 0
    OR strpos((SELECT j.search FROM jobs j WHERE j.job_id = a.job_id), $12) > 0)`

const ofJob = fragment`SELECT ${columns} FROM attempts a WHERE a.job_id = $1 ${newest}`
const ofTenant = fragment`SELECT ${columns} FROM attempts a WHERE a.tenant_id = $1 ${newest}`
// What did not succeed has indexes of its own: the few are found among the many.
const failedOfJob = fragment`SELECT ${columns} FROM attempts a WHERE a.job_id = $1 AND a.outcome <> 'succeeded' ${newest}`
const failedOfTenant = fragment`SELECT ${columns} FROM attempts a WHERE a.tenant_id = $1 AND a.outcome <> 'succeeded' ${newest}`

const page = fragment`WHERE ${matches} ORDER BY a.execution_id DESC LIMIT $13`
const count = fragment`SELECT count(*) AS seen, count(*) FILTER (WHERE ${matches}) AS total, min(a.execution_id::text) AS last_id`

export const selectRecordedOfJob = sql('selectRecordedOfJob')`SELECT a.* FROM (${ofJob}) a ${page}`
export const selectRecorded = sql('selectRecorded')`SELECT a.* FROM (${ofTenant}) a ${page}`
export const selectFailedOfJob = sql('selectFailedOfJob')`SELECT a.* FROM (${failedOfJob}) a ${page}`
export const selectFailed = sql('selectFailed')`SELECT a.* FROM (${failedOfTenant}) a ${page}`

export const countRecordedOfJob = sql('countRecordedOfJob')`${count} FROM (${ofJob}) a`
export const countRecorded = sql('countRecorded')`${count} FROM (${ofTenant}) a`
export const countFailedOfJob = sql('countFailedOfJob')`${count} FROM (${failedOfJob}) a`
export const countFailed = sql('countFailed')`${count} FROM (${failedOfTenant}) a`
