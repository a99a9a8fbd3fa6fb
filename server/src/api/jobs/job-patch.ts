// Applies a change to a job, before it is validated: the job in the form in which it could be sent, and a JSON merge
// patch (RFC 7396) applied to it.
import { EXECUTOR_FACTS, EXECUTORS, pairsOf } from '@carillon/contract/executors/list.ts'
import type { JobRequest } from '@carillon/contract/job.ts'
import { asGiven } from '../../domain/jobs/clock-rule.ts'
import { type Execution, type Executor, hasSchedule, type JobView } from '../../domain/jobs/job.ts'
import { checkCallbackUrl } from '../../lib/http/callback-url.ts'
import { isObject } from '../../lib/is-object.ts'
import { escapePointer, refuseField } from '../http/problem.ts'
import { Refusals } from '../http/refusals.ts'
import { hiddenValue, toShown } from './job-view.ts'

type Fields = Record<string, unknown>
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

/** The job as a request that would leave it as it is: values that are never read back are given as they are shown. */
function requestOf(job: JobView): JobRequest {
  const { execution, key, description, misfireWindowSeconds, concurrencyLimit, concurrencyKey } = job
  return {
    name: job.name,
    ...(key !== null && { key }),
    ...(description !== null && { description }),
    ...(hasSchedule(job) && { schedule: asGiven(job) }),
    depends_on: job.dependsOn.map(({ jobId, on }) => ({ job_id: jobId, on })),
    execution: hideValues(execution as FieldsGiven, execution.type),
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

function hideValues(execution: FieldsGiven, type: Executor): FieldsGiven {
  const hidden = { ...execution }
  for (const { name } of pairsOf(type)) {
    const pairs = execution[name]
    if (pairs !== undefined) hidden[name] = toShown(pairs)
  }
  return hidden
}

/**
 * A value that is given as it is shown stands for the one that is stored; null: nothing is. A stored value belongs to the
 * target that it was given for: a client that may write must not learn it by having it sent to another one.
 */
export function revealValues(request: JobRequest, stored: Execution | null): JobRequest {
  const execution = { ...request.execution }
  const refusals = new Refusals()
  const isMoved = stored !== null && hasOtherTarget(execution, stored as FieldsGiven)
  for (const field of EXECUTORS.flatMap(pairsOf)) {
    const given = execution[field.name]
    if (given === undefined) continue
    const known = knownOf(field, stored as FieldsGiven | null)
    const reveal = (name: string, value: string): string => {
      if (value !== hiddenValue) return value
      const kept = known.get(keyIn(field, name))
      if (kept !== undefined && !isMoved) return kept
      const pointer = `/execution/${field.name}/${escapePointer(name)}`
      refusals.add(refuseField(pointer, kept === undefined ? noneStored : storedForAnother))
      return value
    }
    execution[field.name] = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name, reveal(name, value)]),
    )
  }
  refusals.throwAny()
  return { ...request, execution }
}

const noneStored = `is ${hiddenValue}, which stands for a stored value; there is none, so send the value itself`
const storedForAnother = 'is stored for another target: send the value again, or null to remove it'

/** An address that is none is refused later, with its own error. */
function hasOtherTarget(given: FieldsGiven, stored: FieldsGiven): boolean {
  const type = given.type ?? 'http'
  if (type !== stored.type) return true
  const { target } = EXECUTOR_FACTS[type]
  const [now, before] = [String(given[target]), String(stored[target])]
  if (type !== 'http') return now !== before
  return checkCallbackUrl(now) === null && new URL(now).origin !== new URL(before).origin
}

function knownOf(field: Pairs, stored: FieldsGiven | null): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(stored?.[field.name] ?? {}).map(([name, value]) => [keyIn(field, name), value]),
  )
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

/** RFC 7396. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged: Fields = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name]
    else merged[name] = mergePatch(merged[name], value)
  }
  return merged
}
