// The meaning of the schedule, while it is written: a sentence, the next slots, and warnings.
import type { FieldError } from '@carillon/contract/problem.ts'
import type { SchedulePreviewRequest } from '@carillon/contract/schedule.ts'
import { ApiProblem } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Card, ErrorBox, Loading } from '../../components/page.tsx'
import { Sentence } from '../../components/sentence.tsx'
import type { JobForm } from './job-form.ts'
import { NextRuns, Warnings } from './next-runs.tsx'
import { formOf, type ScheduleForm, scheduleOf } from './schedule-form.ts'
import { usePreview } from './use-preview.ts'

interface PreviewProps {
  form: JobForm
  jobId: string | null
  onChange(change: Partial<ScheduleForm>): void
}

export function PreviewCard({ form, jobId, onChange }: PreviewProps) {
  const read = scheduleOf(form.schedule)
  const { kind } = form.schedule
  const jitter = /^\d{1,5}$/.test(form.jitter.trim()) ? Number(form.jitter) : 0
  const request: SchedulePreviewRequest | null =
    read.schedule === null || read.schedule === undefined || kind === 'now'
      ? null
      : {
          schedule: read.schedule,
          count: 10,
          ...(jobId !== null && { job_id: jobId }),
          ...(jitter > 0 && { jitter_seconds: jitter }),
        }
  const found = usePreview(request, { isTyped: true })
  const preview = found.error === null ? found.data : undefined
  const understood = preview?.schedule
  return (
    <Card title="Preview" className="preview-card">
      <div aria-live="polite" aria-busy={!found.isSettled || found.isFetching}>
        {kind === 'after' && <p>It runs after other jobs, and has no slots of its own.</p>}
        {kind === 'now' && <p>It runs once, as soon as it is created.</p>}
        {read.error !== null && <p className="field-error">{read.error}</p>}
        {request !== null && found.isPending && <Loading label="Asking" />}
        {request !== null && found.error !== null && (
          <ScheduleErrors error={found.error} kind={kind} onChange={onChange} />
        )}
        {request !== null && preview !== undefined && (
          <>
            <p className="preview-sentence">
              <Sentence text={preview.description} />
            </p>
            <NextRuns preview={preview} request={request} />
            <Warnings warnings={preview.warnings} />
          </>
        )}
      </div>
      {kind === 'text' && understood !== undefined && (
        <p>
          <Button kind="quiet" icon="edit" onClick={() => onChange(formOf(understood))}>
            Go on with it in the builder
          </Button>
        </p>
      )}
    </Card>
  )
}

interface ScheduleErrorsProps {
  error: unknown
  kind: ScheduleForm['kind']
  onChange(change: Partial<ScheduleForm>): void
}

function ScheduleErrors({ error, kind, onChange }: ScheduleErrorsProps) {
  if (!(error instanceof ApiProblem) || error.fields.length === 0) return <ErrorBox error={error} />
  const field = kind === 'text' || kind === 'cron' || kind === 'interval' ? kind : undefined
  return (
    <ul className="schedule-errors" aria-label="Mistakes">
      {error.fields.map((one: FieldError) => (
        <li key={one.pointer + one.detail}>
          <span className="field-error">{one.detail}</span>
          {field !== undefined &&
            (one.suggestions ?? []).map((suggestion) => (
              <Button key={suggestion} onClick={() => onChange({ [field]: suggestion })}>
                {suggestion}
              </Button>
            ))}
        </li>
      ))}
    </ul>
  )
}
