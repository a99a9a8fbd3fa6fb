// A link without its tenant, opened by an operator in another tenant: finds the tenant that has the job, and goes there.
import type { Session } from '@carillon/contract/session.ts'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { ApiProblem, api, chosenTenant } from '../api/client.ts'
import { useSession } from '../api/session.ts'
import { tenantForAddress, tenantParameter } from '../api/tenant.ts'
import { useTenants } from '../api/tenants.ts'
import { Button } from './button.tsx'

/** Tenants that are asked for it, one after the other. */
const askedMax = 100

interface OtherTenantProps {
  /** The request that this tenant has no answer to. */
  path: string
  error: unknown
  /** "job" */
  noun: string
}

export function OtherTenant(props: OtherTenantProps) {
  const { data: session } = useSession()
  const isMissing = props.error instanceof ApiProblem && props.error.status === 404
  if (!isMissing || session === undefined || session === null || !session.operator) return null
  return <Search key={props.path} {...props} session={session} />
}

function Search({ path, noun, session }: OtherTenantProps & { session: Session }) {
  const tenants = useTenants(session)
  const navigate = useNavigate()
  const [owner, setOwner] = useState<{ tenant_id: string; name: string } | null>(null)
  useEffect(() => {
    const abort = new AbortController()
    const here = chosenTenant.get() ?? session.tenant.tenant_id
    const search = async () => {
      for (const tenant of tenants.slice(0, askedMax)) {
        if (tenant.tenant_id === here || abort.signal.aborted) continue
        const has = api.get(path, { tenantId: tenant.tenant_id, signal: abort.signal }).then(
          () => true,
          () => false,
        )
        if (await has) return setOwner(tenant)
      }
    }
    void search()
    return () => abort.abort()
  }, [tenants, path, session])
  if (owner === null) return null
  const go = () => {
    const tenantId = tenantForAddress(session, owner.tenant_id) ?? undefined
    void navigate({
      to: '.',
      search: ((before: object) => ({ ...before, [tenantParameter]: tenantId })) as never,
      replace: true,
    })
  }
  return (
    <p role="status">
      This {noun} belongs to {owner.name}.{' '}
      <Button kind="primary" onClick={go}>
        Switch to {owner.name}
      </Button>
    </p>
  )
}
