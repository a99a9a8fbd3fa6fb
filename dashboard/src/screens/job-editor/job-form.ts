// The form of a job without its looks: from the fields to the request of the API and back. Invalid values are reported
// with the same pointers that the server uses, so that both kinds of error appear in one place.
import { executionDefaults } from '@carillon/contract/constants.ts'
import { EXECUTORS, type Executor, type FieldName, fieldsOf } from '@carillon/contract/executors/list.ts'
import type { Job, JobRequest } from '@carillon/contract/job.ts'
import type { FieldError } from '@carillon/contract/problem.ts'
import { changesBetween, hasNullMember, mergePatch } from '../job/diff.ts'
import { readJson, writeJson } from '../jobs/json-text.ts'
import { blankSchedule, formOf, plainSchedule, type ScheduleForm, scheduleOf } from './schedule-form.ts'

/** The defaults of the server; equal values are left out of a new job. */
const defaults = {
  timeout: '300',
  maxRetries: '3',
  backoff: 'EXPONENTIAL',
  initialDelay: '1000',
  maxDelay: '60000',
  priority: '5',
  overlap: 'SKIP',
  misfire: 'FIRE_ONCE',
  jitter: '0',
} as const

const blankTexts = {
  ...defaults,
  name: '',
  key: '',
  description: '',
  tags: '',
  payload: '',
  totalTimeout: '',
  heartbeatTimeout: '',
  autoRedrive: '',
  misfireWindow: '',
  concurrencyLimit: '',
  concurrencyKey: '',
  concurrencyKeyLimit: '1',
  metadata: '',
}
export type TextName = keyof typeof blankTexts

export interface JobForm extends Record<TextName, string> {
  schedule: ScheduleForm
  /** The schedule that a job with dependencies also has, and does not fire by. */
  keptSchedule: JobRequest['schedule'] | null
  dependsOn: readonly { job_id: string; on: 'success' | 'completion' | 'failure' }[]
  executor: Executor
  /** The fields that belong to one kind of executor, of all kinds. */
  own: Record<FieldName, string>
}

export const blankJob: JobForm = {
  ...blankTexts,
  schedule: blankSchedule,
  keptSchedule: null,
  dependsOn: [],
  executor: executionDefaults.type,
  own: writeOwn({}),
}

/** A job as a request would make it: without fields that the server adds, and without empty ones. */
export function requestOf(job: Job): JobRequest {
  return {
    name: job.name,
    ...(job.key !== null && { key: job.key }),
    ...(job.description !== null && { description: job.description }),
    ...(job.schedule !== null && { schedule: plainSchedule(job.schedule) }),
    ...(job.depends_on.length > 0 && { depends_on: job.depends_on }),
    execution: withoutEmpty(job.execution),
    retry_policy: job.retry_policy,
    priority: job.priority,
    ...(job.tags.length > 0 && { tags: job.tags }),
    overlap_policy: job.overlap_policy,
    misfire_policy: job.misfire_policy,
    ...(job.misfire_window_seconds !== null && { misfire_window_seconds: job.misfire_window_seconds }),
    jitter_seconds: job.jitter_seconds,
    ...(job.concurrency_limit !== null && { concurrency_limit: job.concurrency_limit }),
    ...(job.concurrency_key !== null && { concurrency_key: job.concurrency_key }),
    ...(Object.keys(job.metadata).length > 0 && { metadata: job.metadata }),
  }
}

export function formOfRequest(request: JobRequest): JobForm {
  const { execution, retry_policy: retry = {} } = request
  const dependsOn = (request.depends_on ?? []).map(({ job_id, on = 'success' }) => ({ job_id, on }))
  const schedule = typeof request.schedule === 'object' ? formOf(request.schedule) : formOf(null)
  return {
    name: request.name,
    key: request.key ?? '',
    description: request.description ?? '',
    tags: (request.tags ?? []).join(', '),
    schedule:
      typeof request.schedule === 'string'
        ? { ...blankSchedule, kind: 'text', text: request.schedule }
        : { ...schedule, ...(dependsOn.length > 0 && { kind: 'after' }) },
    keptSchedule: dependsOn.length > 0 ? (request.schedule ?? null) : null,
    dependsOn,
    executor: execution.type ?? executionDefaults.type,
    own: writeOwn(execution),
    payload: writeJson(execution.payload),
    timeout: text(execution.timeout_seconds, defaults.timeout),
    totalTimeout: text(execution.total_timeout_seconds),
    heartbeatTimeout: text(execution.heartbeat_timeout_seconds),
    maxRetries: text(retry.max_retries, defaults.maxRetries),
    backoff: retry.backoff ?? defaults.backoff,
    initialDelay: text(retry.initial_delay_ms, defaults.initialDelay),
    maxDelay: text(retry.max_delay_ms, defaults.maxDelay),
    autoRedrive: text(retry.auto_redrive_after_seconds),
    priority: text(request.priority, defaults.priority),
    overlap: request.overlap_policy ?? defaults.overlap,
    misfire: request.misfire_policy ?? defaults.misfire,
    misfireWindow: text(request.misfire_window_seconds),
    jitter: text(request.jitter_seconds, defaults.jitter),
    concurrencyLimit: text(request.concurrency_limit),
    concurrencyKey: request.concurrency_key?.key ?? '',
    concurrencyKeyLimit: text(request.concurrency_key?.limit, '1'),
    metadata: linesOf(request.metadata, '='),
  }
}

