// What a change makes of a job, before it is judged: the job in the form in which it could be sent, and a JSON merge
// patch (RFC 7396) applied to it.
import type { JobRequest } from '@carillon/contract/job.ts'
import type { JobView } from '../domain/job.ts'
import { hiddenValue } from './job-shape.ts'
import { escapePointer, refuseField } from './problem.ts'

type Fields = Record<string, unknown>
type Headers = Readonly<Record<string, string>>

/** Not judged yet: the patch may have taken away what a job needs. */
export function applyPatch(job: JobView, patch: Fields): unknown {
  const current = requestOf(job)
  const { schedule, execution } = patch
  const base: Fields = { ...current }
  // What belongs to another kind of schedule would only be in the way.
  if (replacesSchedule(schedule, job)) delete base['schedule']
  if (isObject(execution) && isObject(execution['headers'])) {
    const headers = withoutNames(job.execution.headers, execution['headers'])
    base['execution'] = { ...current.execution, headers }
  }
  return mergePatch(base, patch)
}

/** The job as a request that would make it, with its header values. */
function requestOf(job: JobView): JobRequest {
  const { execution, key, description, misfireWindowSeconds, concurrencyLimit, concurrencyKey } = job
  return {
    name: job.name,
    ...(key !== null && { key }),
    ...(description !== null && { description }),
    schedule: { ...job.schedule },
    execution: {
      ...execution,
      method: execution.method as NonNullable<JobRequest['execution']['method']>,
      headers: { ...execution.headers },
    },
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

/** A header value that is given as it is shown stands for the one that is stored. */
export function revealHeaders(request: JobRequest, stored: Headers): JobRequest {
  const { headers } = request.execution
  if (headers === undefined || !Object.values(headers).includes(hiddenValue)) return request
  const known = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]))
  const revealed: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const kept = value === hiddenValue ? known.get(name.toLowerCase()) : value
    if (kept === undefined) {
      const pointer = `/execution/headers/${escapePointer(name)}`
      throw refuseField(
        pointer,
        `is ${hiddenValue}, which stands for a stored value; there is none, so send the value itself`,
      )
    }
    revealed[name] = kept
  }
  return { ...request, execution: { ...request.execution, headers: revealed } }
}

function replacesSchedule(schedule: unknown, { schedule: { type } }: JobView): boolean {
  if (schedule === undefined) return false
  if (!isObject(schedule)) return true
  return typeof schedule['type'] === 'string' && schedule['type'] !== type
}

/** Header names are the same in any case: one that is given replaces its like. */
function withoutNames(headers: Headers, given: Fields): Headers {
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
