// Tells the rest of the program of attempts that ended without a word of their runner. To be called after the commit.
import type { SettledAttempt } from '../domain/queue/attempt.ts'
import { attemptFinished, executionsCancelled } from './events.ts'

export function emitSettled(attempts: readonly SettledAttempt[]): void {
  for (const one of attempts) {
    const { executionId, attempt, kind, executor, outcome, isFinal, enqueuedAt, recordedAt } = one
    attemptFinished.emit({
      ...{ executionId, attempt, kind, executor, outcome },
      retryAt: isFinal ? null : recordedAt,
      deadReason: isFinal && outcome === 'lost' ? 'WORKER_LOST' : null,
      // Nobody knows when its call began, if it did.
      delayMs: null,
      durationMs: null,
      endToEndMs: recordedAt - enqueuedAt,
    })
  }
}

/** The same for executions that were cancelled before they ran, which are also counted as cancellations. */
export function emitCancelled(attempts: readonly SettledAttempt[]): void {
  if (attempts.length > 0) executionsCancelled.emit({ executions: attempts.length })
  emitSettled(attempts)
}
