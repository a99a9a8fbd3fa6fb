// The tenants that an operator may act for.
import type { Session } from '@carillon/contract/session.ts'
import { useGet } from './hooks.ts'

interface NamedTenant {
  tenant_id: string
  name: string
}

const query = { limit: 200 }
const none: readonly NamedTenant[] = []

/** None for everybody else. */
export function useTenants({ operator }: Session): readonly NamedTenant[] {
  // On behalf of no tenant: the one in the address may not exist.
  const found = useGet<{ tenants: NamedTenant[] }>('/tenants', { query, enabled: operator, tenantId: null })
  return found.data?.tenants ?? none
}
