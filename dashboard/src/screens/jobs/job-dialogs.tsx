// Actions on one job, from lists and from its own screen: run it now, pause it, resume it.
import type { JobState } from '@carillon/contract/job.ts'
import type { TriggerReply } from '@carillon/contract/trigger.ts'
import { useNavigate } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { api } from '../../api/client.ts'
import { ConfirmDialog } from '../../components/confirm-action.tsx'
import { serverNow } from '../../lib/now.ts'
import { quote } from '../../lib/twin.ts'
import { hourMs, minuteMs } from '../../lib/units.ts'
import { readJson, writeJson } from './json-text.ts'
import { Labelled } from './labelled.tsx'

export interface JobNamed {
  job_id: string
  name: string
}

interface DialogProps {
  job: JobNamed
  onClose(): void
}

/** `payload`: that of the job, to begin with. */
export function RunNowDialog({ job, payload, onClose }: DialogProps & { payload: unknown }) {
  const [isOwn, setOwn] = useState(false)
  const [text, setText] = useState(() => writeJson(payload))
  const navigate = useNavigate()
  const errorId = useId()
  const read = readJson(text)
  const error = isOwn ? (read.error ?? (read.value === undefined ? 'Write a payload.' : null)) : null
  const body = isOwn && error === null ? { payload_override: read.value } : {}
  const path = `/jobs/${job.job_id}/trigger`
  const cli = `jobs trigger ${job.job_id}`
  return (
    <ConfirmDialog
      title={`Run ${job.name} now`}
      verb="Run now"
      twin={{
        method: 'POST',
        path,
        body,
        cli: isOwn && error === null ? `${cli} --payload ${quote(JSON.stringify(read.value))}` : cli,
      }}
      disabled={error !== null}
      run={() => api.post<TriggerReply>(path, body)}
      done="It runs now."
      invalidates={['/jobs', '/executions']}
      onDone={({ execution_id }) =>
        void navigate({ to: '/executions/$executionId', params: { executionId: execution_id } })
      }
      onClose={onClose}
    >
      <p>One execution starts at once, whatever the schedule says; the next slots stay as they are.</p>
      <label>
        <input type="checkbox" checked={isOwn} onChange={(event) => setOwn(event.target.checked)} /> With
        another payload
      </label>
      {isOwn && (
        <div className="field">
          <label htmlFor={`${errorId}-payload`}>Payload (JSON)</label>
          <textarea
            id={`${errorId}-payload`}
            className="input code"
            spellCheck={false}
            value={text}
            aria-invalid={error !== null}
            aria-describedby={errorId}
            onChange={(event) => setText(event.target.value)}
          />
          <p id={errorId} className={error === null ? 'field-hint' : 'field-error'}>
            {error ?? 'It is valid JSON.'}
          </p>
        </div>
      )}
    </ConfirmDialog>
  )
}

const pauses = [
  { name: 'until somebody resumes it', ms: 0 },
  { name: 'for 1 hour', ms: hourMs },
  { name: 'for 8 hours', ms: 8 * hourMs },
  { name: 'for 1 day', ms: 24 * hourMs },
  { name: 'for 7 days', ms: 168 * hourMs },
]

/** How long and why; used for one job and for many. */
export function usePauseFields(): { body: { reason?: string; until?: string }; fields: React.ReactNode } {
  const [ms, setMs] = useState(0)
  const [at, setAt] = useState<string | null>(null)
  const [reason, setReason] = useState('')
  // Decided when it is chosen: the request that is shown is the one that is sent.
  const choose = (value: string) => {
    if (value === 'at') {
      setAt(localText(serverNow() + hourMs))
      return
    }
    setAt(null)
    setMs(Number(value))
  }
  const [chosenAt, setChosenAt] = useState(serverNow)
  const until = at !== null ? instantOf(at) : ms === 0 ? undefined : instantOf(chosenAt + ms)
  const body = {
    ...(reason.trim() !== '' && { reason: reason.trim() }),
    ...(until !== undefined && { until }),
  }
  const fields = (
    <>
      <Labelled label="How long">
        {(id) => (
          <select
            id={id}
            className="input"
            value={at === null ? ms : 'at'}
            onChange={(event) => {
              setChosenAt(serverNow())
              choose(event.target.value)
            }}
          >
            {pauses.map((pause) => (
              <option key={pause.ms} value={pause.ms}>
                {pause.name}
              </option>
            ))}
            <option value="at">until a time …</option>
          </select>
        )}
      </Labelled>
      {at !== null && (
        <Labelled label="Until (your local time)">
          {(id) => (
            <input
              id={id}
              type="datetime-local"
              className="input"
              value={at}
              onChange={(event) => setAt(event.target.value)}
            />
          )}
        </Labelled>
      )}
      <Labelled label="Reason, for those who wonder later">
        {(id) => (
          <input
            id={id}
            type="text"
            className="input"
            maxLength={1_024}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </Labelled>
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
    <ConfirmDialog
      title={`Pause ${job.name}`}
      verb="Pause it"
      twin={{ method: 'PATCH', path, body, cli: `jobs pause ${job.job_id}${options.join('')}` }}
      run={() => api.patch<JobState>(path, body)}
      done="It is paused."
      invalidates={['/jobs']}
      onClose={onClose}
    >
      <p>None of its slots fires; they are skipped and listed as paused. What runs goes on.</p>
      {fields}
    </ConfirmDialog>
  )
}

export function ResumeDialog({ job, onClose }: DialogProps) {
  const path = `/jobs/${job.job_id}/resume`
  return (
    <ConfirmDialog
      title={`Resume ${job.name}`}
      verb="Resume it"
      twin={{ method: 'PATCH', path, cli: `jobs resume ${job.job_id}` }}
      run={() => api.patch<JobState>(path, {})}
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
