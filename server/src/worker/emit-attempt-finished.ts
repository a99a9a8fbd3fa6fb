// Tells the rest of the program what came of an attempt, once.
import { dueAtOf } from '../domain/schedule/jitter.ts'
import type { Clock } from '../ports/clock.ts'
import { attemptFinished } from '../telemetry/events.ts'
import type { Task } from './held-execution.ts'

/** What is to be done after a write. */
export interface After {
  retries: boolean
  handedBack: boolean
}

/** Whatever the attempt said of itself. */
const asCancelled = { outcome: 'cancelled', retryAt: null, deadReason: null } as const

export function nothingAfter(): After {
  return { retries: false, handedBack: false }
}

export function tell(
  clock: Pick<Clock, 'databaseNow'>,
  task: Task,
  wasCancelled: boolean,
  after: After,
): void {
  const { executionId, end, kind, attempt, slot, prepared } = task
  const { outcome, retryAt, deadReason } = wasCancelled || end === null ? asCancelled : end
  if (retryAt !== null) after.retries = true
  const { jitterSeconds } = prepared
  const dueAt = kind === 'slot' ? dueAtOf({ jobId: task.jobId, jitterSeconds }, slot) : task.enqueuedAt
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
