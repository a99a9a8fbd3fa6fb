// The form of a job without its looks: from the fields to the request of the API and back. Invalid values are reported
// with the same pointers that the server uses, so that both kinds of error appear in one place.
import { type DependencyRule, executionDefaults } from '@carillon/contract/constants.ts'
import type { Field } from '@carillon/contract/executors/facts.ts'
import { EXECUTORS, type Executor, type FieldName, fieldsOf } from '@carillon/contract/executors/list.ts'
import type { Job, JobRequest } from '@carillon/contract/job.ts'
import type { FieldError } from '@carillon/contract/problem.ts'
import { changesBetween, hasNullMember, mergePatch, sameJson } from '../job/diff.ts'
import { readJson, writeJson } from '../jobs/json-text.ts'
import { blankSchedule, formOf, plainSchedule, type ScheduleForm, scheduleOf } from './schedule-form.ts'

/** Every text of the form: its place in the request, its format there, and its value when nothing is said. */
export const jobTexts = {
  name: text('/name'),
  key: text('/key'),
  description: text('/description'),
  payload: { pointer: '/execution/payload', format: 'json', usual: '' },
  timeout: number('/execution/timeout_seconds', '300'),
  totalTimeout: number('/execution/total_timeout_seconds'),
  heartbeatTimeout: number('/execution/heartbeat_timeout_seconds'),
  maxRetries: number('/retry_policy/max_retries', '3'),
  backoff: text('/retry_policy/backoff', 'EXPONENTIAL'),
  initialDelay: number('/retry_policy/initial_delay_ms', '1000'),
  maxDelay: number('/retry_policy/max_delay_ms', '60000'),
  autoRedrive: number('/retry_policy/auto_redrive_after_seconds'),
  priority: number('/priority', '5'),
  tags: { pointer: '/tags', format: 'list', usual: '' },
  overlap: text('/overlap_policy', 'SKIP'),
  misfire: text('/misfire_policy', 'FIRE_ONCE'),
  misfireWindow: number('/misfire_window_seconds'),
  jitter: number('/jitter_seconds', '0'),
  concurrencyLimit: number('/concurrency_limit'),
  concurrencyKey: text('/concurrency_key/key'),
  concurrencyKeyLimit: number('/concurrency_key/limit', '1'),
  metadata: { pointer: '/metadata', format: 'pairs', usual: '' },
} as const satisfies Record<string, { pointer: string; format: keyof typeof formats; usual: string }>

type JobTexts = Record<keyof typeof jobTexts, string>

export interface JobForm extends JobTexts {
  schedule: ScheduleForm
  /** The schedule that a job with dependencies also has, and does not fire by. */
  keptSchedule: JobRequest['schedule'] | null
  dependsOn: readonly { job_id: string; on: DependencyRule }[]
  executor: Executor
  /** The fields that belong to one kind of executor, of all kinds. */
  own: Record<FieldName, string>
}

export const blankJob: JobForm = {
  ...textsOf(({ usual }) => usual),
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
  const dependsOn = (request.depends_on ?? []).map(({ job_id, on = 'success' }) => ({ job_id, on }))
  const schedule = typeof request.schedule === 'object' ? formOf(request.schedule) : formOf(null)
  return {
    ...textsOf(({ pointer, format, usual }) => {
      const value = valueAt(request, pointer)
      return value === undefined ? usual : formats[format].write(value as never)
    }),
    schedule:
      typeof request.schedule === 'string'
        ? { ...blankSchedule, kind: 'text', text: request.schedule }
        : { ...schedule, ...(dependsOn.length > 0 && { kind: 'after' }) },
    keptSchedule: dependsOn.length > 0 ? (request.schedule ?? null) : null,
    dependsOn,
    executor: request.execution.type ?? executionDefaults.type,
    own: writeOwn(request.execution),
  }
}

