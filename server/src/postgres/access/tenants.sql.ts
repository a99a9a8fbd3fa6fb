// The statements on tenants. Columns are listed: `*` would break prepared statements when a tier gets another limit.
import { fragment, sql } from '../../lib/sql.ts'
import { tierColumns, tiersRevised } from '../sql/fragments.ts'

const columns = fragment`
  t.tenant_id, t.name, t.created_at, t.deleted_at, t.purge_at, t.purge_begun_at, t.purged_at, ${tierColumns}`

export const insertTenant = sql('insertTenant')`
  WITH made AS (
    INSERT INTO tenants (tenant_id, name, tier)
    VALUES ($1, $2, $3)
    RETURNING *
  )
  SELECT ${columns}
  FROM made t
  JOIN tiers tier ON tier.tier = t.tier`

export const selectTenant = sql('selectTenant')`
  SELECT ${columns} FROM tenants t JOIN tiers tier ON tier.tier = t.tier WHERE t.tenant_id = $1`

export const selectTenants = sql('selectTenants')`
  SELECT ${columns}
  FROM (
    SELECT * FROM tenants WHERE tenant_id < $1 AND deleted_at IS NULL ORDER BY tenant_id DESC LIMIT $2
  ) t
  JOIN tiers tier ON tier.tier = t.tier
  ORDER BY t.tenant_id DESC`

export const countTenants = sql('countTenants')`
  SELECT count(*) AS total FROM (SELECT FROM tenants WHERE deleted_at IS NULL LIMIT $1) t`

export const selectDeletedTenantsPage = sql('selectDeletedTenantsPage')`
  SELECT ${columns}
  FROM (
    SELECT *
    FROM tenants
    WHERE tenant_id < $1 AND deleted_at IS NOT NULL AND purged_at IS NULL
    ORDER BY tenant_id DESC LIMIT $2
  ) t
  JOIN tiers tier ON tier.tier = t.tier
  ORDER BY t.tenant_id DESC`

export const countDeletedTenants = sql('countDeletedTenants')`
  SELECT count(*) AS total
  FROM (SELECT FROM tenants WHERE deleted_at IS NOT NULL AND purged_at IS NULL LIMIT $1) t`

// Skips from tenant to tenant in the index: the cost grows with $1, not with the jobs.
export const countTenantsWithJobs = sql('countTenantsWithJobs')`
  WITH RECURSIVE tenant AS (
    (SELECT j.tenant_id, 1 AS nth FROM jobs j ORDER BY j.tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT j.tenant_id FROM jobs j WHERE j.tenant_id > t.tenant_id ORDER BY j.tenant_id LIMIT 1), t.nth + 1
    FROM tenant t
    WHERE t.tenant_id IS NOT NULL AND t.nth < $1
  )
  SELECT count(tenant_id)::int AS total FROM tenant`

export const selectWorkLimits = sql('selectWorkLimits')`
  SELECT t.tenant_id, tier.host_calls_per_second, tier.concurrent_executions_max
  FROM tenants t
  JOIN tiers tier ON tier.tier = t.tier
  WHERE t.tenant_id = ANY ($1)
    AND num_nonnulls(tier.host_calls_per_second, tier.concurrent_executions_max) > 0`

export const updateTenant = sql('updateTenant')`
  WITH revised AS (${tiersRevised}), changed AS (
    UPDATE tenants
    SET name = coalesce($2, name), tier = coalesce($3, tier)
    WHERE tenant_id = $1 AND deleted_at IS NULL
    RETURNING *
  )
  SELECT ${columns}
  FROM changed t
  JOIN tiers tier ON tier.tier = t.tier`
