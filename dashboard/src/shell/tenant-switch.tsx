// The tenant of the shown jobs. An operator may look at every tenant; anybody else sees the name of their own.
import type { Session } from '@carillon/contract/session.ts'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { chosenTenant } from '../api/client.ts'
import { readTenant, tenantForAddress, tenantParameter } from '../api/tenant.ts'
import { useTenants } from '../api/tenants.ts'
import { Select } from '../components/field.tsx'
import { toast } from '../components/toast.tsx'
import { useStore } from '../lib/store.ts'

export function TenantSwitch({ session }: { session: Session }) {
  const chosen = useStore(chosenTenant)
  const navigate = useNavigate()
  const searched = useSearch({ strict: false }) as Record<string, unknown>
  const tenants = useTenants(session)
  const isAlone = tenants.length < 2 && chosen === null
  if (!session.operator || isAlone) return <span className="tenant">{session.tenant.name}</span>
  const value = chosen ?? session.tenant.tenant_id
  const options = tenants.map(({ tenant_id, name }) => ({ value: tenant_id, name }))
  if (!options.some((option) => option.value === value)) options.push({ value, name: value })
  return (
    <Select
      className="input tenant"
      aria-label="Tenant"
      value={value}
      options={options}
      onText={(tenantId) => {
        // A job, an execution and a filter are of one tenant: the list that the screen belongs to is of each.
        const screen = location.pathname.split('/')[1] ?? ''
        const tab = location.pathname === `/${screen}` ? searched['tab'] : undefined
        const search = { tab, [tenantParameter]: tenantForAddress(session, tenantId) ?? undefined }
        void navigate({ to: `/${screen}`, search: search as never })
      }}
    />
  )
}

/** Writes the tenant of a session that has one into the address, and says so when a link is of another tenant. */
export function TenantInAddress({ session }: { session: Session }) {
  const { [tenantParameter]: text } = useSearch({ strict: false }) as Record<string, unknown>
  const given = readTenant(text)
  const navigate = useNavigate()
  useEffect(() => {
    const right = tenantForAddress(session, given)
    if (right === given && text === (given ?? undefined)) return
    if (!session.operator && given !== null)
      toast(`The link is of another tenant. You are logged in to ${session.tenant.name}.`, 'failed')
    void navigate({
      to: '.',
      search: ((before: object) => ({ ...before, [tenantParameter]: right ?? undefined })) as never,
      replace: true,
    })
  }, [given, text, session, navigate])
  return null
}
