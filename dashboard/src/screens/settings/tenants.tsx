// Tenants and the limits of their tier: operators make, change and delete tenants.
import type { Tenant, TenantChanged, TenantEnding, TierList } from '@carillon/contract/tenant.ts'
import { useState } from 'react'
import { useGet, useList } from '../../api/hooks.ts'
import { useMay } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmAction, ConfirmDialog } from '../../components/confirm-action.tsx'
import { type Column, DataTable, wideColumn } from '../../components/data-table.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { Empty } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { DeletedTenants } from './deleted-tenants.tsx'
import { excessText, limitsOf } from './tier-form.ts'

export function Tenants() {
  const list = useList<Tenant>('/tenants', 'tenants')
  const may = useMay('admin')
  const [asked, setAsked] = useState<Tenant | 'new' | null>(null)
  const known = useGet<TierList>('/tiers').data?.tiers.map(({ name }) => name) ?? ['unlimited']
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
      <DeletedTenants may={may} />
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
    wideColumn('Created', '7rem', ({ created_at }) => <Time at={created_at} />),
    onEdit !== null && {
      header: '',
      name: 'Change or delete',
      width: '9.5rem',
      cell: (tenant) => (
        <>
          <Button kind="quiet" aria-label={`Change ${tenant.name}`} onClick={() => onEdit(tenant)}>
            Change
          </Button>
          {tenant.tenant_id !== defaultTenantId && <DeleteTenant tenant={tenant} />}
        </>
      ),
    },
  ]
}

/** Operators act for it when they name no tenant: it cannot be deleted. */
const defaultTenantId = '00000000-0000-7000-8000-000000000001'

function DeleteTenant({ tenant: { tenant_id: id, name } }: { tenant: Tenant }) {
  return (
    <ConfirmAction<TenantEnding>
      label="Delete"
      name={`Delete ${name}`}
      kind="quiet"
      title={`Delete the tenant ${name}`}
      verb="Delete tenant"
      danger
      apiRequest={{ method: 'DELETE', path: `/tenants/${id}`, cli: `tenants delete ${id}` }}
      done={`The tenant ${name} is deleted: nothing of it fires any more.`}
      invalidates={['/tenants']}
    >
      <p>
        From now on nothing of it fires, and its keys and sessions end. Executions that wait are cancelled,
        running ones go on to their end. It can be restored for 7 days; then all its rows are deleted.
      </p>
    </ConfirmAction>
  )
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
    <ConfirmDialog<TenantChanged>
      title={tenant === null ? 'New tenant' : `Change ${tenant.name}`}
      verb={tenant === null ? 'Create tenant' : 'Save'}
      apiRequest={{ method: tenant === null ? 'POST' : 'PATCH', path, body }}
      disabled={body.name === '' || isSame}
      done={({ name, tier, exceeding = [] }) => {
        const said = `The tenant ${name} is on ${tier.name}.`
        return exceeding.length === 0
          ? said
          : `${said} Beyond its limits: ${exceeding.map(excessText).join('; ')}.`
      }}
      invalidates={['/tenants']}
      onClose={onClose}
    >
      <TextField label="Name" maxLength={128} hint="Unique among tenants." value={name} onText={setName} />
      <SelectField
        label="Tier"
        hint={tenant === null ? undefined : 'Takes effect everywhere within 5 s.'}
        value={tier}
        options={tiers.map((value) => ({ value, name: value }))}
        onText={setTier}
      />
    </ConfirmDialog>
  )
}
