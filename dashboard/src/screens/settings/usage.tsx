// The tenant against the limits of its tier: its own, and for operators of the tenant that they look at.
import type { TenantUsage, Usage } from '@carillon/contract/tenant.ts'
import { chosenTenant } from '../../api/client.ts'
import { useGet } from '../../api/hooks.ts'
import type { Session } from '../../api/session.ts'
import { Card, PlainTable, Waiting } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { formatCount, formatShare } from '../../lib/format.ts'
import { useStore } from '../../lib/store.ts'

const everyMs = 10_000
const names: Record<Usage['name'], string> = { active_jobs_max: 'Active jobs' }

export function UsageCard({ session }: { session: Session }) {
  const chosen = useStore(chosenTenant)
  const found = useGet<TenantUsage>(`/tenants/${chosen ?? session.tenant.tenant_id}/usage`, { everyMs })
  if (found.data === undefined) return <Waiting found={found} canRetry />
  const { tier, usage } = found.data
  return (
    <Card title={`Usage on the tier ${tier}`}>
      <PlainTable heads={['Limit', 'Used', 'Of', 'State']}>
        {usage.map((one) => (
          <UsageRow key={one.name} usage={one} />
        ))}
      </PlainTable>
    </Card>
  )
}

function UsageRow({ usage: { name, limit, used, capped, alarm } }: { usage: Usage }) {
  const share = limit === null || limit === 0 ? null : used / limit
  return (
    <tr>
      <td>{names[name]}</td>
      <td>{formatCount(used, capped)}</td>
      <td>{limit === null ? 'no limit' : formatCount(limit)}</td>
      <td>
        <Status
          status={alarm ? 'FAILED' : 'SUCCEEDED'}
          label={share === null ? 'fine' : `${formatShare(share)} used`}
        />
      </td>
    </tr>
  )
}
