// When maintenance ends executions that nothing else ends, in memory.
import type { Execution } from '../../src/domain/jobs/job.ts'
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import type { Overdue } from '../../src/ports/maintenance.ts'
import type { LiveRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

/** Workers keep the time themselves: maintenance is the net below them. */
const netMs = 60_000
/** How long a cancelled attempt may take to stop. */
const cancelGraceMs = 30_000

/** As an attempt is claimed. The time of all attempts together begins with the first. */
export function deadlinesOf(
  store: MemoryStore,
  row: LiveRow,
): Pick<LiveRow, 'deadline' | 'silentAt' | 'totalDeadline'> {
  const { total_timeout_seconds: totalSeconds } = executionOf(store, row)
  const now = store.now()
  const total = totalSeconds === undefined ? null : epochMs(now + totalSeconds * 1_000)
  return {
    deadline: deadlineFrom(store, row, now),
    silentAt: silentAtOf(store, row),
    totalDeadline: row.totalDeadline ?? total,
  }
}

/** Of an attempt that started then. */
export function deadlineFrom(store: MemoryStore, row: LiveRow, startedAt: EpochMs): EpochMs {
  return epochMs(startedAt + executionOf(store, row).timeout_seconds * 1_000 + netMs)
}

/** When it has been silent for too long from now on; null: it may be silent. */
export function silentAtOf(store: MemoryStore, row: LiveRow): EpochMs | null {
  const { heartbeat_timeout_seconds: seconds } = executionOf(store, row)
  return seconds === undefined ? null : epochMs(store.now() + seconds * 1_000)
}

/** The deadline of an execution that was cancelled at this time, and would otherwise have this deadline. */
export function soonerForCancel(cancelledAt: EpochMs, deadline: EpochMs | null): EpochMs {
  return epochMs(Math.min(deadline ?? Number.POSITIVE_INFINITY, cancelledAt + cancelGraceMs))
}

/** The first of its deadlines; null: it has none. */
export function overdueAt({ deadline, silentAt, totalDeadline }: LiveRow): number | null {
  const first = Math.min(deadline ?? Infinity, silentAt ?? Infinity, totalDeadline ?? Infinity)
  return first === Infinity ? null : first
}

export function overdueOf(store: MemoryStore, row: LiveRow): Overdue {
  const { executionId, jobId, kind, enqueuedAt, state, attempt, losses, fence, startedAt, totalDeadline } =
    row
  const { execution, retryPolicy } = store.versionOf(row)
  return {
    executionId,
    jobId,
    kind,
    executor: execution.type,
    enqueuedAt,
    state,
    attempt,
    losses,
    fence,
    startedAt,
    cause: causeOf(row, store.now()),
    timeoutSeconds: execution.timeout_seconds,
    totalTimeoutSeconds: execution.total_timeout_seconds ?? null,
    heartbeatTimeoutSeconds: execution.heartbeat_timeout_seconds ?? null,
    totalDeadline,
    retryPolicy,
  }
}

function causeOf({ cancelledAt, totalDeadline, silentAt }: LiveRow, now: EpochMs): Overdue['cause'] {
  if (cancelledAt !== null) return 'cancelled'
  if (totalDeadline !== null && totalDeadline <= now) return 'total'
  return silentAt !== null && silentAt <= now ? 'silent' : 'attempt'
}

function executionOf(store: MemoryStore, row: LiveRow): Execution {
  return store.versionOf(row).execution
}
