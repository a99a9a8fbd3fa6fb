// The tenant of the shown jobs. An operator may look at every tenant; anybody else sees the name of their own.
import type { Session } from '@carillon/contract/session.ts'
import { chooseTenant, chosenTenant } from '../api/client.ts'
import { queryClient, useGet } from '../api/hooks.ts'
import { Select } from '../components/field.tsx'
import { useStore } from '../lib/store.ts'

interface TenantList {
  tenants: { tenant_id: string; name: string }[]
}

export function TenantSwitch({ session }: { session: Session }) {
  const chosen = useStore(chosenTenant)
  const found = useGet<TenantList>('/tenants', { query: { limit: 200 }, enabled: session.operator })
  const others = found.data?.tenants ?? []
  if (!session.operator || others.length < 2) return <span className="tenant">{session.tenant.name}</span>
  return (
    <Select
      className="input tenant"
      aria-label="Tenant"
      value={chosen ?? session.tenant.tenant_id}
      options={others.map(({ tenant_id: value, name }) => ({ value, name }))}
      onText={(tenantId) => {
        chooseTenant(tenantId === session.tenant.tenant_id ? null : tenantId)
        void queryClient.resetQueries({
          predicate: ({ queryKey }) => queryKey[0] !== '/session' && queryKey[0] !== '/tenants',
        })
      }}
    />
  )
}
