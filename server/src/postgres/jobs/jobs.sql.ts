// The statements on jobs: create, read, list, trigger. The statements that change a job are in change-job.sql.ts.
import { type Fragment, fragment, type Sql, sql } from '../../lib/sql.ts'
import { deadlineAfter } from '../sql/ending.ts'
import { claimedSingle, isLimited, isRoot, isUnderWay, rankOf } from '../sql/fragments.ts'
import { columnsOf, insertLive } from '../sql/insert.ts'

// Inserts many at once: concurrent creates are committed together. A job with a key that is already taken is not in the
// answer, and nothing of it is written.
export const insertJobs = sql('insertJobs')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), item AS MATERIALIZED (
    SELECT x.*, from_ms(x.at) AS created_at, from_ms(x.slot) AS slot_at, from_ms(x.first) AS first_at
    FROM json_to_recordset($1::json) AS x(j uuid, t uuid, at float8, by text, key text, search text, name text,
      description text, tags text[], schedule json, anchor float8, execution json, retry json, priority smallint,
      overlap text, misfire text, misfire_window int, jitter int, climit int, ckey text, cklimit int, calendars text[],
      depends json, metadata json, p smallint, status text, slot float8, due float8, first float8, e uuid, lane text, limited boolean,
      route text, own boolean)
  ), job AS (
    INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, key, name, tags, search, created_by, updated_by)
    SELECT j, t, 1, created_at, created_at, key, name, tags, search, by, by FROM item
    ON CONFLICT (tenant_id, key) WHERE key IS NOT NULL AND deleted_at IS NULL DO NOTHING
    RETURNING job_id
  ), made AS MATERIALIZED (
    SELECT i.* FROM item i JOIN job ON job.job_id = i.j
  ), version AS (
    INSERT INTO job_versions (job_id, version, tenant_id, name, description, tags, schedule, anchor_at, execution,
      retry_policy, priority, overlap_policy, misfire_policy, misfire_window_seconds, jitter_seconds, concurrency_limit,
      concurrency_key, concurrency_key_limit, calendars, depends_on, metadata, route, own_rows)
    SELECT j, 1, t, name, description, tags, schedule, from_ms(anchor), execution, retry, priority, overlap, misfire,
      misfire_window, jitter, climit, ckey, cklimit, calendars, depends, metadata, route, own
    FROM made
  ), noted AS (
    INSERT INTO changes (partition_id, job_id)
    SELECT p, j FROM made CROSS JOIN moment m
    WHERE status = 'ACTIVE' AND from_ms(due) < m.at + $2 * interval '1 millisecond'
  ), cursor AS (
    INSERT INTO cursors (job_id, tenant_id, partition_id, version, status, slot_at, due_at, decided_to)
    SELECT j, t, p, 1, status, slot_at, from_ms(due), first_at FROM made
  ), taken AS (
    INSERT INTO slots (job_id, slot, execution_id) SELECT j, first_at, e FROM made WHERE e IS NOT NULL
  ), enqueued AS (
    INSERT INTO batches (batch_id, route, lane, priority, enqueued_at, rank, positions, job_ids, versions, slots_ms)
    SELECT e, route, lane, priority, m.at, ${rankOf(fragment`m.at`, fragment`priority`)}, '{0}', ARRAY[j], '{1}',
      ARRAY[first::bigint]
    FROM made CROSS JOIN moment m WHERE e IS NOT NULL AND NOT own
  ), alone AS (
    ${insertLive(
      {
        ...columnsOf(fragment`made`, 'route', 'lane', 'priority'),
        execution_id: fragment`e`,
        job_id: fragment`j`,
        version: fragment`1`,
        tenant_id: fragment`t`,
        kind: fragment`'slot'`,
        state: fragment`CASE WHEN limited THEN 'waiting' ELSE 'ready' END`,
        slot: fragment`first_at`,
        enqueued_at: fragment`m.at`,
        concurrency_key: fragment`ckey`,
        key_limit: fragment`cklimit`,
      },
      fragment`
        FROM made
        CROSS JOIN moment m
        WHERE e IS NOT NULL AND own`,
    )}
  )
  SELECT job_id FROM job`

const columns = fragment`
  j.job_id, j.version, j.key, j.created_at, j.created_by, j.updated_at, j.updated_by, j.paused_at, j.pause_reason,
  j.paused_by, j.resume_at, v.tenant_id, v.name, v.description, v.tags, v.schedule, v.anchor_at, v.execution,
  v.retry_policy, v.priority, v.overlap_policy, v.misfire_policy, v.misfire_window_seconds,
  v.jitter_seconds, v.concurrency_limit, v.concurrency_key, v.concurrency_key_limit, v.depends_on, v.metadata, c.status, c.slot_at,
  c.runs, greatest(
    (SELECT s.slot FROM slots s WHERE s.job_id = j.job_id AND s.reason IS NULL AND s.slot < now() + interval '1 hour'
      ORDER BY s.slot DESC LIMIT 1),
    (SELECT d.last_slot FROM job_days d WHERE d.job_id = j.job_id AND d.last_slot IS NOT NULL ORDER BY d.day DESC LIMIT 1)
  ) AS last_run_at`

export const selectJob = sql('selectJob')`
  SELECT ${columns} FROM jobs j
  JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
  JOIN cursors c ON c.job_id = j.job_id
  WHERE j.tenant_id = $1 AND j.job_id = $2`

export const selectJobIdByKey = sql('selectJobIdByKey')`
  SELECT job_id FROM jobs WHERE tenant_id = $1 AND key = $2 AND deleted_at IS NULL`

/** Of the picked ids (p). */
const rowsOfPicked = fragment`
  CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.job_id = p.job_id LIMIT 1) j
  CROSS JOIN LATERAL (SELECT * FROM job_versions v WHERE v.job_id = j.job_id AND v.version = j.version LIMIT 1) v
  CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = j.job_id LIMIT 1) c
  ORDER BY p.job_id DESC`

// A search looks at no more than $6 rows: a page that found too little among them is short, and says where to go on.
export const listJobs = sql('listJobs')`
  SELECT ${columns} FROM (
    SELECT j.job_id FROM (
      SELECT job_id, tags, search FROM jobs
      WHERE tenant_id = $1 AND job_id < $2 AND deleted_at IS NULL ORDER BY job_id DESC LIMIT $6
    ) j
    WHERE ($3::text IS NULL OR $3 = ANY (j.tags)) AND ($4::text IS NULL OR strpos(j.search, $4) > 0)
    ORDER BY j.job_id DESC OFFSET $5 LIMIT $7
  ) p ${rowsOfPicked}`

export const listJobsByStatus = sql('listJobsByStatus')`
  SELECT ${columns} FROM (
    SELECT c.job_id FROM (
      SELECT job_id FROM cursors WHERE tenant_id = $1 AND job_id < $2 AND status = $8 ORDER BY job_id DESC LIMIT $6
    ) c
    WHERE ($3::text IS NULL OR $3 = ANY ((SELECT j.tags FROM jobs j WHERE j.job_id = c.job_id)::text[]))
      AND ($4::text IS NULL OR strpos((SELECT j.search FROM jobs j WHERE j.job_id = c.job_id), $4) > 0)
    ORDER BY c.job_id DESC OFFSET $5 LIMIT $7
  ) p ${rowsOfPicked}`

/** Where a look at so many rows ends; no row: all were seen. */
export const selectPickEnd = sql('selectPickEnd')`
  SELECT job_id FROM jobs WHERE tenant_id = $1 AND job_id < $2 AND deleted_at IS NULL
  ORDER BY job_id DESC OFFSET $3 LIMIT 1`

export const selectPickEndByStatus = sql('selectPickEndByStatus')`
  SELECT job_id FROM cursors WHERE tenant_id = $1 AND job_id < $2 AND status = $4 ORDER BY job_id DESC OFFSET $3 LIMIT 1`

export const countJobs = sql('countJobs')`
  SELECT count(*) AS seen, count(*) FILTER (
    WHERE ($2::text IS NULL OR $2 = ANY (j.tags)) AND ($3::text IS NULL OR strpos(j.search, $3) > 0)) AS total
  FROM (
    SELECT tags, search FROM jobs WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY job_id DESC LIMIT $4
  ) j`

export const countJobsByStatus = sql('countJobsByStatus')`
  SELECT count(*) AS seen, count(*) FILTER (
    WHERE ($2::text IS NULL OR $2 = ANY ((SELECT j.tags FROM jobs j WHERE j.job_id = c.job_id)::text[]))
      AND ($3::text IS NULL OR strpos((SELECT j.search FROM jobs j WHERE j.job_id = c.job_id), $3) > 0)) AS total
  FROM (
    SELECT job_id FROM cursors WHERE tenant_id = $1 AND status = $5 ORDER BY job_id DESC LIMIT $4
  ) c`

export const selectResumable = sql('selectResumable')`
  SELECT tenant_id, job_id, resume_at FROM jobs WHERE resume_at <= (SELECT clock_timestamp()) ORDER BY resume_at LIMIT $1`

/** Fires wait while a trigger decides, and the other way round. In the order of ids, as everywhere. */
export const lockJobs = sql('lockJobs')`
  SELECT c.tenant_id, c.job_id, c.status FROM json_to_recordset($1::json) AS x(t uuid, j uuid)
  JOIN cursors c ON c.job_id = x.j AND c.tenant_id = x.t
  ORDER BY c.job_id FOR NO KEY UPDATE OF c`

// Returns the locked jobs, and passes them to `insertTriggers`, which is sent right behind it and triggers these. The
// workers that claim some of the executions on insert ($2) are locked first, as reclaim does: locked with the insert,
// they would deadlock with a transaction that takes both locks in the other order.
const lockToTrigger = (name: string, wait: Fragment): Sql => sql(name)`
  WITH holder AS MATERIALIZED (
    SELECT worker_id FROM workers WHERE worker_id = ANY ($2::uuid[]) ORDER BY worker_id FOR KEY SHARE
  ), asked AS MATERIALIZED (
    -- A join without a use for it would be left out of the plan, and the lock with it.
    SELECT x.t, x.j FROM json_to_recordset($1::json) AS x(t uuid, j uuid) WHERE (SELECT count(*) FROM holder) >= 0
  ), locked AS MATERIALIZED (
    SELECT c.tenant_id, c.job_id, c.status FROM asked x JOIN cursors c ON c.job_id = x.j AND c.tenant_id = x.t
    ORDER BY c.job_id FOR NO KEY UPDATE OF c ${wait}
  ), told AS MATERIALIZED (
    SELECT set_config('carillon.triggered', coalesce(array_agg(l.job_id), '{}')::text, true) FROM locked l
    WHERE l.status <> 'DELETED'
  )
  -- Told also when there is none; then of nothing.
  SELECT l.* FROM told LEFT JOIN locked l ON true`

/** Locks the requested jobs that no other transaction has locked. */
export const lockFreeJobs = lockToTrigger('lockFreeJobs', fragment`SKIP LOCKED`)
export const lockHeldJobs = lockToTrigger('lockHeldJobs', fragment``)

// A separate statement after the lock: it sees everything committed before we got the lock.
// Several triggers of the same job: all but the first wait for it. The statement does not see its own rows, hence the
// number.
// w, r: the worker that claims the execution on insert, and its route. It claims executions that are ready and in the
// shared lane, unless another execution there comes first, but no root of a graph, because its start is recorded first.
// A claimed execution comes with everything needed to run it, each definition once.
export const insertTriggers = sql('insertTriggers')`
  WITH item AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS x(n int, t uuid, e uuid, j uuid, l text, p text, w uuid, r text)
  ), direct AS MATERIALIZED (
    SELECT w.worker_id, x.r AS route, least(
      (SELECT b.rank FROM batches b WHERE b.route = x.r AND b.lane = 'shared' AND b.worker_id IS NULL ORDER BY b.rank LIMIT 1),
      (SELECT l.rank FROM live l WHERE l.route = x.r AND l.lane = 'shared' AND l.state = 'ready' AND l.host IS NULL
        ORDER BY l.rank LIMIT 1)
    ) AS up_to
    FROM (SELECT DISTINCT w, r FROM item WHERE w IS NOT NULL) x JOIN workers w ON w.worker_id = x.w
  ), made AS (
    ${insertLive(
      {
        ...columnsOf(fragment`v`, 'job_id', 'version', 'tenant_id', 'route', 'rank', 'concurrency_key'),
        execution_id: fragment`v.e`,
        kind: fragment`'trigger'`,
        state: fragment`CASE WHEN w.worker_id IS NULL THEN v.state ELSE 'running' END`,
        lane: fragment`v.l`,
        priority: fragment`v.level`,
        slot: fragment`date_trunc('second', v.at)`,
        enqueued_at: fragment`v.at`,
        payload_override: fragment`v.p::json`,
        key_limit: fragment`v.concurrency_key_limit`,
        run_id: fragment`CASE WHEN v.is_root THEN v.e END`,
        worker_id: fragment`w.worker_id`,
        fence: fragment`num_nonnulls(w.worker_id)`,
        attempt: fragment`num_nonnulls(w.worker_id)`,
        started_at: fragment`b.at`,
        deadline: deadlineAfter(fragment`b.at`),
        silent_at: fragment`b.at + v.heartbeat_timeout_seconds * interval '1 second'`,
        total_deadline: fragment`b.at + v.total_timeout_seconds * interval '1 second'`,
      },
      fragment`
        FROM (
          SELECT x.e, x.l, x.p, x.w, x.r, d.*, m.at, ${rankOf(fragment`m.at`, fragment`d.level`)} AS rank,
            CASE WHEN d.limited OR d.overlap_policy <> 'ALLOW' AND (
              row_number() OVER (PARTITION BY x.j ORDER BY x.n) > 1
              OR ${isUnderWay(fragment`x.j`, fragment`d.scattered`)}
            ) THEN 'waiting' ELSE 'ready' END AS state
          FROM (SELECT clock_ms() AS at) m CROSS JOIN item x CROSS JOIN LATERAL (
            SELECT j.job_id, j.version, j.tenant_id, v.overlap_policy, v.route, c.scattered, v.concurrency_key,
              v.concurrency_key_limit, v.timeout_seconds, v.heartbeat_timeout_seconds, v.total_timeout_seconds,
              greatest(1, v.priority - $2::int) AS level, ${isLimited} AS limited, ${isRoot} AS is_root
            FROM jobs j JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
            JOIN cursors c ON c.job_id = j.job_id
            WHERE j.job_id = x.j LIMIT 1
          ) d
          -- The job may be locked for its own tenant, and be asked for by another one beside it.
          WHERE x.j IN (SELECT unnest(current_setting('carillon.triggered')::uuid[])) AND x.t = d.tenant_id
        ) v
        LEFT JOIN direct w ON w.worker_id = v.w AND w.route = v.r AND v.route = v.r AND v.l = 'shared' AND v.state = 'ready'
          AND NOT v.is_root AND v.rank < coalesce(w.up_to, 'infinity')
        CROSS JOIN LATERAL (SELECT CASE WHEN w.worker_id IS NOT NULL THEN v.at END AS at) b`,
    )}
    RETURNING l.*
  )
  SELECT l.enqueued_at, l.worker_id IS NOT NULL AS taken, ${claimedSingle}
  FROM (
    SELECT *, row_number() OVER (PARTITION BY job_id, version, worker_id IS NULL) AS nth FROM made
  ) l
  LEFT JOIN LATERAL (
    SELECT * FROM job_versions v
    WHERE v.job_id = l.job_id AND v.version = l.version AND l.worker_id IS NOT NULL AND l.nth = 1 LIMIT 1
  ) v ON true`

// Before many triggers of a job ($1): how many of it have not ended, up to $2 alone. With a lock that keeps programs out
// that do not know such batches, until the end of the transaction: see migration 16.
export const beginTriggers = sql('beginTriggers')`
  SELECT pg_advisory_xact_lock_shared(7420, 16), (
      SELECT coalesce(sum(cardinality(positions)), 0) FROM batches WHERE job_ids @> ARRAY[$1::uuid] AND kind = 'trigger'
    ) + (SELECT count(*) FROM (SELECT FROM live WHERE job_id = $1 AND state <> 'blocked' LIMIT $2) l) AS unended`

// Many triggers of a job ($1) that nothing holds back become batches, in lane $2, from $4: each with its size and its
// payloads. No row: something may hold them back, or a process is running that does not know such batches; then each
// becomes its own row.
export const insertTriggerBatches = sql('insertTriggerBatches')`
  INSERT INTO batches (batch_id, route, lane, priority, enqueued_at, rank, kind, positions, job_ids, versions, slots_ms, payloads)
  SELECT x.b, d.route, $2, d.level, m.at, ${rankOf(fragment`m.at`, fragment`d.level`)}, 'trigger',
    ARRAY(SELECT generate_series(0, x.n - 1)), array_fill(d.job_id, ARRAY[x.n]), array_fill(d.version, ARRAY[x.n]),
    array_fill(to_ms(date_trunc('second', m.at)), ARRAY[x.n]), x.p
  FROM (SELECT clock_ms() AS at) m
  CROSS JOIN (
    SELECT j.job_id, j.version, v.route, greatest(1, v.priority - $3::int) AS level
    FROM jobs j JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
    JOIN cursors c ON c.job_id = j.job_id
    WHERE j.job_id = $1 AND v.overlap_policy = 'ALLOW' AND NOT v.own_rows AND NOT ${isRoot}
      AND NOT EXISTS (SELECT FROM workers WHERE generation < $5) AND NOT EXISTS (SELECT FROM schedulers WHERE generation < $5)
  ) d
  CROSS JOIN json_to_recordset($4::json) AS x(b uuid, n int, p json)
  RETURNING enqueued_at`

export const insertBackfill = sql('insertBackfill')`
  ${insertLive(
    {
      ...columnsOf(fragment`d`, 'job_id', 'version', 'tenant_id', 'route', 'priority', 'concurrency_key'),
      execution_id: fragment`x.e`,
      kind: fragment`'backfill'`,
      state: fragment`CASE WHEN d.overlap_policy = 'ALLOW' AND NOT d.limited THEN 'ready' ELSE 'waiting' END`,
      lane: fragment`x.l`,
      slot: fragment`from_ms(x.s)`,
      enqueued_at: fragment`m.at`,
      // In the order in which they were given.
      rank: fragment`${rankOf(fragment`m.at`, fragment`d.priority`)} + x.n * interval '1 millisecond'`,
      operation_id: fragment`$3`,
      key_limit: fragment`d.concurrency_key_limit`,
      run_id: fragment`CASE WHEN d.is_root THEN x.e END`,
    },
    fragment`
      FROM (SELECT clock_ms() AS at) m
      CROSS JOIN json_to_recordset($1::json) AS x(n int, e uuid, s float8, l text)
      CROSS JOIN LATERAL (
        SELECT j.job_id, j.version, j.tenant_id, v.overlap_policy, v.priority, v.route, v.concurrency_key,
          v.concurrency_key_limit, ${isLimited} AS limited, ${isRoot} AS is_root
        FROM jobs j JOIN job_versions v ON v.job_id = j.job_id AND v.version = j.version
        JOIN cursors c ON c.job_id = j.job_id
        WHERE j.job_id = $2 LIMIT 1
      ) d`,
  )}`

/** A root with an ended execution still counts for as long as its graph run goes on. */
export const countBackfill = sql('countBackfill')`
  SELECT (SELECT count(*) FROM live WHERE operation_id = $1) + (
    SELECT count(*) FROM run_roots r
    -- A scalar subquery with a LIMIT: the planner would hash the whole of live for NOT EXISTS.
    WHERE r.operation_id = $1 AND (SELECT true FROM live l WHERE l.execution_id = r.execution_id LIMIT 1) IS NULL
  ) AS unended`
