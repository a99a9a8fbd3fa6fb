// The statements for gauges, run when metrics are scraped.
import { fragment, sql } from '../../lib/sql.ts'
import { isLeftBehind } from '../sql/fragments.ts'

export const selectQueueDepth = sql('selectQueueDepth')`
  SELECT CASE WHEN priority <= 3 THEN 'p1-p3' WHEN priority <= 7 THEN 'p4-p7' ELSE 'p8-p10' END AS band,
    sum(size)::bigint AS depth, extract(epoch
      FROM clock_timestamp() - min(enqueued_at))::float8 AS oldest_seconds
  FROM (
    SELECT priority, cardinality(positions) AS size, enqueued_at FROM batches
    -- Left behind by a deleted job: no worker is to have it.
    WHERE worker_id IS NULL AND NOT ${isLeftBehind(fragment`route`)}
    UNION ALL
    -- Without executions that wait for the budget of their tenant: no worker is to have them yet.
    SELECT priority, 1, enqueued_at FROM live WHERE state = 'ready' AND host IS DISTINCT FROM 'quota'
  ) w
  GROUP BY 1`

/** A dense job's cursor lags by a minute; beyond $1 ms nobody is firing it. */
export const countOverdue = sql('countOverdue')`
  SELECT count(*) AS jobs FROM (
    SELECT FROM generate_series(0, 63) AS p(id) CROSS JOIN LATERAL (
      SELECT FROM cursors c WHERE c.partition_id = p.id AND c.status = 'ACTIVE' AND c.due_at IS NOT NULL
        AND c.due_at < clock_timestamp() - $1 * interval '1 millisecond'
      ORDER BY c.due_at LIMIT 10000
    ) o
  ) d`

export const countUnowned = sql(
  'countUnowned',
)`SELECT count(*) AS partitions FROM partitions WHERE scheduler_id IS NULL`

export const sumHistoryBytes = sql('sumHistoryBytes')`
  SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0)::bigint AS bytes FROM pg_inherits
  WHERE inhparent = 'attempts'::regclass`

/** Rows that the oldest transaction still sees cannot be vacuumed, so tables that are constantly rewritten grow. */
export const selectOldestTransaction = sql('selectOldestTransaction')`
  SELECT coalesce(max(extract(epoch FROM clock_timestamp() - since)), 0)::float8 AS seconds FROM (
    SELECT xact_start AS since FROM pg_stat_activity
    WHERE datname = current_database() AND num_nonnulls(backend_xmin, backend_xid) > 0
      AND pid <> pg_backend_pid()
    UNION ALL
    SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()
  ) t`

/** The server keeps some for superusers, and from PostgreSQL 16 on for other roles that it may name. */
export const countConnections = sql('countConnections')`
  SELECT current_setting('max_connections')::integer
      - current_setting('superuser_reserved_connections')::integer
      - coalesce(current_setting('reserved_connections', true), '0')::integer AS most,
    (SELECT sum(numbackends)::integer FROM pg_stat_database) AS in_use`
