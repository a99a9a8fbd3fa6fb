// The statements that trigger a job: one execution now, many at once, or a backfill of past slots.
import { type Fragment, fragment, type Sql, sql } from '../../lib/sql.ts'
import { isOfUndeletedTenant } from '../sql/deleted-tenants.ts'
import { deadlineAfter } from '../sql/ending.ts'
import {
  claimedSingle,
  currentVersions,
  firstRank,
  hostOfUncharged,
  isLimited,
  isRoot,
  isUnderWay,
  rankOf,
} from '../sql/fragments.ts'
import { columnsOf, insertLive } from '../sql/insert.ts'
import { backfillItem, batchItem, jobKeyItem, triggerItem } from './items.ts'

/** Fires wait while a trigger decides, and the other way round. In the order of ids, as everywhere. Not of a deleted tenant. */
export const lockJobs = sql('lockJobs')`
  SELECT c.tenant_id, c.job_id, c.status
  FROM json_to_recordset($1::json) AS asked(${jobKeyItem.columns})
  JOIN cursors c ON c.job_id = asked.job_id AND c.tenant_id = asked.tenant_id
  WHERE ${isOfUndeletedTenant(fragment`c.tenant_id`)}
  ORDER BY c.job_id FOR NO KEY UPDATE OF c`

// Returns the locked jobs, and passes them to `insertTriggers`, which is sent right behind it and triggers these. The
// workers that claim some of the executions on insert ($2) are locked first, as reclaim does: locked with the insert,
// they would deadlock with a transaction that takes both locks in the other order.
const lockToTrigger = (name: string, wait: Fragment): Sql => sql(name)`
  WITH holder AS MATERIALIZED (
    SELECT worker_id FROM workers WHERE worker_id = ANY ($2::uuid[]) ORDER BY worker_id FOR KEY SHARE
  ), asked AS MATERIALIZED (
    -- A join without a use for it would be left out of the plan, and the lock with it.
    SELECT asked.tenant_id, asked.job_id
    FROM json_to_recordset($1::json) AS asked(${jobKeyItem.columns})
    WHERE (SELECT count(*) FROM holder) >= 0
  ), locked AS MATERIALIZED (
    SELECT c.tenant_id, c.job_id, c.status
    FROM asked
    JOIN cursors c ON c.job_id = asked.job_id AND c.tenant_id = asked.tenant_id
    WHERE ${isOfUndeletedTenant(fragment`c.tenant_id`)}
    ORDER BY c.job_id FOR NO KEY UPDATE OF c ${wait}
  ), told AS MATERIALIZED (
    SELECT set_config('carillon.triggered', coalesce(array_agg(locked.job_id), '{}')::text, true)
    FROM locked
    WHERE locked.status <> 'DELETED'
  )
  -- Told also when there is none; then of nothing.
  SELECT locked.*
  FROM told
  LEFT JOIN locked ON true`

/** Locks the requested jobs that no other transaction has locked. */
export const lockFreeJobs = lockToTrigger('lockFreeJobs', fragment`SKIP LOCKED`)
export const lockHeldJobs = lockToTrigger('lockHeldJobs', fragment``)

