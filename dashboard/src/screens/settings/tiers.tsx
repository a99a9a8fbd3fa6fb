// Tiers and their limits, for operators. A change names the tenants that are beyond a limit.
import type { Tier, TierChanged, TierList } from '@carillon/contract/tenant.ts'
import { useState } from 'react'
import { useGet } from '../../api/hooks.ts'
import { useMay } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { Check, TextField } from '../../components/field.tsx'
import { Card, PlainTable, Waiting } from '../../components/page.tsx'
import { plural } from '../../lib/format.ts'
import {
  excessText,
  formOf,
  limitError,
  limitFields,
  limitsOf,
  type TierForm,
  tierFormError,
  tierRequestOf,
} from './tier-form.ts'

interface Asked {
  form: TierForm
  isNew: boolean
}

export function Tiers() {
  const found = useGet<TierList>('/tiers')
  const may = useMay('admin')
  const [asked, setAsked] = useState<Asked | null>(null)
  const [changed, setChanged] = useState<TierChanged | null>(null)
  if (found.data === undefined) return <Waiting found={found} canRetry />
  const { tiers } = found.data
  return (
    <>
      <div className="settings-head">
        {may && (
          <Button
            kind="primary"
            icon="plus"
            onClick={() => setAsked({ form: formOf(tiers[0]!, ''), isNew: true })}
          >
            New tier
          </Button>
        )}
        <span className="dim">
          The limits of all tenants on the tier. A change takes effect everywhere within 5 s.
        </span>
      </div>
      <PlainTable heads={['Tier', 'Weight', 'Limits']} {...(may && { buttons: 'Change' })}>
        {tiers.map((tier) => (
          <TierRow
            key={tier.name}
            tier={tier}
            onEdit={may ? () => setAsked({ form: formOf(tier), isNew: false }) : null}
          />
        ))}
      </PlainTable>
      {changed !== null && <Excess changed={changed} />}
      {asked !== null && <TierDialog asked={asked} onDone={setChanged} onClose={() => setAsked(null)} />}
    </>
  )
}

function TierRow({ tier, onEdit }: { tier: Tier; onEdit: (() => void) | null }) {
  return (
    <tr>
      <td>{tier.name}</td>
      <td>{tier.weight}</td>
      <td>{limitsOf(tier).join(' · ')}</td>
      {onEdit !== null && (
        <td>
          <Button kind="quiet" aria-label={`Change ${tier.name}`} onClick={onEdit}>
            Change
          </Button>
        </td>
      )}
    </tr>
  )
}

/** Of the last change. */
function Excess({ changed: { tier, exceeding, unchecked_tenants: unchecked } }: { changed: TierChanged }) {
  if (exceeding.length === 0 && unchecked === 0) return null
  return (
    <Card title={`Beyond the limits of ${tier.name}`}>
      <p className="dim">
        They keep their jobs, and may edit everything that takes them no further.
        {unchecked > 0 && ` ${plural(unchecked, 'more tenant')} not looked at.`}
      </p>
      <PlainTable heads={['Tenant', 'Limits']}>
        {exceeding.map(({ tenant_id: tenantId, name, limits }) => (
          <tr key={tenantId}>
            <td>{name}</td>
            <td>{limits.map(excessText).join(' · ')}</td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  )
}

interface TierDialogProps {
  asked: Asked
  onDone(changed: TierChanged): void
  onClose(): void
}

function TierDialog({ asked: { form: first, isNew }, onDone, onClose }: TierDialogProps) {
  const [form, setForm] = useState(first)
  const set = (name: string, text: string) => setForm({ ...form, limits: { ...form.limits, [name]: text } })
  return (
    <ConfirmDialog<TierChanged>
      title={isNew ? 'New tier' : `Change ${form.name}`}
      verb={isNew ? 'Create tier' : 'Save'}
      apiRequest={{ method: 'PUT', path: `/tiers/${form.name}`, body: tierRequestOf(form) }}
      disabled={tierFormError(form) !== null}
      done={({ tier, exceeding }) =>
        exceeding.length === 0
          ? `The tier ${tier.name} is set.`
          : `The tier ${tier.name} is set; ${plural(exceeding.length, 'tenant')} beyond its limits.`
      }
      onDone={onDone}
      invalidates={['/tiers', '/tenants']}
      onClose={onClose}
    >
      {isNew && (
        <TextField
          label="Name"
          maxLength={64}
          hint="Small letters and digits. A tier cannot be renamed or deleted."
          value={form.name}
          onText={(name) => setForm({ ...form, name })}
        />
      )}
      <div className="tier-limits">
        {limitFields.map((field) => (
          <TextField
            key={field.name}
            kind="number"
            label={field.label}
            hint={field.isOptional === true ? 'Empty: no limit.' : undefined}
            error={limitError(field, form)}
            value={form.limits[field.name]!}
            onText={(text) => set(field.name, text)}
          />
        ))}
      </div>
      <Check isOn={form.deadLetters} onChange={(deadLetters) => setForm({ ...form, deadLetters })}>
        Shows dead letters
      </Check>
    </ConfirmDialog>
  )
}
