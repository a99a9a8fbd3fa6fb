// An attempt that runs on this machine: by a handler, a command or an artifact. The executor only runs and stops; here
// the time is kept, and the reason for a stop decides how the attempt ends.
import assert from 'node:assert/strict'
import type { Executor } from '../domain/jobs/job.ts'
import {
  type AttemptEnd,
  type AttemptError,
  endAttempt,
  messageLengthMax,
  type Usage,
} from '../domain/queue/attempt.ts'
import { idempotencyKeyOf } from '../domain/queue/execution.ts'
import { jsonOrText } from '../lib/json-or-text.ts'
import type { StopSignal } from '../lib/stop.ts'
import { storable } from '../lib/storable.ts'
import { type EpochMs, epochMs } from '../lib/time/epoch.ts'
import type { ExecutorResult, LocalCall, LocalExecutor } from '../ports/executor.ts'
import type { Timer } from '../ports/timers.ts'
import type { World } from '../ports/world.ts'
import type { AttemptUpdates } from './attempt-updates.ts'
import { endCancelled, type HeldExecution, timeoutMsOf } from './held-execution.ts'
import type { Ran } from './in-flight.ts'
import type { PreparedLocal } from './prepare.ts'

export type LocalExecutors = Partial<Record<Executor, LocalExecutor>>

export interface LocalDeps extends Pick<World, 'clock' | 'timers' | 'random'> {
  executors: LocalExecutors
  updates: Pick<AttemptUpdates, 'log' | 'update' | 'end'>
}

/** Time for an executor to stop; after that the attempt is over, even if it continues. */
export const stopMsMax = 30_000

/** An end of null: the attempt was stopped because it is no longer ours, and its end is not known. */
export async function runLocal(
  deps: LocalDeps,
  held: HeldExecution,
  prepared: PreparedLocal,
  signal: StopSignal,
): Promise<Ran> {
  const { clock } = deps
  const executor = deps.executors[prepared.executor]
  assert(executor !== undefined, `this worker claimed an execution of ${prepared.executor}`)
  const startedMs = clock.monotonicMs()
  const startedAt = clock.databaseNow()
  held.startedAt = startedAt
  const timeoutMs = timeoutMsOf(held, startedAt)
  const { result, isLate, usage } = await runUntil(deps, { executor, held, prepared, timeoutMs }, signal)
  deps.updates.end(held)
  const durationMs = Math.max(0, clock.monotonicMs() - startedMs)
  if (result !== null)
    return { end: endWith(deps, held, { result, startedAt, durationMs, usage }), outcome: null }
  if (held.cancelledMs !== null) return { end: endCancelled(startedAt, durationMs, usage), outcome: null }
  if (!isLate) return { end: null, outcome: null }
  const error: AttemptError = { type: 'TIMEOUT', message: `took longer than ${timeoutMs / 1_000} s` }
  return {
    end: endWith(deps, held, { result: { error, preview: null }, startedAt, durationMs, usage }),
    outcome: null,
  }
}

interface LocalRun {
  executor: LocalExecutor
  held: HeldExecution
  prepared: PreparedLocal
  timeoutMs: number
}

interface Run {
  /** Null: it was stopped. */
  result: ExecutorResult | null
  isLate: boolean
  usage: Usage | undefined
}

/** A result only from an executor that was not stopped. */
function runUntil(
  { timers, updates }: LocalDeps,
  { executor, held, prepared, timeoutMs }: LocalRun,
  signal: StopSignal,
): Promise<Run> {
  return new Promise((resolve) => {
    const stop = new AbortController()
    let isLate = false
    let usage: Usage | undefined
    let forced: Timer | null = null
    const end = (result: ExecutorResult | null) => {
      timer.cancel()
      forced?.cancel()
      signal.removeEventListener('abort', onAbort)
      resolve({ result, isLate, usage })
    }
    const stopIt = () => {
      if (stop.signal.aborted) return
      forced = timers.schedule(stopMsMax, () => end(null))
      stop.abort()
    }
    const onAbort = () => stopIt()
    const timer = timers.schedule(timeoutMs, () => {
      // An attempt that was cancelled before its time was over is cancelled, not timed out.
      isLate = !stop.signal.aborted
      stopIt()
    })
    signal.addEventListener('abort', onAbort)
    const context = {
      signal: stop.signal,
      log: updates.log.bind(updates, held),
      note: updates.update.bind(updates, held),
      used: (cpuMs: number) => {
        usage = { cpuMs }
      },
    }
    void executor
      .run(callOf(held, prepared, timeoutMs), context)
      .then((result) => end(stop.signal.aborted ? null : result))
  })
}

function callOf(held: HeldExecution, prepared: PreparedLocal, timeoutMs: number): LocalCall {
  const { executionId, jobId, kind, slot, attempt, checkpoint } = held
  return {
    execution: prepared.execution,
    tenantId: prepared.tenantId,
    jobId,
    jobName: prepared.jobName,
    executionId,
    kind,
    slot,
    attempt,
    idempotencyKey: held.idempotencyKey ?? idempotencyKeyOf(kind, { jobId, executionId, slot }),
    payload: held.bodyOverride ?? prepared.body,
    ...(checkpoint !== null && { checkpoint: checkpoint.value }),
    timeoutMs,
    runId: held.runId,
    parents: held.parents.map(({ result, ...parent }) =>
      result === null ? parent : { ...parent, result: jsonOrText(result) },
    ),
  }
}

interface EndedRun {
  result: ExecutorResult
  startedAt: EpochMs
  durationMs: number
  usage: Usage | undefined
}

function endWith(
  { clock, random }: LocalDeps,
  { attempt, losses, totalDeadline, prepared }: HeldExecution,
  { result, startedAt, durationMs, usage }: EndedRun,
): AttemptEnd {
  const { error, preview, isFinal = false, retryAfterMs = null } = result
  return endAttempt(
    {
      ...{ startedAt, durationMs, httpStatus: null, isFinal, retryAfterMs },
      finishedAt: epochMs(startedAt + durationMs),
      preview: preview === null ? null : storable(preview),
      ...(usage && { usage }),
      error: error && { ...error, message: storable(error.message.slice(0, messageLengthMax)) },
    },
    {
      ...{ attempt, losses, totalDeadline },
      retryPolicy: prepared.retryPolicy,
      now: clock.databaseNow(),
      random: random.next(),
    },
  )
}