// A separate statement after the lock: it sees everything committed before we got the lock.
// Several triggers of the same job: all but the first wait for it. The statement does not see its own rows, hence the
// number.
// A worker may claim an execution on insert: `worker_id`, and the route of it, `worker_route`. It claims executions that are ready and in the
// shared lane, unless another execution there comes first, but no root of a graph, because its start is recorded first.
// A claimed execution comes with everything needed to run it, each definition once.
export const insertTriggers = sql('insertTriggers')`
  WITH item AS MATERIALIZED (
    SELECT ${triggerItem.named(fragment`wire`)}
    FROM json_to_recordset($1::json) AS wire(${triggerItem.columns})
  ), direct AS MATERIALIZED (
    SELECT w.worker_id, asked.worker_route AS route, ${firstRank(fragment`asked.worker_route`)} AS up_to
    FROM (SELECT DISTINCT worker_id, worker_route FROM item WHERE worker_id IS NOT NULL) asked
    -- LIMIT keeps the planner from reading all workers, of which there may be thousands.
    CROSS JOIN LATERAL (SELECT w.worker_id FROM workers w WHERE w.worker_id = asked.worker_id LIMIT 1) w
  ), made AS (
    ${insertLive(
      {
        ...columnsOf(
          fragment`v`,
          'execution_id',
          'job_id',
          'version',
          'tenant_id',
          'route',
          'lane',
          'rank',
          'concurrency_key',
        ),
        kind: fragment`'trigger'`,
        state: fragment`CASE WHEN direct.worker_id IS NULL THEN v.state ELSE 'running' END`,
        priority: fragment`v.level`,
        slot: fragment`date_trunc('second', v.at)`,
        enqueued_at: fragment`v.at`,
        payload_override: fragment`v.payload::json`,
        key_limit: fragment`v.concurrency_key_limit`,
        host: fragment`CASE WHEN v.uncharged THEN ${hostOfUncharged(fragment`v.tenant_id`)} END`,
        run_id: fragment`CASE WHEN v.is_root THEN v.execution_id END`,
        worker_id: fragment`direct.worker_id`,
        fence: fragment`num_nonnulls(direct.worker_id)`,
        attempt: fragment`num_nonnulls(direct.worker_id)`,
        started_at: fragment`started.at`,
        deadline: deadlineAfter(fragment`started.at`),
        silent_at: fragment`started.at + v.heartbeat_timeout_seconds * interval '1 second'`,
        total_deadline: fragment`started.at + v.total_timeout_seconds * interval '1 second'`,
      },
      fragment`
        FROM (
          SELECT item.execution_id, item.lane, item.payload, item.worker_id, item.worker_route, item.uncharged,
            job.*, m.at,
            ${rankOf(fragment`m.at`, fragment`job.level`)} AS rank,
            CASE
              WHEN job.limited
                OR job.overlap_policy <> 'ALLOW' AND (
                  row_number() OVER (PARTITION BY item.job_id ORDER BY item.number) > 1
                  OR ${isUnderWay(fragment`item.job_id`, fragment`job.scattered`)}
                ) THEN 'waiting'
              ELSE 'ready'
            END AS state
          FROM (SELECT clock_ms() AS at) m
          CROSS JOIN item
          CROSS JOIN LATERAL (
            SELECT j.job_id, j.version, j.tenant_id, v.overlap_policy, v.route, c.scattered,
              v.concurrency_key, v.concurrency_key_limit, v.timeout_seconds, v.heartbeat_timeout_seconds,
              v.total_timeout_seconds, greatest(1, v.priority - $2::int) AS level, ${isLimited} AS limited,
              ${isRoot} AS is_root
            FROM ${currentVersions}
            WHERE j.job_id = item.job_id LIMIT 1
          ) job
          -- The job may be locked for its own tenant, and be asked for by another one beside it.
          WHERE item.job_id IN (SELECT unnest(current_setting('carillon.triggered')::uuid[]))
            AND item.tenant_id = job.tenant_id
        ) v
        LEFT JOIN direct ON direct.worker_id = v.worker_id
          AND direct.route = v.worker_route
          AND v.route = v.worker_route
          AND v.lane = 'shared'
          AND v.state = 'ready'
          AND NOT v.is_root
          AND v.rank < coalesce(direct.up_to, 'infinity')
        CROSS JOIN LATERAL (SELECT CASE WHEN direct.worker_id IS NOT NULL THEN v.at END AS at) started`,
    )}
      RETURNING l.*
  )
  SELECT l.enqueued_at, l.worker_id IS NOT NULL AS taken, ${claimedSingle}
  FROM (SELECT *, row_number() OVER (PARTITION BY job_id, version, worker_id IS NULL) AS nth FROM made) l
  LEFT JOIN LATERAL (
    SELECT *
    FROM job_versions v
    WHERE v.job_id = l.job_id AND v.version = l.version AND l.worker_id IS NOT NULL AND l.nth = 1 LIMIT 1
  ) v ON true`

