// Ends overdue work that its worker has not ended: an attempt that awaits its target, or has a worker that does not
// keep the time; a silent attempt; an execution with attempts that took too long in all; a cancelled one that does not
// stop. The first write decides: a sign of life or an end in between wins.
import { type AttemptEnd, type AttemptError, endAttempt } from '../domain/queue/attempt.ts'
import { type EpochMs, epochMs } from '../lib/time/epoch.ts'
import type { Clock } from '../ports/clock.ts'
import type { Maintenance, Overdue } from '../ports/maintenance.ts'
import type { Random } from '../ports/random.ts'
import { attemptFinished } from '../telemetry/events.ts'

export interface TimeOutDeps {
  clock: Pick<Clock, 'databaseNow' | 'monotonicMs'>
  random: Random
  maintenance: Pick<Maintenance, 'findOverdue' | 'timeOut'>
  /** Called after a commit that ended something. */
  onTimedOut: (after: AfterTimeOut) => void
}

export interface AfterTimeOut {
  /** Some executions will be retried. */
  retries: boolean
  /** A worker held some of them and may stop them. */
  running: boolean
}

const overdueMax = 500
export const timeOutEveryMs = 1_000
/** A longer break between two looks counts as an outage. */
const lookMsMax = 5_000
/**
 * So long after an outage the executions of workers are left alone: they are reclaimed first if the worker died, else
 * it reports how they ended.
 */
const workersFirstMs = 20_000
/** So long after an outage targets may send the reports they could not send before. */
const targetsFirstMs = 5_000

/** Uninterrupted uptime of the store: during an outage workers and targets could not beat, complete or report. */
export class StoreUptime {
  #sinceMs: number | null = null
  #lookedMs = 0

  look(nowMs: number): number {
    if (this.#sinceMs === null || nowMs - this.#lookedMs > lookMsMax) this.#sinceMs = nowMs
    this.#lookedMs = nowMs
    return nowMs - this.#sinceMs
  }

  reset(): void {
    this.#sinceMs = null
  }
}

export async function timeOutOverdue(
  deps: TimeOutDeps,
  storeUptime: Pick<StoreUptime, 'look' | 'reset'>,
): Promise<'more' | 'idle'> {
  const { clock, random, maintenance } = deps
  const found = await findDue(deps, storeUptime)
  if (found.length === 0) return 'idle'
  const now = clock.databaseNow()
  const ends = found.map((one) => ({
    executionId: one.executionId,
    attempt: one.attempt,
    fence: one.fence,
    end: endOf(one, now, random.next()),
  }))
  const ended = new Set(await maintenance.timeOut(ends))
  const after: AfterTimeOut = { retries: false, running: false }
  found.forEach((one, index) => {
    if (!ended.has(one.executionId)) return
    const { end } = ends[index]!
    if (end.retryAt !== null) after.retries = true
    if (one.state === 'running') after.running = true
    emitAttemptFinished(one, end)
  })
  if (ended.size > 0) deps.onTimedOut(after)
  // Nothing ended: other schedulers are doing the same.
  return found.length === overdueMax && ended.size > 0 ? 'more' : 'idle'
}

async function findDue(
  { clock, maintenance }: TimeOutDeps,
  storeUptime: Pick<StoreUptime, 'look' | 'reset'>,
): Promise<Overdue[]> {
  let found: Overdue[]
  try {
    found = await maintenance.findOverdue(overdueMax)
  } catch (error) {
    storeUptime.reset()
    throw error
  }
  const calmMs = storeUptime.look(clock.monotonicMs())
  return found.filter(({ state }) => calmMs >= (state === 'running' ? workersFirstMs : targetsFirstMs))
}

function endOf(one: Overdue, now: EpochMs, random: number): AttemptEnd {
  const { attempt, losses, retryPolicy, totalDeadline, startedAt } = one
  const durationMs = startedAt === null ? null : Math.max(0, now - startedAt)
  const word = {
    startedAt,
    finishedAt: startedAt === null ? now : epochMs(startedAt + durationMs!),
    durationMs,
    // The target only answered that it accepted the call.
    httpStatus: one.state === 'awaiting' ? 202 : null,
    preview: null,
    error: errorOf(one),
  }
  if (one.cause === 'cancelled') return { ...word, outcome: 'cancelled', retryAt: null, deadReason: null }
  if (one.cause === 'total')
    return { ...word, outcome: 'timed_out', retryAt: null, deadReason: 'TOTAL_TIMEOUT' }
  return endAttempt(word, { attempt, losses, retryPolicy, totalDeadline, now, random })
}

function errorOf(one: Overdue): AttemptError {
  switch (one.cause) {
    case 'attempt':
      return { type: 'TIMEOUT', message: `took longer than ${one.timeoutSeconds} s` }
    case 'silent':
      return {
        type: 'HEARTBEAT_TIMEOUT',
        message: `nothing was heard of it for ${one.heartbeatTimeoutSeconds} s`,
      }
    case 'total':
      return {
        type: 'TIMEOUT',
        message: `all attempts together took longer than ${one.totalTimeoutSeconds} s`,
      }
    case 'cancelled':
      return { type: 'CANCELLED', message: 'It was cancelled and did not stop in time.' }
  }
}

function emitAttemptFinished(
  one: Overdue,
  { outcome, retryAt, deadReason, durationMs, finishedAt }: AttemptEnd,
): void {
  const { executionId, attempt, kind, executor, enqueuedAt } = one
  attemptFinished.emit({
    ...{ executionId, attempt, kind, executor, outcome, retryAt, deadReason, durationMs },
    // An attempt that exceeded its own time says nothing about our delay.
    delayMs: null,
    endToEndMs: finishedAt - enqueuedAt,
  })
}
