// The statements on the end of tenants, but for the purge.
import { sql } from '../../lib/sql.ts'

/** Waits for fires and triggers under way, and keeps further ones waiting until the commit: see migration 33. */
export const fenceTenants = sql('fenceTenants')`SELECT fence_tenants()`

export const lockTenant = sql('lockTenant')`
  SELECT deleted_at, purge_begun_at FROM tenants WHERE tenant_id = $1 FOR NO KEY UPDATE`

export const lockWork = sql('lockWork')`
  SELECT stage, operation_id FROM tenant_work WHERE tenant_id = $1 FOR UPDATE`

export const markDeleted = sql('markDeleted')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), marked AS (
    UPDATE tenants t
    SET deleted_at = m.at, purge_at = m.at + $2 * interval '1 millisecond', restored_at = NULL
    FROM moment m
    WHERE t.tenant_id = $1
  ), fenced AS (
    INSERT INTO deleted_tenants (tenant_id) VALUES ($1)
  )
  INSERT INTO tenant_work (
    tenant_id, stage, operation_id, requested_by, deleted_at, cancel_running, next_at
  )
  SELECT $1, 'stop', $3, $4, m.at, $5, m.at
  FROM moment m`

export const markRestored = sql('markRestored')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), marked AS (
    UPDATE tenants t
    SET deleted_at = NULL, purge_at = NULL, restored_at = m.at
    FROM moment m
    WHERE t.tenant_id = $1
  ), freed AS (
    DELETE FROM deleted_tenants WHERE tenant_id = $1
  )
  UPDATE tenant_work w
  SET stage = 'restore', operation_id = $2, requested_by = $3, after = NULL, failures = 0, next_at = m.at
  FROM moment m
  WHERE w.tenant_id = $1`

export const markPurging = sql('markPurging')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), marked AS (
    UPDATE tenants t
    SET purge_at = least(t.purge_at, m.at), purge_begun_at = m.at
    FROM moment m
    WHERE t.tenant_id = $1
  )
  UPDATE tenant_work w
  SET stage = 'purge', operation_id = $2, requested_by = $3, after = NULL, failures = 0, next_at = m.at
  FROM moment m
  WHERE w.tenant_id = $1`

/** Its keys were secrets of the tenant. */
export const markPurged = sql('markPurged')`
  WITH marked AS (
    UPDATE tenants
    SET purged_at = clock_ms(), signing_key = new_key(), previous_signing_key = NULL, previous_until = NULL
    WHERE tenant_id = $1
  ), freed AS (
    DELETE FROM deleted_tenants WHERE tenant_id = $1
  )
  DELETE FROM tenant_work WHERE tenant_id = $1`

/** Beyond the limit on operations of a tenant: there is one at a time. Its total is known only to a look at every job. */
export const insertTenantOperation = sql('insertTenantOperation')`
  INSERT INTO operations (
    operation_id, tenant_id, kind, status, filter, options, total, total_capped, created_by, created_at
  )
  VALUES ($2, $1, $3, 'RUNNING', '{}', '{}', $4, $5, $6, clock_ms())`

/** Of these operations of the tenant none goes on. */
export const cancelTenantOperations = sql('cancelTenantOperations')`
  UPDATE operations
  SET status = 'CANCELLED', finished_at = clock_ms(), next_at = NULL
  WHERE tenant_id = $1 AND status = 'RUNNING' AND NOT starts_with(kind, 'tenant_')`

export const takeTenantWork = sql('takeTenantWork')`
  SELECT w.tenant_id, w.stage, w.operation_id, w.requested_by, w.deleted_at, w.cancel_running, w.after,
    t.purge_at, t.restored_at
  FROM tenant_work w
  JOIN tenants t ON t.tenant_id = w.tenant_id
  WHERE w.next_at <= (SELECT clock_timestamp())
  ORDER BY w.next_at, w.tenant_id LIMIT 1 FOR UPDATE OF w SKIP LOCKED`

export const advanceTenantOperation = sql('advanceTenantOperation')`
  UPDATE operations
  SET done = done + $2, skipped = skipped + $3, status = CASE WHEN $4::boolean THEN 'COMPLETED' ELSE status END,
    finished_at = CASE WHEN $4 THEN clock_ms() END
  WHERE operation_id = $1 AND status = 'RUNNING'`

/** $4 the stage that follows; null: the same. */
export const advanceTenantWork = sql('advanceTenantWork')`
  UPDATE tenant_work
  SET stage = coalesce($4, stage), after = $2, failures = 0,
    next_at = clock_ms() + $3 * interval '1 millisecond'
  WHERE tenant_id = $1`

export const deleteTenantWork = sql('deleteTenantWork')`
  DELETE FROM tenant_work WHERE tenant_id = $1`

export const delayTenantWork = sql('delayTenantWork')`
  UPDATE tenant_work
  SET failures = failures + 1,
    next_at = clock_ms() + least(60, power(2, least(failures, 6))) * interval '1 second'
  WHERE tenant_id = $1`

export const selectNextTenantWork = sql('selectNextTenantWork')`
  SELECT min(next_at) AS at FROM tenant_work`
