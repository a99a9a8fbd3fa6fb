// Applies a change to a job, before it is validated: the job in the form in which it could be sent, and a JSON merge
// patch (RFC 7396) applied to it.
import type { JobRequest } from '@carillon/contract/job.ts'
import { type Execution, hasSchedule, type JobView } from '../../domain/jobs/job.ts'
import { escapePointer, refuseField } from '../http/problem.ts'
import { hiddenValue } from './job-view.ts'

type Fields = Record<string, unknown>
type Texts = Readonly<Record<string, string>>

/** Not validated yet: the patch may have removed parts that a job needs. */
export function applyPatch(job: JobView, patch: Fields): unknown {
  const current = requestOf(job)
  const { schedule, execution } = patch
  const base: Fields = { ...current }
  // Fields of another kind of schedule would only be in the way.
  if (replacesSchedule(schedule, job)) delete base['schedule']
  if (replacesExecution(execution, job)) delete base['execution']
  else if (isObject(execution) && isObject(execution['headers'])) {
    const headers = withoutNames(headersOf(job.execution), execution['headers'])
    base['execution'] = { ...current.execution, headers }
  }
  return mergePatch(base, patch)
}

/** The job as a request that would make it, with the values that are not shown. */
function requestOf(job: JobView): JobRequest {
  const { execution, key, description, misfireWindowSeconds, concurrencyLimit, concurrencyKey } = job
  return {
    name: job.name,
    ...(key !== null && { key }),
    ...(description !== null && { description }),
    ...(hasSchedule(job) && { schedule: { ...job.schedule } }),
    depends_on: job.dependsOn.map(({ jobId, on }) => ({ job_id: jobId, on })),
    execution: { ...execution } as JobRequest['execution'],
    retry_policy: { ...job.retryPolicy },
    priority: job.priority,
    tags: [...job.tags],
    overlap_policy: job.overlapPolicy,
    misfire_policy: job.misfirePolicy,
    ...(misfireWindowSeconds !== null && { misfire_window_seconds: misfireWindowSeconds }),
    jitter_seconds: job.jitterSeconds,
    ...(concurrencyLimit !== null && { concurrency_limit: concurrencyLimit }),
    ...(concurrencyKey !== null && { concurrency_key: { ...concurrencyKey } }),
    metadata: { ...job.metadata },
  }
}

/** A value that is given as it is shown stands for the one that is stored; null: nothing is. */
export function revealValues(request: JobRequest, stored: Execution | null): JobRequest {
  const { headers, env } = request.execution
  const execution = { ...request.execution }
  const known = new Map(Object.entries(headersOf(stored)).map(([name, value]) => [name.toLowerCase(), value]))
  if (headers !== undefined)
    execution.headers = revealTexts(headers, 'headers', (name) => known.get(name.toLowerCase()))
  const variables = new Map(Object.entries(stored?.type === 'shell' ? stored.env : {}))
  if (env !== undefined) execution.env = revealTexts(env, 'env', (name) => variables.get(name))
  return { ...request, execution }
}

function revealTexts(
  given: Texts,
  field: 'headers' | 'env',
  find: (name: string) => string | undefined,
): Record<string, string> {
  const revealed: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    const kept = value === hiddenValue ? find(name) : value
    if (kept === undefined) {
      const detail = `is ${hiddenValue}, which stands for a stored value; there is none, so send the value itself`
      throw refuseField(`/execution/${field}/${escapePointer(name)}`, detail)
    }
    revealed[name] = kept
  }
  return revealed
}

function headersOf(execution: Execution | null): Texts {
  return execution?.type === 'http' ? execution.headers : {}
}

function replacesSchedule(schedule: unknown, { schedule: { type } }: JobView): boolean {
  if (schedule === undefined) return false
  if (!isObject(schedule)) return true
  return typeof schedule['type'] === 'string' && schedule['type'] !== type
}

/** Fields of another type would only be in the way. */
function replacesExecution(execution: unknown, { execution: { type } }: JobView): boolean {
  return isObject(execution) && typeof execution['type'] === 'string' && execution['type'] !== type
}

/** Header names are the same in any case: one that is given replaces its like. */
function withoutNames(headers: Texts, given: Fields): Texts {
  const names = new Set(Object.keys(given).map((name) => name.toLowerCase()))
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase())))
}

function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged: Fields = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name]
    else merged[name] = mergePatch(merged[name], value)
  }
  return merged
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