function writeOwn(execution: JobRequest['execution']): JobForm['own'] {
  const own = EXECUTORS.flatMap(fieldsOf).map(([name, field]) => {
    const value = execution[name]
    if (field.shape === 'text') return [name, value ?? field.default ?? '']
    if (Array.isArray(value)) return [name, value.join(field.separator)]
    return [name, linesOf(value as Record<string, string> | undefined, field.separator)]
  })
  return Object.fromEntries(own)
}

export interface ReadJob {
  request: JobRequest
  errors: FieldError[]
}

/** The whole request, and the errors of the form. */
export function readForm(form: JobForm): ReadJob {
  const errors: FieldError[] = []
  const number = (value: string, pointer: string): number | undefined => {
    if (value.trim() === '') return undefined
    if (/^\d{1,12}$/.test(value.trim())) return Number(value)
    errors.push({ pointer, detail: 'must be a whole number' })
    return undefined
  }
  const pairs = (value: string, sign: string, pointer: string) => {
    const read = readLines(value, sign)
    if (read.error !== null) errors.push({ pointer, detail: read.error })
    return read.values
  }
  const read = scheduleOf(form.schedule)
  if (read.error !== null) errors.push({ pointer: `/schedule#${read.field}`, detail: read.error })
  const isAfter = form.schedule.kind === 'after'
  if (isAfter && form.dependsOn.length === 0) {
    errors.push({ pointer: '/depends_on', detail: 'Name the jobs that it runs after.' })
  }
  if (form.name.trim() === '') errors.push({ pointer: '/name', detail: 'A job needs a name.' })
  const tags = listOf(form.tags)
  const metadata = pairs(form.metadata, '=', '/metadata')
  const retry = '/retry_policy'
  const request = compact({
    name: form.name.trim(),
    key: form.key.trim(),
    description: form.description.trim(),
    schedule: (isAfter ? form.keptSchedule : read.schedule) ?? undefined,
    depends_on: isAfter ? form.dependsOn : undefined,
    execution: readExecution(form, errors, number, pairs),
    retry_policy: compact({
      max_retries: number(form.maxRetries, `${retry}/max_retries`),
      backoff: form.backoff,
      initial_delay_ms: number(form.initialDelay, `${retry}/initial_delay_ms`),
      max_delay_ms: number(form.maxDelay, `${retry}/max_delay_ms`),
      auto_redrive_after_seconds: number(form.autoRedrive, `${retry}/auto_redrive_after_seconds`),
    }),
    priority: number(form.priority, '/priority'),
    tags: tags.length === 0 ? undefined : tags,
    overlap_policy: form.overlap,
    misfire_policy: form.misfire,
    misfire_window_seconds: number(form.misfireWindow, '/misfire_window_seconds'),
    jitter_seconds: number(form.jitter, '/jitter_seconds'),
    concurrency_limit: number(form.concurrencyLimit, '/concurrency_limit'),
    concurrency_key:
      form.concurrencyKey.trim() === ''
        ? undefined
        : {
            key: form.concurrencyKey.trim(),
            limit: number(form.concurrencyKeyLimit, '/concurrency_key/limit'),
          },
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
  })
  return { request: request as unknown as JobRequest, errors }
}

type ReadNumber = (value: string, pointer: string) => number | undefined
type ReadPairs = (value: string, sign: string, pointer: string) => Record<string, string>

