// Applies a change to a job, before it is validated: the job in the form in which it could be sent, and a JSON merge
// patch (RFC 7396) applied to it.
import { EXECUTORS, pairsOf } from '@carillon/contract/executors/list.ts'
import type { JobRequest } from '@carillon/contract/job.ts'
import { asGiven } from '../../domain/jobs/clock-rule.ts'
import { type Execution, type Executor, hasSchedule, type JobView } from '../../domain/jobs/job.ts'
import { isObject } from '../../lib/is-object.ts'
import { escapePointer, refuseField } from '../http/problem.ts'
import { hiddenValue } from './job-view.ts'

type Fields = Record<string, unknown>
type Texts = Readonly<Record<string, string>>
type FieldsGiven = JobRequest['execution']
type Pairs = ReturnType<typeof pairsOf>[number]

/** Not validated yet: the patch may have removed parts that a job needs. */
export function applyPatch(job: JobView, patch: Fields): unknown {
  const current = requestOf(job)
  const { schedule, execution } = patch
  const base: Fields = { ...current }
  // Fields of another kind of schedule would only be in the way.
  if (replacesSchedule(schedule, job)) delete base['schedule']
  if (replacesExecution(execution, job)) delete base['execution']
  else if (isObject(execution))
    base['execution'] = withoutGiven(current.execution, execution, job.execution.type)
  return mergePatch(base, patch)
}

/** The job as a request that would make it, with the values that are not shown. */
function requestOf(job: JobView): JobRequest {
  const { execution, key, description, misfireWindowSeconds, concurrencyLimit, concurrencyKey } = job
  return {
    name: job.name,
    ...(key !== null && { key }),
    ...(description !== null && { description }),
    ...(hasSchedule(job) && { schedule: asGiven(job) }),
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
  const execution = { ...request.execution }
  for (const field of EXECUTORS.flatMap(pairsOf)) {
    const given = execution[field.name]
    if (given !== undefined) execution[field.name] = revealTexts(given, field, stored as FieldsGiven | null)
  }
  return { ...request, execution }
}

function revealTexts(given: Texts, field: Pairs, stored: FieldsGiven | null): Record<string, string> {
  const known = new Map(
    Object.entries(stored?.[field.name] ?? {}).map(([name, value]) => [keyIn(field, name), value]),
  )
  const revealed: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    const kept = value === hiddenValue ? known.get(keyIn(field, name)) : value
    if (kept === undefined) {
      const detail = `is ${hiddenValue}, which stands for a stored value; there is none, so send the value itself`
      throw refuseField(`/execution/${field.name}/${escapePointer(name)}`, detail)
    }
    revealed[name] = kept
  }
  return revealed
}

/** Header names are the same in any case. */
function keyIn({ ignoresCase }: Pairs, name: string): string {
  return ignoresCase ? name.toLowerCase() : name
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

/** A pair that is given replaces its like, also one with another spelling of the name. */
function withoutGiven(current: FieldsGiven, patch: Fields, type: Executor): FieldsGiven {
  const kept = { ...current }
  for (const field of pairsOf(type)) {
    const given = patch[field.name]
    if (!isObject(given)) continue
    const names = new Set(Object.keys(given).map((name) => keyIn(field, name)))
    const pairs = Object.entries(current[field.name] ?? {})
    kept[field.name] = Object.fromEntries(pairs.filter(([name]) => !names.has(keyIn(field, name))))
  }
  return kept
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
