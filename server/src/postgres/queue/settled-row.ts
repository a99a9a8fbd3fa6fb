// Attempts that a statement recorded by itself, as it returns them.
import type { SettledAttempt } from '../../domain/queue/attempt.ts'
import { executorOfRoute } from '../../domain/queue/route.ts'
import type { Columns } from '../connection/columns.ts'

export type SettledRow = Columns<Same> & { route: string }

type Same = Omit<SettledAttempt, 'executor' | 'outcome' | 'isFinal'>

export function toSettled(
  row: SettledRow,
  outcome: SettledAttempt['outcome'],
  isFinal = true,
): SettledAttempt {
  return {
    executionId: row.execution_id,
    attempt: row.attempt,
    kind: row.kind,
    // Derived from the route, not from the execution definition, which contains the payload.
    executor: executorOfRoute(row.route),
    outcome,
    isFinal,
    enqueuedAt: row.enqueued_at,
    recordedAt: row.recorded_at,
  }
}
