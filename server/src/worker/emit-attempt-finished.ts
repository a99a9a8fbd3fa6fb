// Emits the end of an attempt to the rest of the program, once.
import { dueAtOf } from '../domain/schedule/jitter.ts'
import { madeAtOf } from '../lib/id.ts'
import { type EpochMs, epochMs } from '../lib/time/epoch.ts'
import type { Clock } from '../ports/clock.ts'
import { attemptFinished } from '../telemetry/events.ts'
import type { HeldExecution } from './held-execution.ts'

/** The work that follows from a write: retries to plan, executions that can be claimed again. */
export interface After {
  retries: boolean
  handedBack: boolean
}

/** For a cancelled execution, however its attempt ended. */
const asCancelled = { outcome: 'cancelled', retryAt: null, deadReason: null } as const

export function nothingAfter(): After {
  return { retries: false, handedBack: false }
}

export function emitAttemptFinished(
  clock: Pick<Clock, 'databaseNow'>,
  held: HeldExecution,
  wasCancelled: boolean,
  after: After,
): void {
  const { executionId, end, kind, attempt, prepared } = held
  const { outcome, retryAt, deadReason } = wasCancelled || end === null ? asCancelled : end
  if (retryAt !== null) after.retries = true
  const dueAt = kind === 'slot' ? slotDueAt(held) : held.enqueuedAt
  const startedAt = attempt === 1 && end !== null ? end.startedAt : null
  attemptFinished.emit({
    executionId,
    attempt,
    kind,
    executor: prepared.executor,
    outcome,
    retryAt,
    deadReason,
    delayMs: startedAt === null ? null : startedAt - dueAt,
    endToEndMs: (end?.finishedAt ?? clock.databaseNow()) - dueAt,
    durationMs: end?.durationMs ?? null,
  })
}

/** A job may be created for a time that has passed, and is due then; an immediate one has the second of its creation. */
function slotDueAt({ jobId, slot, prepared: { jitterSeconds } }: HeldExecution): EpochMs {
  return epochMs(Math.max(dueAtOf({ jobId, jitterSeconds }, slot), madeAtOf(jobId)))
}
