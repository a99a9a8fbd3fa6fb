// Tenants and the limits of their tier, for operators.
import type { Tenant } from '@carillon/contract/tenant.ts'
import { useState } from 'react'
import { useList } from '../../api/hooks.ts'
import { useMay } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { type Column, DataTable, wideColumn } from '../../components/data-table.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { Empty } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { formatBytes, formatCount, plural } from '../../lib/format.ts'

const tierNames = ['unlimited', 'free', 'pro', 'enterprise']

export function Tenants() {
  const list = useList<Tenant>('/tenants', 'tenants')
  const may = useMay('admin')
  const [asked, setAsked] = useState<Tenant | 'new' | null>(null)
  const known = [...new Set([...tierNames, ...list.items.map(({ tier }) => tier.name)])]
  return (
    <>
      <div className="settings-head">
        {may && (
          <Button kind="primary" icon="plus" onClick={() => setAsked('new')}>
            New tenant
          </Button>
        )}
        <span className="dim">
          A tenant owns jobs, executions and keys, and sees no others. Its tier sets its limits.
        </span>
      </div>
      <DataTable
        label="Tenants"
        rows={list.items}
        columns={columnsOf(may ? setAsked : null)}
        rowKey={({ tenant_id }) => tenant_id}
        list={list}
        empty={<Empty title="No tenants." />}
      />
      {asked !== null && (
        <TenantDialog tenant={asked === 'new' ? null : asked} tiers={known} onClose={() => setAsked(null)} />
      )}
    </>
  )
}

function columnsOf(onEdit: ((tenant: Tenant) => void) | null): (Column<Tenant> | false)[] {
  return [
    {
      header: 'Name',
      width: 'minmax(7rem, 1.5fr)',
      cell: ({ name, tenant_id }) => <span title={tenant_id}>{name}</span>,
    },
    { header: 'Tier', width: '6.5rem', cell: ({ tier }) => tier.name },
    wideColumn('Weight', '4.5rem', ({ tier }) => tier.weight, 'end'),
    wideColumn('Limits', 'minmax(14rem, 4fr)', ({ tier }) => (
      <span title={limitsOf(tier).join('\n')}>{limitsOf(tier).join(' · ')}</span>
    )),
    wideColumn('Made', '7rem', ({ created_at }) => <Time at={created_at} />),
    onEdit !== null && {
      header: '',
      name: 'Change',
      width: '5.5rem',
      cell: (tenant) => (
        <Button kind="quiet" aria-label={`Change ${tenant.name}`} onClick={() => onEdit(tenant)}>
          Change
        </Button>
      ),
    },
  ]
}

function limitsOf(tier: Tenant['tier']): string[] {
  return [
    tier.requests_per_second === null
      ? 'requests unlimited'
      : `${formatCount(tier.requests_per_second)} requests/s`,
    `${plural(tier.history_days, 'day')} of history`,
    `payload ${formatBytes(tier.payload_bytes_max)}`,
    plural(tier.retries_max, 'retry', 'retries'),
    `every ${tier.interval_seconds_min} s at most`,
    `priority from ${tier.priority_best}`,
    tier.dead_letters ? 'dead letters' : 'no dead letters',
  ]
}

interface TenantDialogProps {
  tenant: Tenant | null
  tiers: readonly string[]
  onClose(): void
}

function TenantDialog({ tenant, tiers, onClose }: TenantDialogProps) {
  const [name, setName] = useState(tenant?.name ?? '')
  const [tier, setTier] = useState(tenant?.tier.name ?? 'unlimited')
  const path = tenant === null ? '/tenants' : `/tenants/${tenant.tenant_id}`
  const body = { name: name.trim(), tier }
  const isSame = tenant !== null && tenant.name === body.name && tenant.tier.name === tier
  return (
    <ConfirmDialog<Tenant>
      title={tenant === null ? 'New tenant' : `Change ${tenant.name}`}
      verb={tenant === null ? 'Make it' : 'Save'}
      twin={{ method: tenant === null ? 'POST' : 'PATCH', path, body }}
      disabled={body.name === '' || isSame}
      done={(reply) => `The tenant ${reply.name} is on ${reply.tier.name}.`}
      invalidates={['/tenants']}
      onClose={onClose}
    >
      <TextField
        label="Name"
        maxLength={128}
        hint="Unique. A tenant can be renamed, not deleted."
        value={name}
        onText={setName}
      />
      <SelectField
        label="Tier"
        hint={tenant === null ? undefined : 'Other servers see it within 5 s.'}
        value={tier}
        options={tiers.map((value) => ({ value, name: value }))}
        onText={setTier}
      />
    </ConfirmDialog>
  )
}
