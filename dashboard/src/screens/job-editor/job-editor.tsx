// The form of a job: its name, when it runs, its target; the request that will be sent, and the changes it makes.
import type { ChangedJob, JobDetails, JobRequest } from '@carillon/contract/job.ts'
import type { FieldError } from '@carillon/contract/problem.ts'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useMemo, useRef, useState } from 'react'
import { ApiProblem, api, send } from '../../api/client.ts'
import { useInvalidate } from '../../api/hooks.ts'
import { Button } from '../../components/button.tsx'
import { RequestExamples } from '../../components/confirm-action.tsx'
import { FieldErrors } from '../../components/field.tsx'
import { Card, ErrorBox, Page } from '../../components/page.tsx'
import { toast } from '../../components/toast.tsx'
import type { ApiRequest } from '../../lib/api-request.ts'
import { useKey } from '../../lib/keys.ts'
import { ChangeList } from '../job/change-list.tsx'
import { changesBetween } from '../job/diff.ts'
import { DependencyPicker } from './dependency-picker.tsx'
import { ExecutorFields } from './executor-fields.tsx'
import { type FormPartProps, JobFields } from './form-fields.tsx'
import {
  errorsLeft,
  formOfRequest,
  type JobForm,
  patchOf,
  readForm,
  requestOf,
  shortened,
} from './job-form.ts'
import { LimitsCard, RetryCard } from './policy-fields.tsx'
import { PreviewCard } from './preview-card.tsx'
import { rebase } from './rebase.ts'
import { ScheduleBuilder } from './schedule-builder.tsx'
import type { ScheduleForm } from './schedule-form.ts'
import './job-editor.css'

interface JobEditorProps {
  title: string
  /** Null: it is a new one. */
  job: JobDetails | null
  initial: JobForm
}

export function JobEditor({ title, job, initial }: JobEditorProps) {
  const [form, setForm] = useState(initial)
  const [base, setBase] = useState(job)
  const [isTried, setTried] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>(null)
  const [sent, setSent] = useState<JobRequest | null>(null)
  const navigate = useNavigate()
  const invalidate = useInvalidate()
  const element = useRef<HTMLFormElement>(null)
  const plan = useMemo(() => planOf(form, base), [form, base])
  const change = (part: Partial<JobForm>) => {
    setForm((before) => ({ ...before, ...part }))
  }
  const changeSchedule = (part: Partial<ScheduleForm>) => {
    setForm((before) => ({ ...before, schedule: { ...before.schedule, ...part } }))
  }
  // A refusal is about the request that was sent. Once the form changes, only its fields that stayed are still wrong.
  const current = sent === plan.request ? problem : null
  const isStale = current instanceof ApiProblem && current.status === 412
  const left =
    problem instanceof ApiProblem && sent !== null ? errorsLeft(problem.fields, sent, plan.request) : []
  const refused = left.map(atBuilderField(form))
  const errors = [...(isTried ? plan.errors : []), ...refused]

  const save = async () => {
    setTried(true)
    setProblem(null)
    if (plan.errors.length > 0) {
      focusFirstError(element.current)
      return
    }
    setBusy(true)
    setSent(plan.request)
    try {
      const saved = await send<ChangedJob>(plan.apiRequest)
      for (const warning of saved.warnings ?? []) toast(warning)
      toast(
        base === null ? `${saved.name} is created.` : `${saved.name} is changed: version ${saved.version}.`,
      )
      await invalidate('/jobs')
      void navigate({ to: '/jobs/$jobId', params: { jobId: saved.job_id } })
    } catch (error) {
      setProblem(error)
      setBusy(false)
      focusFirstError(element.current)
    }
  }
  useKey('mod+Enter', 'Save', () => void save())
  const takeNewest = (newest: JobDetails) => {
    if (base === null) return
    setForm(formOfRequest(rebase(requestOf(base), requestOf(newest), plan.request)))
    setBase(newest)
    setProblem(null)
    toast('Your changes are on top of the newest version now.')
  }
  const isUnchanged = base !== null && plan.changes.length === 0
  return (
    <Page title={title}>
      <FieldErrors value={errors}>
        <form
          ref={element}
          className="job-editor"
          aria-label={title}
          noValidate
          onSubmit={(event: FormEvent) => {
            event.preventDefault()
            void save()
          }}
        >
          <div className="editor-main">
            <AboutCard form={form} onChange={change} />
            <Card title="Schedule">
              <ScheduleBuilder
                form={form.schedule}
                onChange={changeSchedule}
                isNew={base === null}
                dependencies={
                  <DependencyPicker
                    value={form.dependsOn}
                    ownId={base?.job_id ?? null}
                    onChange={(dependsOn) => change({ dependsOn })}
                  />
                }
              />
            </Card>
            <Card title="Target">
              <ExecutorFields form={form} onChange={change} />
            </Card>
            <RetryCard form={form} onChange={change} />
            <LimitsCard form={form} onChange={change} />
            <Card title={base === null ? 'Request' : 'Changes'}>
              {base !== null && <ChangeList label="Changes" changes={plan.changes} />}
              {isTried && plan.errors.length > 0 && (
                <p className="field-error" role="alert">
                  Something above is not right yet:{' '}
                  {plan.errors.map(({ pointer }) => nameOf(pointer)).join(', ')}.
                </p>
              )}
              {isStale && base !== null && <StaleBox base={base} onTake={takeNewest} />}
              {current !== null && !isStale && <ErrorBox error={current} />}
              <RequestExamples apiRequest={plan.apiRequest} isOpen />
              <p className="editor-actions">
                <Button kind="primary" type="submit" busy={isBusy} disabled={isUnchanged}>
                  {base === null ? 'Create job' : 'Save changes'}
                </Button>
                <Button onClick={() => history.back()}>Cancel</Button>
              </p>
            </Card>
          </div>
          <aside className="editor-aside" aria-label="Preview">
            <PreviewCard form={form} jobId={base?.job_id ?? null} onChange={changeSchedule} />
          </aside>
        </form>
      </FieldErrors>
    </Page>
  )
}

