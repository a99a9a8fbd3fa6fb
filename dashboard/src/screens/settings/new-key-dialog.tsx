// Asks for the name, the scopes and the end of a new API key.
import type { CreatedApiKey } from '@carillon/contract/api-key.ts'
import { useId, useState } from 'react'
import { api } from '../../api/client.ts'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { serverNow } from '../../lib/now.ts'
import { expiries, type KeyForm, keyFormError, keyRequestOf, scopes } from './key-form.ts'

interface NewKeyDialogProps {
  isOperator: boolean
  onClose(): void
  onMade(made: CreatedApiKey): void
}

export function NewKeyDialog({ isOperator, onClose, onMade }: NewKeyDialogProps) {
  const [form, setForm] = useState<KeyForm>({ name: '', scopes: ['read'], expiry: '', isOperator })
  const base = useId()
  const error = keyFormError(form)
  const body = keyRequestOf(form, serverNow())
  return (
    <ConfirmDialog
      title={isOperator ? 'New API key of operators' : 'New API key'}
      verb="Make it"
      twin={{ method: 'POST', path: '/api-keys', body }}
      disabled={error !== null}
      run={() => api.post<CreatedApiKey>('/api-keys', keyRequestOf(form, serverNow()))}
      done="The key is made."
      onDone={onMade}
      invalidates={['/api-keys']}
      onClose={onClose}
    >
      {isOperator && <p>It belongs to no tenant and acts for any, as far as its scopes go.</p>}
      <div className="field">
        <label htmlFor={`${base}-name`}>Name</label>
        <input
          id={`${base}-name`}
          className="input"
          maxLength={128}
          autoComplete="off"
          value={form.name}
          aria-describedby={`${base}-hint`}
          onChange={(event) => setForm({ ...form, name: event.target.value })}
        />
        <p id={`${base}-hint`} className="field-hint" role="status">
          {error ?? 'What it is for; need not be unique.'}
        </p>
      </div>
      <fieldset className="scope-list">
        <legend>Scopes</legend>
        {scopes.map(({ name, text }) => (
          <label key={name} className="check">
            <input
              type="checkbox"
              checked={form.scopes.includes(name)}
              onChange={({ target }) =>
                setForm({
                  ...form,
                  scopes: target.checked
                    ? [...form.scopes, name]
                    : form.scopes.filter((scope) => scope !== name),
                })
              }
            />
            <span>
              <strong>{name}</strong> <span className="dim">{text}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <div className="field">
        <label htmlFor={`${base}-end`}>Ends</label>
        <select
          id={`${base}-end`}
          className="input"
          value={form.expiry}
          onChange={(event) => setForm({ ...form, expiry: event.target.value })}
        >
          {expiries.map(({ value, name }) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </div>
    </ConfirmDialog>
  )
}
