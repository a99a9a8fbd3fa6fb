// The statements of the live view.
import { fixedRoutes } from '../../domain/executors/list.ts'
import { fragment, literals, sql } from '../../lib/sql.ts'
import { isOnceUnderWay, runsOnce } from '../sql/fragments.ts'

const routes = literals([...fixedRoutes(false), ...fixedRoutes(true)])

/**
 * From when on something may still be recorded that the next snapshot does not show: a transaction makes all its
 * records after its start. The caller takes the snapshot after this, not with it. A user that cannot see the
 * transactions of others assumes the longest that we report ($1 ms), as it does for a transaction that takes longer.
 */
export const selectFeedStart = sql('selectFeedStart')`
  SELECT to_ms(
      greatest(
        m.now - $1 * interval '1 millisecond',
        CASE
          WHEN bool_or(coalesce(session.state, 'disabled') = 'disabled')
            FILTER (WHERE session.pid IS NOT NULL)
            THEN '-infinity'
          ELSE least(m.now, min(session.xact_start)) - interval '2 milliseconds'
        END
      )
    ) AS since
  FROM (SELECT clock_timestamp() AS now) m
  LEFT JOIN pg_stat_activity session ON session.datname = current_database()
    AND session.pid <> pg_backend_pid()
    AND session.backend_type = 'client backend'
  GROUP BY m.now`

export const selectSnapshot = sql('selectSnapshot')`
  SELECT pg_current_snapshot()::text AS snapshot, to_ms(clock_ms()) AS now`

/**
 * New are the rows that this snapshot shows and the one before ($2) did not, so nothing is reported twice and nothing
 * that was committed late is passed over. $3: nothing new was recorded before. $4: executions that are known to run.
 * $5: graph runs to look at. $6, $7: how many to report, of executions and of others; of
 * jobs as many that changed, and as many that run once and have run. $8: how many rows under way to scan. $9: when the snapshot before had been taken: later records are new, which is quicker to check for each row.
 */
