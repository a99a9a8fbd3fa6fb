// Asks for the name, the scopes and the end of a new API key.
import type { CreatedApiKey } from '@carillon/contract/api-key.ts'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { Check, SelectField, TextField } from '../../components/field.tsx'
import { serverNow } from '../../lib/now.ts'
import { expiries, type KeyForm, keyFormError, keyRequestOf, scopes } from './key-form.ts'

interface NewKeyDialogProps {
  isOperator: boolean
  onClose(): void
  onMade(made: CreatedApiKey): void
}

export function NewKeyDialog({ isOperator, onClose, onMade }: NewKeyDialogProps) {
  const [form, setForm] = useState<KeyForm>({ name: '', scopes: ['read'], expiry: '', isOperator })
  const error = keyFormError(form)
  const body = keyRequestOf(form, serverNow())
  return (
    <ConfirmDialog
      title={isOperator ? 'New API key of operators' : 'New API key'}
      verb="Create key"
      apiRequest={{ method: 'POST', path: '/api-keys', body }}
      disabled={error !== null}
      run={() => api.post<CreatedApiKey>('/api-keys', keyRequestOf(form, serverNow()))}
      done="The key is made."
      onDone={onMade}
      invalidates={['/api-keys']}
      onClose={onClose}
    >
      {isOperator && <p>It belongs to no tenant and acts for any, as far as its scopes go.</p>}
      <TextField
        label="Name"
        maxLength={128}
        isSpoken
        hint={error ?? 'Its purpose; need not be unique.'}
        value={form.name}
        onText={(name) => setForm({ ...form, name })}
      />
      <fieldset className="scope-list">
        <legend>Scopes</legend>
        {scopes.map(({ name, text }) => (
          <Check
            key={name}
            isOn={form.scopes.includes(name)}
            onChange={(isOn) => {
              const others = form.scopes.filter((scope) => scope !== name)
              setForm({ ...form, scopes: isOn ? [...others, name] : others })
            }}
          >
            <span>
              <strong>{name}</strong> <span className="dim">{text}</span>
            </span>
          </Check>
        ))}
      </fieldset>
      <SelectField
        label="Ends"
        value={form.expiry}
        options={expiries}
        onText={(expiry) => setForm({ ...form, expiry })}
      />
    </ConfirmDialog>
  )
}
