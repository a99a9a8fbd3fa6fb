// Deleted tenants, for operators: restored until their purge begins, or purged before its time, with the progress.
import type { Operation, OperationList } from '@carillon/contract/operation.ts'
import type { Tenant, TenantEnding, TenantList } from '@carillon/contract/tenant.ts'
import { useState } from 'react'
import { useGet } from '../../api/hooks.ts'
import { ConfirmAction } from '../../components/confirm-action.tsx'
import { TextField } from '../../components/field.tsx'
import { Card, PlainTable } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount, words } from '../../lib/format.ts'

const lookEveryMs = 2_000
const shownMax = 200

export function DeletedTenants({ may }: { may: boolean }) {
  const query = { status: 'DELETED', limit: shownMax }
  const tenants = useGet<TenantList>('/tenants', { query, everyMs: lookEveryMs }).data?.tenants ?? []
  if (tenants.length === 0) return null
  return (
    <Card title="Deleted tenants">
      <PlainTable
        heads={['Tenant', 'Status', 'Purge', 'Progress']}
        {...(may && { buttons: 'Restore or purge' })}
      >
        {tenants.map((tenant) => (
          <tr key={tenant.tenant_id}>
            <td title={tenant.tenant_id}>{tenant.name}</td>
            <td>
              <Status status={tenant.status} />
            </td>
            <td>{tenant.purge_at !== null && <Time at={tenant.purge_at} />}</td>
            <td>
              <Progress tenantId={tenant.tenant_id} />
            </td>
            {may && <td>{tenant.status === 'DELETED' && <Actions tenant={tenant} />}</td>}
          </tr>
        ))}
      </PlainTable>
    </Card>
  )
}

/** Of the latest operation of the tenant. */
function Progress({ tenantId }: { tenantId: string }) {
  const options = { query: { limit: 1 }, tenantId, everyMs: lookEveryMs }
  const operation = useGet<OperationList>('/operations', options).data?.operations[0]
  return operation === undefined ? null : <span className="number">{progressText(operation)}</span>
}

function progressText({ kind, status, progress }: Operation): string {
  const { done, total, total_capped: capped } = progress
  return `${words(kind)} ${words(status)}: ${formatCount(done)} of ${formatCount(total, capped)} jobs`
}

function Actions({ tenant }: { tenant: Tenant }) {
  const { tenant_id: id, name } = tenant
  const [typed, setTyped] = useState('')
  return (
    <>
      <ConfirmAction<TenantEnding>
        label="Restore"
        name={`Restore ${name}`}
        kind="quiet"
        title={`Restore ${name}`}
        verb="Restore tenant"
        apiRequest={{ method: 'POST', path: `/tenants/${id}/restore`, cli: `tenants restore ${id}` }}
        done={`The tenant ${name} is back; its jobs are being resumed.`}
        invalidates={['/tenants']}
      >
        <p>
          Its keys work again, and the jobs that the delete paused fire from now on. Slots up to now are
          skipped.
        </p>
      </ConfirmAction>
      <ConfirmAction<TenantEnding>
        label="Purge"
        name={`Purge ${name}`}
        kind="quiet"
        title={`Purge ${name}`}
        verb="Delete everything"
        danger
        disabled={typed !== name}
        apiRequest={{
          method: 'POST',
          path: `/tenants/${id}/purge`,
          body: { name: typed },
          cli: `tenants purge ${id}`,
        }}
        done={`The purge of ${name} has begun.`}
        invalidates={['/tenants']}
      >
        <p>All jobs, executions, keys and history of the tenant are deleted. This cannot be undone.</p>
        <TextField label={`Type ${name} to confirm`} maxLength={128} value={typed} onText={setTyped} />
      </ConfirmAction>
    </>
  )
}
