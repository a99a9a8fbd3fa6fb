// A job as it stands in a file: only explicit choices, without defaults and without fields that the server adds.
// `export` writes this form and `edit` opens it; sent as it is, it makes the same job.
import { executionDefaults } from '@carillon/contract/constants.ts'
import { pairsOf } from '@carillon/contract/executors/list.ts'
import { type Job, jobDefaults } from '@carillon/contract/job.ts'
import { retryDefaults } from '@carillon/contract/retry-policy.ts'

export type Document = Record<string, unknown>

/** Shown instead of the values of headers and variables; sent back, it keeps the stored one. */
export const hiddenValue = '***'

/** `keyOf`: how a job is named that it runs after; null: by its id. */
export function toDocument(job: Job, keyOf: (jobId: string) => string | null): Document {
  const { schedule, execution, retry_policy: retryPolicy } = job
  const { depends_on: parents } = job
  const document: Document = {
    key: job.key,
    name: job.name,
    description: job.description,
    schedule: schedule === null ? null : scheduleOf(schedule),
    depends_on: parents.length === 0 ? null : parents.map((parent) => parentOf(parent, keyOf)),
    execution: unlike(execution, executionDefaults),
    retry_policy: unlike(retryPolicy, retryDefaults),
    priority: job.priority,
    tags: job.tags,
    overlap_policy: job.overlap_policy,
    misfire_policy: job.misfire_policy,
    misfire_window_seconds: job.misfire_window_seconds,
    jitter_seconds: job.jitter_seconds,
    concurrency_limit: job.concurrency_limit,
    concurrency_key: job.concurrency_key,
    metadata: job.metadata,
  }
  const { timeout_seconds: _timeout, method: _method, type: _type, ...defaults } = jobDefaults
  return withoutEmpty(unlike(document, defaults))
}

function scheduleOf(schedule: NonNullable<Job['schedule']>): Document {
  const { runs: _runs, next_run_at: _next, last_run_at: _last, ...given } = schedule
  return given
}

function parentOf(
  { job_id: jobId, on }: Job['depends_on'][number],
  keyOf: (jobId: string) => string | null,
): Document {
  const key = keyOf(jobId)
  const named = key === null ? { job_id: jobId } : { key }
  return on === 'success' ? named : { ...named, on }
}

/** The fields that are not as they would be anyway. */
function unlike(part: Document, defaults: Document): Document {
  return Object.fromEntries(Object.entries(part).filter(([name, value]) => value !== defaults[name]))
}

// A payload of null or {} is a payload: only empty fields at the top level and empty lists of names are dropped.
function withoutEmpty(document: Document): Document {
  const isEmpty = (value: unknown) =>
    value === null ||
    value === undefined ||
    (Array.isArray(value) && value.length === 0) ||
    (typeof value === 'object' && Object.keys(value as object).length === 0)
  const kept = Object.fromEntries(Object.entries(document).filter(([, value]) => !isEmpty(value)))
  const execution = kept['execution'] as Document | undefined
  if (execution !== undefined) {
    kept['execution'] = Object.fromEntries(
      Object.entries(execution).filter(([name, value]) => name === 'payload' || !isEmpty(value)),
    )
  }
  return kept
}

/** Whether values are in it that the server does not tell. */
export function hasHidden({ execution }: Pick<Job, 'execution'>): boolean {
  return pairsOf(execution.type).some(({ name }) =>
    Object.values(execution[name] ?? {}).includes(hiddenValue),
  )
}
