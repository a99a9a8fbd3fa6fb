// Pieces that statements of several files share.
import { deletedRoutePrefix, suspectHost } from '../../domain/queue/route.ts'
import { type Fragment, fragment, literals } from '../../lib/sql.ts'

/** In place of the host of an execution that may have killed its workers. */
export const suspect = literals([suspectHost])

const deletedRoutes = literals([deletedRoutePrefix])
/** Whether a deleted job left the batch behind that has this route: see `leaveBatches`. */
export const isLeftBehind = (route: Fragment): Fragment => fragment`starts_with(${route}, ${deletedRoutes})`
/** The route of a batch that a deleted job left behind. */
export const leftBehind = (route: Fragment): Fragment => fragment`${deletedRoutes} || ${route}`
/** The same condition on `route` as a range of an index: '!' comes after the space. */
export const isLeftBehindInOrder = fragment`
  route >= ${deletedRoutes} AND route < ${literals([`${deletedRoutePrefix.trimEnd()}!`])}`

/** Whether executions of a version (v) wait to be counted. */
export const isLimited = fragment`
  (v.concurrency_key IS NOT NULL OR (v.overlap_policy = 'ALLOW' AND v.concurrency_limit IS NOT NULL))`

/** Whether a version (v) has a single slot. */
export const runsOnce = fragment`(v.schedule ->> 'type' IN ('IMMEDIATE', 'ONE_TIME'))`

/** Whether the job of a cursor (c) starts runs of its graph. */
export const isRoot = fragment`(c.graph_id IS NOT NULL AND NOT c.depends)`

/** The current version (v) of a job (j), with its cursor (c). */
export const currentVersions = fragment`
  jobs j
  JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
  JOIN cursors c ON c.job_id = j.job_id`

/** The names of the fields of an item, its ids, instants and numbers, in JSON. */
const itemBytes = fragment`1500`

/** The execution of a version (v) without its payload, which is read only if an older program wrote the version. */
export const leanExecution = fragment`
  CASE
    WHEN v.payload_bytes = 0 THEN v.execution
    WHEN v.payload_bytes > 0 THEN v.lean_execution
    ELSE (SELECT json_object_agg(key, value) FROM json_each(v.execution) WHERE key <> 'payload')
  END`

/** Of a version (v), as JSON; null: it has none. */
export const payloadText = fragment`(v.execution -> 'payload')::text`

/**
 * The bytes of a version (v) in a list; with its payload if `payloads`, and also if the payload must be read to be left
 * out.
 */
export const versionBytes = (payloads: Fragment): Fragment => fragment`
  ${itemBytes} + octet_length(
    json_build_array(
      v.name, v.description, v.tags, v.schedule,
      CASE WHEN v.payload_bytes > 0 THEN v.lean_execution ELSE v.execution END, v.retry_policy, v.metadata,
      v.depends_on, v.concurrency_key
    )::text
  ) + CASE WHEN ${payloads} THEN coalesce(v.payload_bytes, 0) ELSE 0 END`

/** The rank of the first execution that waits in the shared lane of a route; `counts`: which of the batches (b) count. */
export const firstRank = (route: Fragment, counts = fragment`true`): Fragment => fragment`
  least(
    (
      SELECT b.rank
      FROM batches b
      WHERE b.route = ${route} AND b.lane = 'shared' AND b.worker_id IS NULL AND ${counts}
      ORDER BY b.rank LIMIT 1
    ),
    (
      SELECT l.rank
      FROM live l
      WHERE l.route = ${route} AND l.lane = 'shared' AND l.state = 'ready' AND l.host IS NULL
      ORDER BY l.rank LIMIT 1
    )
  )`

/** How many executions can be claimed on routes and wait for no host. Counting ends at `max`, however many wait. */
export const waitingOn = (routes: Fragment, max: Fragment): Fragment => fragment`
  least(
    ${max},
    (
      SELECT count(*)
      FROM (
        SELECT
        FROM unnest(${routes}) AS r(route)
        CROSS JOIN LATERAL (
          SELECT FROM live l WHERE l.route = r.route AND l.state = 'ready' AND l.host IS NULL LIMIT ${max}
        ) l
        LIMIT ${max}
      ) l
    ) + (
      SELECT coalesce(sum(b.size), 0)
      FROM (
        SELECT b.size
        FROM unnest(${routes}) AS r(route)
        CROSS JOIN LATERAL (
          SELECT cardinality(b.positions) AS size
          FROM batches b
          WHERE b.route = r.route AND b.worker_id IS NULL LIMIT ${max}
        ) b
        LIMIT ${max}
      ) b
    )
  )::int`

/** The sort key within a lane: a level of priority is worth a minute of waiting. `rankOf` of the domain is the same. */
export const rankOf = (at: Fragment, priority: Fragment): Fragment => fragment`
  ${at} + ${priority} * interval '60 seconds'`

/** Whether an execution of a job is in the batch of this execution. */
const isInBatchOf = (job: Fragment, executionId: Fragment): Fragment => fragment`
  (
    SELECT true
    FROM batches b
    WHERE b.batch_id = batch_of(${executionId}) AND ${job} = ANY (b.job_ids) LIMIT 1
  )`

/** The execution of the latest slot of a job. */
const latestOf = (job: Fragment): Fragment => fragment`(
  -- No slot that lies ahead is recorded: the days to come are not even opened ([m] a trigger: 0.5 ms less).
  SELECT s.execution_id FROM slots s WHERE s.job_id = ${job} AND s.slot < now() + interval '1 hour'
  ORDER BY s.slot DESC LIMIT 1)`

