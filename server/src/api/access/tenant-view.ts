// A tenant as clients see it.
import type { Tenant } from '@carillon/contract/tenant.ts'
import { type Tenant as StoredTenant, tenantStatusOf } from '../../domain/tenants/tenant.ts'
import { toRfc3339, toRfc3339OrNull } from '../../lib/time/epoch.ts'
import { named } from '../http/path-id.ts'
import { toTier } from './tier-view.ts'

export function toTenant(tenant: StoredTenant): Tenant {
  const { tenantId, name, tier, createdAt, deletedAt, purgeAt, purgedAt } = tenant
  return {
    tenant_id: tenantId,
    name,
    status: tenantStatusOf(tenant),
    tier: toTier(tier),
    created_at: toRfc3339(createdAt),
    deleted_at: toRfc3339OrNull(deletedAt),
    purge_at: toRfc3339OrNull(purgeAt),
    purged_at: toRfc3339OrNull(purgedAt),
  }
}

export const aTenant = named('TENANT_NOT_FOUND', 'tenant')