function readExecution(form: JobForm, errors: FieldError[], number: ReadNumber, pairs: ReadPairs) {
  const payload = readJson(form.payload)
  if (payload.error !== null) errors.push({ pointer: '/execution/payload', detail: payload.error })
  const own = fieldsOf(form.executor).map(([name, field]) => {
    const written = form.own[name]
    if (field.shape === 'pairs') return [name, pairs(written, field.separator, `/execution/${name}`)]
    if (field.shape === 'text') return [name, written.trim()]
    return [
      name,
      field.separator === '\n' ? written.split('\n').filter((line) => line !== '') : listOf(written),
    ]
  })
  return {
    type: form.executor,
    ...compact(withoutEmpty(Object.fromEntries(own))),
    ...(payload.value !== undefined && payload.error === null && { payload: payload.value }),
    ...compact({
      timeout_seconds: number(form.timeout, '/execution/timeout_seconds'),
      total_timeout_seconds: number(form.totalTimeout, '/execution/total_timeout_seconds'),
      heartbeat_timeout_seconds: number(form.heartbeatTimeout, '/execution/heartbeat_timeout_seconds'),
    }),
  }
}

/** A new job sends only fields that differ from the defaults. */
export function shortened(request: JobRequest): JobRequest {
  const usual = readForm({ ...blankJob, name: 'a' }).request
  const { execution, retry_policy, ...rest } = request
  const retry = differing(retry_policy ?? {}, usual.retry_policy ?? {})
  return {
    ...(differing(rest, usual, ['name', 'schedule']) as Omit<JobRequest, 'execution'>),
    execution: differing(execution, usual.execution, ['callback_url']),
    ...(Object.keys(retry).length > 0 && { retry_policy: retry }),
  }
}

/**
 * The merge patch that an edit sends; null: nothing changed. A value of another type replaces the old one as a whole.
 */
export function patchOf(
  before: JobRequest,
  after: JobRequest,
): { patch: object | null; errors: FieldError[] } {
  const patch = mergePatch(before, after) as Record<string, unknown> | undefined
  if (patch === undefined) return { patch: null, errors: [] }
  const typeOf = (part: unknown) => (part as { type?: string } | undefined)?.type
  for (const part of ['schedule', 'execution'] as const) {
    if (
      patch[part] !== undefined &&
      after[part] !== undefined &&
      typeOf(before[part]) !== typeOf(after[part])
    ) {
      patch[part] = after[part]
    }
  }
  const payload = after.execution.payload
  const isPayloadChanged = changesBetween(before.execution.payload, payload).length > 0
  const errors =
    isPayloadChanged && (payload === null || hasNullMember(payload))
      ? [
          {
            pointer: '/execution/payload',
            detail: 'An edit takes away what is null; give the job anew to send a null.',
          },
        ]
      : []
  return { patch, errors }
}

function differing<Value extends object>(value: Value, usual: object, always: readonly string[] = []): Value {
  const other = usual as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(value).filter(
      ([name, part]) => always.includes(name) || changesBetween(part, other[name]).length > 0,
    ),
  ) as Value
}

function readLines(value: string, sign: string): { values: Record<string, string>; error: string | null } {
  const values: Record<string, string> = {}
  for (const line of value.split('\n')) {
    if (line.trim() === '') continue
    const at = line.indexOf(sign)
    if (at < 1) return { values, error: `"${line.trim()}" is not NAME${sign === ':' ? ': ' : sign}VALUE.` }
    values[line.slice(0, at).trim()] = line.slice(at + 1).trim()
  }
  return { values, error: null }
}

function linesOf(values: Record<string, string> | undefined, sign: string): string {
  return Object.entries(values ?? {})
    .map(([name, value]) => `${name}${sign === ':' ? ': ' : sign}${value}`)
    .join('\n')
}

function listOf(value: string): string[] {
  return [...new Set(value.split(',').map((part) => part.trim()))].filter((part) => part !== '')
}

function text(value: number | undefined, missing = ''): string {
  return value === undefined ? missing : String(value)
}

function compact<Value extends object>(value: Value): Partial<Value> {
  return Object.fromEntries(
    Object.entries(value).filter(([, part]) => part !== undefined && part !== ''),
  ) as Partial<Value>
}

/** Empty lists and objects of headers, labels and such say nothing. */
function withoutEmpty<Value extends object>(value: Value): Value {
  return Object.fromEntries(
    Object.entries(value).filter(
      ([name, part]) =>
        name === 'payload' || typeof part !== 'object' || part === null || Object.keys(part).length > 0,
    ),
  ) as Value
}
