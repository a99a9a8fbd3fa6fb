// Actions on one job, from lists and from its own screen: run it now, pause it, resume it.
import type { JobDetails, JobState } from '@carillon/contract/job.ts'
import type { TriggerReply } from '@carillon/contract/trigger.ts'
import { useState } from 'react'
import { useGet } from '../../api/hooks.ts'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Check, SelectField, TextField } from '../../components/field.tsx'
import { useOpenExecution } from '../../components/links.tsx'
import { Waiting } from '../../components/page.tsx'
import { quote } from '../../lib/api-request.ts'
import { serverNow } from '../../lib/now.ts'
import { hourMs, minuteMs } from '../../lib/units.ts'
import { readJson, writeJson } from './json-text.ts'

export interface JobNamed {
  job_id: string
  name: string
}

interface DialogProps {
  job: JobNamed
  onClose(): void
}

/** For a row of a list, which lacks the payload of its job. */
export function RunListedDialog({ job, onClose }: DialogProps) {
  const found = useGet<JobDetails>(`/jobs/${encodeURIComponent(job.job_id)}`)
  if (found.data !== undefined)
    return <RunNowDialog job={job} payload={found.data.execution.payload} onClose={onClose} />
  return (
    <Dialog title={`Run ${job.name} now`} onClose={onClose}>
      <Waiting found={found} />
    </Dialog>
  )
}

/** `payload`: that of the job, to begin with. */
export function RunNowDialog({ job, payload, onClose }: DialogProps & { payload: unknown }) {
  const [isOwn, setOwn] = useState(false)
  const [text, setText] = useState(() => writeJson(payload))
  const open = useOpenExecution()
  const read = readJson(text)
  const error = isOwn ? (read.error ?? (read.value === undefined ? 'Write a payload.' : null)) : null
  const body = isOwn && error === null ? { payload_override: read.value } : {}
  const path = `/jobs/${job.job_id}/trigger`
  const cli = `jobs trigger ${job.job_id}`
  return (
    <ConfirmDialog<TriggerReply>
      title={`Run ${job.name} now`}
      verb="Run now"
      apiRequest={{
        method: 'POST',
        path,
        body,
        cli: isOwn && error === null ? `${cli} --payload ${quote(JSON.stringify(read.value))}` : cli,
      }}
      disabled={error !== null}
      done="It runs now."
      invalidates={['/jobs', '/executions']}
      onDone={open}
      onClose={onClose}
    >
      <p>One execution starts at once, whatever the schedule says; the next slots stay as they are.</p>
      <Check isOn={isOwn} onChange={setOwn}>
        With another payload
      </Check>
      {isOwn && (
        <TextField
          label="Payload (JSON)"
          rows="tall"
          isCode
          value={text}
          error={error}
          hint="It is valid JSON."
          onText={setText}
        />
      )}
    </ConfirmDialog>
  )
}

const pauses = [
  { name: 'until somebody resumes it', value: '0' },
  { name: 'for 1 hour', value: String(hourMs) },
  { name: 'for 8 hours', value: String(8 * hourMs) },
  { name: 'for 1 day', value: String(24 * hourMs) },
  { name: 'for 7 days', value: String(168 * hourMs) },
  { name: 'until a time …', value: 'at' },
]

/** How long and why; used for one job and for many. */
export function usePauseFields(): { body: { reason?: string; until?: string }; fields: React.ReactNode } {
  const [ms, setMs] = useState(0)
  const [at, setAt] = useState<string | null>(null)
  const [reason, setReason] = useState('')
  const [chosenAt, setChosenAt] = useState(serverNow)
  // Decided when it is chosen: the request that is shown is the one that is sent.
  const choose = (value: string) => {
    setChosenAt(serverNow())
    setAt(value === 'at' ? localText(serverNow() + hourMs) : null)
    if (value !== 'at') setMs(Number(value))
  }
  const until = at !== null ? instantOf(at) : ms === 0 ? undefined : instantOf(chosenAt + ms)
  const body = {
    ...(reason.trim() !== '' && { reason: reason.trim() }),
    ...(until !== undefined && { until }),
  }
  const fields = (
    <>
      <SelectField
        label="How long"
        value={at === null ? String(ms) : 'at'}
        options={pauses}
        onText={choose}
      />
      {at !== null && (
        <TextField label="Until (your local time)" type="datetime-local" value={at} onText={setAt} />
      )}
      <TextField label="Reason (shown to your team)" maxLength={1_024} value={reason} onText={setReason} />
    </>
  )
  return { body, fields }
}

export function PauseDialog({ job, onClose }: DialogProps) {
  const { body, fields } = usePauseFields()
  const path = `/jobs/${job.job_id}/pause`
  const options = [
    body.until === undefined ? '' : ` --until ${body.until}`,
    body.reason === undefined ? '' : ` --reason ${quote(body.reason)}`,
  ]
  return (
    <ConfirmDialog<JobState>
      title={`Pause ${job.name}`}
      verb="Pause job"
      apiRequest={{ method: 'PATCH', path, body, cli: `jobs pause ${job.job_id}${options.join('')}` }}
      done="It is paused."
      invalidates={['/jobs']}
      onClose={onClose}
    >
      <p>No new runs start until you resume. Runs in progress finish.</p>
      {fields}
    </ConfirmDialog>
  )
}

export function ResumeDialog({ job, onClose }: DialogProps) {
  const path = `/jobs/${job.job_id}/resume`
  return (
    <ConfirmDialog<JobState>
      title={`Resume ${job.name}`}
      verb="Resume job"
      apiRequest={{ method: 'PATCH', path, cli: `jobs resume ${job.job_id}` }}
      done="It runs again."
      invalidates={['/jobs']}
      onClose={onClose}
    >
      <p>Its slots fire again from now on.</p>
    </ConfirmDialog>
  )
}

/** Of a field of type datetime-local, which has no zone: that of this browser. */
function localText(ms: number): string {
  const at = new Date(ms)
  return new Date(ms - at.getTimezoneOffset() * minuteMs).toISOString().slice(0, 16)
}

function instantOf(at: string | number): string | undefined {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? undefined : `${date.toISOString().slice(0, 19)}Z`
}