// Before many triggers of a job ($1): how many of it have not ended, up to $2 alone. With a lock that keeps programs out
// that do not know such batches, until the end of the transaction: see migration 16.
export const beginTriggers = sql('beginTriggers')`
  SELECT pg_advisory_xact_lock_shared(7420, 16),
    (
      SELECT coalesce(sum(cardinality(positions)), 0)
      FROM batches
      WHERE job_ids @> ARRAY[$1::uuid] AND kind = 'trigger'
    )
      + (
        SELECT count(*) FROM (SELECT FROM live WHERE job_id = $1 AND state <> 'blocked' LIMIT $2) l
      ) AS unended`

// Many triggers of a job ($1) that nothing holds back become batches, in lane $2, from $4: each with its size and its
// payloads. No row: something may hold them back, or a process is running that does not know such batches; then each
// becomes its own row.
export const insertTriggerBatches = sql('insertTriggerBatches')`
  INSERT INTO batches (
    batch_id, route, lane, priority, enqueued_at, rank, kind, positions, job_ids, versions, slots_ms,
    payloads
  )
  SELECT batch.batch_id, job.route, $2, job.level, m.at, ${rankOf(fragment`m.at`, fragment`job.level`)},
    'trigger', ARRAY(SELECT generate_series(0, batch.size - 1)), array_fill(job.job_id, ARRAY[batch.size]),
    array_fill(job.version, ARRAY[batch.size]),
    array_fill(to_ms(date_trunc('second', m.at)), ARRAY[batch.size]), batch.payloads
  FROM (SELECT clock_ms() AS at) m
  CROSS JOIN (
    SELECT j.job_id, j.version, v.route, greatest(1, v.priority - $3::int) AS level
    FROM ${currentVersions}
    WHERE j.job_id = $1
      AND v.overlap_policy = 'ALLOW'
      AND NOT v.own_rows
      AND NOT ${isRoot}
      AND NOT EXISTS (SELECT FROM workers WHERE generation < $5)
      AND NOT EXISTS (SELECT FROM schedulers WHERE generation < $5)
  ) job
  CROSS JOIN json_to_recordset($4::json) AS batch(${batchItem.columns})
  RETURNING enqueued_at`

export const insertBackfill = sql('insertBackfill')`
  ${insertLive(
    {
      ...columnsOf(fragment`job`, 'job_id', 'version', 'tenant_id', 'route', 'priority', 'concurrency_key'),
      ...columnsOf(fragment`item`, 'execution_id', 'lane'),
      kind: fragment`'backfill'`,
      state: fragment`
        CASE WHEN job.overlap_policy = 'ALLOW' AND NOT job.limited THEN 'ready' ELSE 'waiting' END`,
      slot: fragment`from_ms(item.slot_ms)`,
      enqueued_at: fragment`m.at`,
      // In the order in which they were given.
      rank: fragment`
        ${rankOf(fragment`m.at`, fragment`job.priority`)} + item.number * interval '1 millisecond'`,
      operation_id: fragment`$3`,
      host: hostOfUncharged(fragment`job.tenant_id`),
      key_limit: fragment`job.concurrency_key_limit`,
      run_id: fragment`CASE WHEN job.is_root THEN item.execution_id END`,
    },
    fragment`
      FROM (SELECT clock_ms() AS at) m
      CROSS JOIN json_to_recordset($1::json) AS item(${backfillItem.columns})
      CROSS JOIN LATERAL (
        SELECT j.job_id, j.version, j.tenant_id, v.overlap_policy, v.priority, v.route, v.concurrency_key,
          v.concurrency_key_limit, ${isLimited} AS limited, ${isRoot} AS is_root
        FROM ${currentVersions}
        WHERE j.job_id = $2 LIMIT 1
      ) job`,
  )}`

/** A root with an ended execution still counts for as long as its graph run goes on. */
export const countBackfill = sql('countBackfill')`
  SELECT (SELECT count(*) FROM live WHERE operation_id = $1) + (
      SELECT count(*)
      FROM run_roots root
      -- A scalar subquery with a LIMIT: the planner would hash the whole of live for NOT EXISTS.
      WHERE root.operation_id = $1
        AND (SELECT true FROM live l WHERE l.execution_id = root.execution_id LIMIT 1) IS NULL
    ) AS unended`