function AboutCard(props: FormPartProps<JobForm>) {
  return (
    <Card title="Job">
      <JobFields {...props} fields={[{ name: 'name', label: 'Name' }]} />
      <JobFields
        {...props}
        isRow
        fields={[
          {
            name: 'tags',
            label: 'Tags',
            placeholder: 'reporting, finance',
            hint: 'Comma-separated.',
          },
          {
            name: 'key',
            label: 'Key',
            placeholder: 'nightly-report',
            hint: 'Your own unique name for programs, if you want one: a-z 0-9 . _ -',
          },
        ]}
      />
      <details>
        <summary>Description and metadata</summary>
        <JobFields
          {...props}
          fields={[
            { name: 'description', label: 'Description', rows: 2 },
            {
              name: 'metadata',
              label: 'Metadata',
              rows: 2,
              isCode: true,
              placeholder: 'team=data',
              hint: 'Yours; one NAME=VALUE a line.',
            },
          ]}
        />
      </details>
    </Card>
  )
}

function StaleBox({ base, onTake }: { base: JobDetails; onTake(newest: JobDetails): void }) {
  const [newest, setNewest] = useState<JobDetails | null>(null)
  const [error, setError] = useState<unknown>(null)
  const look = () => api.get<JobDetails>(`/jobs/${base.job_id}`).then(setNewest, setError)
  return (
    <div className="error-box" role="alert">
      <p>
        <strong>This job was changed while you were editing.</strong> You began with version {base.version}.
        Nothing of yours is lost, and nothing was saved.
      </p>
      {error !== null && <ErrorBox error={error} />}
      {newest === null ? (
        <Button onClick={() => void look()}>Show their changes</Button>
      ) : (
        <>
          <p>
            Version {newest.version}, by {newest.updated_by}:
          </p>
          <ChangeList
            label="Changes by others"
            changes={changesBetween(requestOf(base), requestOf(newest))}
          />
          <Button kind="primary" onClick={() => onTake(newest)}>
            Put my changes on top of version {newest.version}
          </Button>
        </>
      )}
    </div>
  )
}

function planOf(form: JobForm, base: JobDetails | null) {
  const { request, errors } = readForm(form)
  const document = (value: unknown) => `-f - <<'EOF'\n${JSON.stringify(value, null, 2)}\nEOF`
  if (base === null) {
    const body = shortened(request)
    const apiRequest: ApiRequest = {
      method: 'POST',
      path: '/jobs',
      body,
      cli: `jobs create ${document(body)}`,
    }
    return { request, errors, changes: [], apiRequest }
  }
  const before = requestOf(base)
  const { patch, errors: unsayable } = patchOf(before, request)
  const apiRequest: ApiRequest = {
    method: 'PATCH',
    path: `/jobs/${base.job_id}`,
    body: patch ?? {},
    ifMatch: base.version,
    cli: `jobs edit ${base.job_id} ${document(request)}`,
  }
  return { request, errors: [...errors, ...unsayable], changes: changesBetween(before, request), apiRequest }
}

/** The builder has fields of its own; an error of the server about the schedule belongs to the visible one. */
function atBuilderField(form: JobForm): (error: FieldError) => FieldError {
  const own = `/schedule#${form.schedule.kind}`
  const fields: readonly [RegExp, string][] = [
    [/^\/schedule(\/(cron_expression|interval|every_seconds|scheduled_time|type))?$/, own],
    [/^\/schedule\/exclusions/, '/schedule#exclusions'],
    [/^\/schedule\/max_runs$/, '/schedule#maxRuns'],
  ]
  return (error) => ({
    ...error,
    pointer: fields.find(([pattern]) => pattern.test(error.pointer))?.[1] ?? error.pointer,
  })
}

/** A field in a part that is folded away is opened first. */
function focusFirstError(form: HTMLFormElement | null): void {
  requestAnimationFrame(() => {
    const field = form?.querySelector<HTMLElement>('[aria-invalid]')
    field?.closest('details')?.setAttribute('open', '')
    field?.focus()
  })
}

function nameOf(pointer: string): string {
  return pointer.replace(/^\//, '').replaceAll(/[/#]/g, ' ').replaceAll('_', ' ')
}