export const selectFeed = sql('selectFeed')`
  WITH here AS MATERIALIZED (
    SELECT pg_current_snapshot()::text AS snapshot,
      pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next, clock_ms() AS now
  ), recent AS MATERIALIZED (
    -- Of all tenants: the planner would take an index on the tenant, and read all that it ever recorded.
    SELECT a.tenant_id, a.recorded_at, a.execution_id, a.job_id, a.attempt, a.final, a.outcome, a.slot,
      a.started_at, a.finished_at, a.duration_ms, a.error_type, a.xmin AS writer
    FROM attempts a
    WHERE a.recorded_at >= from_ms($3)
      AND a.recorded_at < now() + interval '1 hour'
      -- As the index has it.
      AND greatest(a.recorded_at, '-infinity'::timestamptz) >= from_ms($3)
  ), fresh AS MATERIALIZED (
    SELECT recent.*
    FROM recent
    WHERE recent.tenant_id = $1
      AND (
        recent.recorded_at > from_ms($9)
        OR NOT pg_visible_in_snapshot(whole_xid(recent.writer, (SELECT next FROM here)), $2::pg_snapshot)
      )
  ), told AS (
    SELECT * FROM fresh ORDER BY recorded_at DESC, execution_id DESC, attempt DESC LIMIT $6
  ), row_under_way AS MATERIALIZED (
    SELECT l.tenant_id, l.execution_id, l.job_id, l.state, l.attempt, l.slot, l.started_at, l.cancelled_at
    FROM live l
    ORDER BY l.execution_id DESC LIMIT $8
  ), own_under_way AS MATERIALIZED (
    SELECT * FROM row_under_way WHERE tenant_id = $1
  ), batch AS MATERIALIZED (
    (
      SELECT b.lane, b.job_ids, true AS held
      FROM batches b
      WHERE b.claimed_at IS NOT NULL
      ORDER BY b.claimed_at LIMIT 200
    )
    UNION ALL
    SELECT asked.lane, first.job_ids, false
    FROM unnest(ARRAY[${routes}]) AS served(route)
    CROSS JOIN (VALUES ($1::text), ('shared')) AS asked(lane)
    CROSS JOIN LATERAL (
      SELECT b.job_ids
      FROM batches b
      WHERE b.worker_id IS NULL AND b.route = served.route AND b.lane = asked.lane
      ORDER BY b.rank LIMIT 200
    ) first
    UNION ALL
    -- The routes of its handlers are its own. '!' comes after the space.
    (
      SELECT $1::text, b.job_ids, false
      FROM batches b
      WHERE b.worker_id IS NULL
        AND b.route >= 'worker ' || $1::text || ' '
        AND b.route < 'worker ' || $1::text || '!' LIMIT 200
    )
  ), batched AS MATERIALIZED (
    -- A lane is the tenant's own, or shared by all.
    SELECT batch.held, cardinality(batch.job_ids)::bigint AS size
    FROM batch
    WHERE batch.lane = $1::text
    UNION ALL
    SELECT shared.held, count(*)
    FROM (
      SELECT batch.held, member.job_id
      FROM batch
      CROSS JOIN LATERAL unnest(batch.job_ids) AS member(job_id)
      WHERE batch.lane = 'shared' LIMIT $8
    ) shared
    JOIN jobs j ON j.job_id = shared.job_id AND j.tenant_id = $1
    GROUP BY shared.held
  ), changed AS MATERIALIZED (
    (
      SELECT j.job_id
      FROM jobs j
      -- By the clock of the server that wrote it.
      WHERE j.tenant_id = $1
        AND j.updated_at >= from_ms($3) - interval '1 second'
        AND NOT pg_visible_in_snapshot(whole_xid(j.xmin, (SELECT next FROM here)), $2::pg_snapshot)
      ORDER BY j.updated_at DESC LIMIT $7
    )
    UNION
    (
      -- A job that runs once is shown as COMPLETED only from the end of its execution on.
      SELECT told.job_id
      FROM told
      CROSS JOIN LATERAL (
        SELECT c.version FROM cursors c WHERE c.job_id = told.job_id AND c.status = 'COMPLETED' LIMIT 1
      ) c
      CROSS JOIN LATERAL (
        SELECT
        FROM job_versions v
        WHERE v.job_id = told.job_id AND v.version = c.version AND ${runsOnce} LIMIT 1
      ) v
      WHERE told.final LIMIT $7
    )
  )
  SELECT here.snapshot, here.now, counts.*,
    (SELECT count(*) FROM own_under_way WHERE state IN ('running', 'awaiting')) + (
      SELECT coalesce(sum(size), 0)::bigint FROM batched WHERE held
    ) AS running,
    (SELECT count(*) FROM own_under_way WHERE state NOT IN ('running', 'awaiting')) + (
      SELECT coalesce(sum(size), 0)::bigint FROM batched WHERE NOT held
    ) AS waiting,
    (
      SELECT json_agg(
          json_build_object(
            'executionId', told.execution_id, 'jobId', told.job_id, 'jobName', j.name,
            'attempt', told.attempt, 'final', told.final, 'outcome', told.outcome, 'slot', to_ms(told.slot),
            'startedAt', to_ms(told.started_at), 'finishedAt', to_ms(told.finished_at),
            'durationMs', told.duration_ms, 'errorType', told.error_type
          ) ORDER BY told.recorded_at, told.execution_id, told.attempt
        )
      FROM told
      JOIN jobs j ON j.job_id = told.job_id
    ) AS recorded,
    (
      SELECT json_agg(
          json_build_object(
            'executionId', newest.execution_id, 'jobId', newest.job_id, 'jobName', j.name,
            'attempt', newest.attempt, 'state', newest.state, 'cancelled', newest.cancelled_at IS NOT NULL,
            'slot', to_ms(newest.slot), 'startedAt', to_ms(newest.started_at)
          ) ORDER BY newest.execution_id DESC
        )
      FROM (SELECT * FROM own_under_way ORDER BY execution_id DESC LIMIT $6) newest
      JOIN jobs j ON j.job_id = newest.job_id
    ) AS under_way,
    (
      SELECT json_agg(
          json_build_object(
            'jobId', j.job_id, 'name', j.name, 'status', c.status, 'version', j.version,
            'isUnderWay', ${isOnceUnderWay(fragment`j.job_id`)}
          )
        )
      FROM changed
      CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.job_id = changed.job_id LIMIT 1) j
      CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = changed.job_id LIMIT 1) c
      CROSS JOIN LATERAL (
        SELECT * FROM job_versions v WHERE v.job_id = changed.job_id AND v.version = j.version LIMIT 1
      ) v
    ) AS jobs,
    (
      SELECT json_agg(
          json_build_object(
            'operationId', operation.operation_id, 'status', operation.status, 'done', operation.done,
            'total', operation.total
          )
        )
      FROM (SELECT * FROM operations WHERE tenant_id = $1 ORDER BY operation_id DESC LIMIT $7) operation
    ) AS operations,
    (
      SELECT json_agg(
          json_build_object('runId', g.run_id, 'status', g.status, 'roles', g.roles, 'states', g.states)
        )
      FROM (
        (
          SELECT run_id, status, roles, states
          FROM graph_runs
          WHERE tenant_id = $1
          ORDER BY run_id DESC LIMIT $7
        )
        UNION
        (
          SELECT run_id, status, roles, states
          FROM graph_runs
          WHERE tenant_id = $1 AND run_id = ANY ($5::uuid[])
        )
      ) g
    ) AS graph_runs
  FROM here
  CROSS JOIN (
    SELECT count(*) AS total,
      count(*) FILTER (WHERE started_at IS NOT NULL AND NOT execution_id = ANY ($4::uuid[])) AS started,
      count(*) FILTER (WHERE final AND outcome = 'succeeded') AS succeeded,
      count(*) FILTER (WHERE final AND outcome IN ('failed', 'lost')) AS failed,
      count(*) FILTER (WHERE final AND outcome = 'timed_out') AS timed_out
    FROM fresh
  ) counts`