function writeOwn(execution: JobRequest['execution']): JobForm['own'] {
  const own = EXECUTORS.flatMap(fieldsOf).map(([name, field]) => {
    const value = execution[name]
    if (value !== undefined) return [name, formatOf(field).write(value as never)]
    return [name, (field.shape === 'text' && field.default) || '']
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
  const read = scheduleOf(form.schedule)
  if (read.error !== null) errors.push({ pointer: `/schedule#${read.field}`, detail: read.error })
  const isAfter = form.schedule.kind === 'after'
  if (isAfter && form.dependsOn.length === 0) {
    errors.push({ pointer: '/depends_on', detail: 'Name the jobs that it runs after.' })
  }
  if (form.name.trim() === '') errors.push({ pointer: '/name', detail: 'A job needs a name.' })
  const payload = readJson(form.payload)
  if (payload.error !== null) errors.push({ pointer: '/execution/payload', detail: payload.error })
  const own = fieldsOf(form.executor).map(([name, field]) => {
    const wrong = (detail: string) => errors.push({ pointer: `/execution/${name}`, detail })
    const value = formatOf(field).read(form.own[name], wrong)
    if (field.isRequired && value === undefined) wrong(`${field.input.label} is missing.`)
    else if (name === 'callback_url' && !isAddress(value))
      wrong('A full address is needed, such as https://example.com/hook.')
    return [name, value] as const
  })
  const request: Record<string, unknown> = {
    name: undefined,
    key: undefined,
    description: undefined,
    schedule: (isAfter ? form.keptSchedule : read.schedule) ?? undefined,
    depends_on: isAfter ? form.dependsOn : undefined,
    execution: { type: form.executor, ...said(own) },
  }
  for (const [name, { pointer, format }] of Object.entries(jobTexts)) {
    // The limit of a key that is not named stays in the form.
    if (name === 'concurrencyKeyLimit' && form.concurrencyKey.trim() === '') continue
    const value = formats[format].read(form[name as keyof JobTexts], (detail) =>
      errors.push({ pointer, detail }),
    )
    if (value !== undefined) putAt(request, pointer, value)
  }
  return { request: said(Object.entries(request)) as unknown as JobRequest, errors }
}

/** The server judges the rest of it; without this the first refusal would come after all others are mended. */
function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value)
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
            detail: 'An edit removes a field that is null; give the job anew to send a null.',
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

type Wrong = (detail: string) => void

/** Between a text of the form and a value of the request; undefined: nothing is said. */
const formats = {
  text: { write: (value: string) => value, read: (text: string) => text.trim() || undefined },
  number: {
    write: (value: number) => String(value),
    read(text: string, wrong: Wrong) {
      if (text.trim() === '') return undefined
      if (/^\d{1,12}$/.test(text.trim())) return Number(text)
      wrong('must be a whole number')
      return undefined
    },
  },
  list: {
    write: (values: readonly string[]) => values.join(', '),
    read: (text: string) =>
      unlessEmpty([...new Set(text.split(',').map((part) => part.trim()))].filter(Boolean)),
  },
  lines: {
    write: (values: readonly string[]) => values.join('\n'),
    read: (text: string) => unlessEmpty(text.split('\n').filter((line) => line !== '')),
  },
  pairs: pairs('='),
  headers: pairs(': '),
  json: {
    write: writeJson,
    read(text: string) {
      const { value, error } = readJson(text)
      return error === null ? value : undefined
    },
  },
}

function formatOf(field: Field) {
  if (field.shape === 'text') return formats.text
  if (field.shape === 'list') return field.separator === '\n' ? formats.lines : formats.list
  return field.separator === ':' ? formats.headers : formats.pairs
}

/** One NAME and VALUE a line, with the sign between them. */
function pairs(sign: string) {
  return {
    write: (values: Record<string, string>) =>
      Object.entries(values)
        .map(([name, value]) => `${name}${sign}${value}`)
        .join('\n'),
    read(text: string, wrong: Wrong) {
      const values: Record<string, string> = {}
      for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
        const at = line.indexOf(sign.trim())
        if (at < 1) {
          wrong(`"${line.trim()}" is not NAME${sign}VALUE.`)
          break
        }
        values[line.slice(0, at).trim()] = line.slice(at + 1).trim()
      }
      return unlessEmpty(values)
    },
  }
}

function text(pointer: string, usual = '') {
  return { pointer, format: 'text', usual } as const
}

function number(pointer: string, usual = '') {
  return { pointer, format: 'number', usual } as const
}

function textsOf(textOf: (about: (typeof jobTexts)[keyof JobTexts]) => string): JobTexts {
  const texts = Object.entries(jobTexts).map(([name, about]) => [name, textOf(about)])
  return Object.fromEntries(texts) as JobTexts
}

/** The errors of a refused request that are still to be corrected: of fields that have the same value in the form now. */
export function errorsLeft(
  errors: readonly FieldError[],
  sent: JobRequest,
  now: JobRequest,
): readonly FieldError[] {
  return errors.filter(({ pointer }) => {
    const place = fieldOf(pointer)
    return sameJson(valueAt(sent, place), valueAt(now, place))
  })
}

/** The pointer to the field of the form with this place: `/tags` of `/tags/3`. A schedule is one field. */
function fieldOf(pointer: string): string {
  return /^\/(execution|retry_policy|concurrency_key)\/[^/]*|^\/[^/]*/.exec(pointer)?.[0] ?? '/'
}

function valueAt(request: object, pointer: string): unknown {
  const names = pointer.slice(1).split('/')
  return names.reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], request)
}

function putAt(request: Record<string, unknown>, pointer: string, value: unknown): void {
  const [name, inner] = pointer.slice(1).split('/') as [string, string?]
  request[name] = inner === undefined ? value : { ...(request[name] as object), [inner]: value }
}

function said(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function unlessEmpty<Value extends object>(value: Value): Value | undefined {
  return Object.keys(value).length === 0 ? undefined : value
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
