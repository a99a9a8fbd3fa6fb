// A retry with another payload, checked as JSON before it is sent.
import type { Execution, RetryReply } from '@carillon/contract/execution.ts'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { TextField } from '../../components/field.tsx'
import { checkJson } from './check-json.ts'

interface RetryWithEditsProps {
  execution: Execution
  onClose(): void
  onDone(reply: RetryReply): void
}

export function RetryWithEdits({ execution, onClose, onDone }: RetryWithEditsProps) {
  const [text, setText] = useState(() => JSON.stringify(execution.payload ?? {}, null, 2))
  const checked = checkJson(text)
  const path = `/executions/${execution.execution_id}/retry`
  const body = { payload_override: checked.value }
  return (
    <ConfirmDialog<RetryReply>
      title="Retry with another payload"
      verb="Retry"
      twin={{
        method: 'POST',
        path,
        body,
        cli: `executions retry ${execution.execution_id} --payload '${JSON.stringify(checked.value ?? null)}'`,
      }}
      disabled={checked.error !== null}
      done="A new execution was made."
      invalidates={['/executions']}
      onDone={onDone}
      onClose={onClose}
    >
      <TextField
        label="Payload"
        rows={14}
        isCode
        isSpoken
        error={checked.error}
        hint="Valid JSON. It runs the present version of the job."
        value={text}
        onText={setText}
      />
    </ConfirmDialog>
  )
}
