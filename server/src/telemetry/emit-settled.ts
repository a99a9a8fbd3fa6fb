// Tells the rest of the program of attempts that ended without a word of their runner. To be called after the commit.
import type { SettledAttempt } from '../domain/queue/attempt.ts'
import { attemptFinished } from './events.ts'

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