/**
 * The overlap rule: whether anything of a job is under way, waits to go, or is owed. An execution that waits for others of
 * its run (blocked) does not count; a run that has the job as a root does. `scattered`: as its cursor says; `latest`: the
 * execution of its latest slot, if the statement has it. Scalar subqueries with a LIMIT, not EXISTS: the planner would
 * hash the whole of `live` for it.
 */
export const isUnderWay = (job: Fragment, scattered: Fragment, latest = latestOf(job)): Fragment => fragment`
  coalesce(
    (SELECT true FROM live l WHERE l.job_id = ${job} AND l.state <> 'blocked' LIMIT 1),
    (SELECT true FROM catchups k WHERE k.job_id = ${job} LIMIT 1), ${isInBatchOf(job, latest)},
    CASE WHEN ${scattered} THEN (SELECT true FROM batches b WHERE b.job_ids @> ARRAY[${job}] LIMIT 1) END,
    (SELECT true FROM run_roots r WHERE r.job_id = ${job} LIMIT 1), false
  )`

/** Of a job that runs once (its version is v, its cursor c) and is COMPLETED: whether its execution has not ended. */
export const isOnceUnderWay = (job: Fragment): Fragment => fragment`
  CASE
    WHEN c.status = 'COMPLETED' AND ${runsOnce} THEN ${isUnderWay(job, fragment`c.scattered`)}
    ELSE false
  END`

/** The overlap rule for many jobs at once: the jobs of the array with anything under way outside of batches. */
export const jobsUnderWay = (jobs: Fragment): Fragment => fragment`
  SELECT l.job_id
  FROM live l
  WHERE l.job_id = ANY (${jobs}) AND l.state <> 'blocked'
  UNION ALL
  SELECT k.job_id
  FROM catchups k
  WHERE k.job_id = ANY (${jobs})
  UNION ALL
  SELECT r.job_id
  FROM run_roots r
  WHERE r.job_id = ANY (${jobs})`

/** Completes `jobsUnderWay`: a job that may have more in batches than its latest slot counts as under way. */
export const isBatched = (job: Fragment, scattered: Fragment, latest: Fragment): Fragment => fragment`
  (${scattered} OR coalesce(${isInBatchOf(job, latest)}, false))`

/** A row of `live` (l) that a worker has just taken, with its version (v): all that is needed to run it. See `SingleRow`. */
export const claimedSingle = fragment`
  l.execution_id AS id, l.fence, l.lane, l.priority, to_ms(l.enqueued_at) AS enqueued_ms,
  to_ms(l.rank) AS rank_ms, NULL AS positions, l.job_id, l.version, l.kind, to_ms(l.slot) AS slot_ms,
  l.attempt, l.losses,
  CASE WHEN l.worker_id IS NOT NULL THEN l.payload_override::text END AS payload_override,
  l.idempotency_key, l.checkpoint::text, to_ms(l.total_deadline) AS total_deadline_ms,
  coalesce(l.host = ${suspect}, false) AS suspect, l.run_id, v.tenant_id, v.name, v.execution,
  v.retry_policy, v.priority AS job_priority, v.jitter_seconds`

/** Nothing of an execution was recorded before it was made, which its id tells; an hour for clocks that differ. */
export const recordedSince = (id: Fragment): Fragment => fragment`
  from_ms(('x' || translate(left((${id})::text, 13), '-', ''))::bit(48)::bigint) - interval '1 hour'`

/** The contents of the calendars that a version (v) names; null: it names none. */
export const calendarsOfVersion = fragment`
  CASE
    WHEN v.calendars IS NOT NULL THEN (
        SELECT json_build_object(
            'entries', json_object_agg(n.name, coalesce(k.entries, '[]')), 'revision',
            coalesce(sum(k.revision), 0)
          )
        FROM unnest(v.calendars) AS n(name)
        LEFT JOIN calendars k ON k.tenant_id = v.tenant_id AND k.name = n.name
      )
  END`

/** Other processes have remembered a limit that changes. */
export const tiersRevised = fragment`UPDATE installation SET tiers_revision = tiers_revision + 1`

export const tierColumns = fragment`
  tier.tier, tier.weight, tier.history_days, tier.payload_bytes_max, tier.retries_max,
  tier.interval_seconds_min, tier.priority_best, tier.dead_letters, tier.requests_per_second,
  tier.host_calls_per_second, tier.active_jobs_max, tier.timeout_seconds_max,
  tier.executions_per_minute, tier.concurrent_executions_max, tier.waiting_executions_max,
  tier.storage_bytes_max`

/**
 * The host of an execution that nobody has charged: it waits for a budget if the tier of its tenant limits executions a
 * minute. Null: it does not.
 */
export const hostOfUncharged = (tenantId: Fragment): Fragment => fragment`
  (
    SELECT 'quota'
    FROM tenants t
    JOIN tiers tier ON tier.tier = t.tier
    WHERE t.tenant_id = ${tenantId} AND tier.executions_per_minute IS NOT NULL LIMIT 1
  )`

/** How many executions a worker holds, in batches and alone. By the indexes on worker_id. */
export const heldBy = (workerId: Fragment): Fragment => fragment`
  (
    (
      SELECT coalesce(sum(cardinality(held.positions)), 0) FROM batches held WHERE held.worker_id = ${workerId}
    ) + (
      SELECT count(*) FROM live held WHERE held.worker_id = ${workerId}
    )
  )::int`

/** Of an attempt (a) recorded from $1 up to $2. Second condition: as the index has it. */
export const isNewAttempt = fragment`
  a.recorded_at >= from_ms($1)
    AND a.recorded_at < from_ms($2)
    AND greatest(a.recorded_at, '-infinity'::timestamptz) >= from_ms($1)
    AND greatest(a.recorded_at, '-infinity'::timestamptz) < from_ms($2)`
