// A question with a payload to edit, checked as JSON before it is sent.
import { useState } from 'react'
import { type ActionProps, ConfirmDialog } from '../../components/confirm-action.tsx'
import { TextField } from '../../components/field.tsx'
import type { ApiRequest } from '../../lib/api-request.ts'
import { checkJson } from './check-json.ts'

interface PayloadDialogProps<Reply> extends Omit<ActionProps<Reply>, 'apiRequest'> {
  /** To begin with. */
  payload: unknown
  /** Said while the payload is valid. */
  hint: string
  apiRequestOf(payload: unknown): ApiRequest
  onClose(): void
}

export function PayloadDialog<Reply>({ payload, hint, apiRequestOf, ...action }: PayloadDialogProps<Reply>) {
  const [text, setText] = useState(() => JSON.stringify(payload ?? {}, null, 2))
  const { value, error } = checkJson(text)
  return (
    <ConfirmDialog<Reply> {...action} apiRequest={apiRequestOf(value)} disabled={error !== null}>
      <TextField
        label="Payload"
        rows={14}
        isCode
        isSpoken
        error={error}
        hint={hint}
        value={text}
        onText={setText}
      />
    </ConfirmDialog>
  )
}
