// How a job goes: by its executions that succeeded, failed or timed out, one after the other. A cancelled or skipped
// execution says nothing about that. Failing is a fact about executions; flaky is one about attempts: an execution succeeded
// that had to be retried.
import type { JobHealthWord } from '@carillon/contract/constants.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { Outcome } from '../queue/execution.ts'
import type { ErrorType } from '../queue/retry.ts'
import { type JobStatus, runsOnce, type StoredSchedule } from './job.ts'

export interface JobHealth {
  /** The latest execution, by its id, that succeeded, failed or timed out. */
  last: LastExecution
  /** Executions that failed or timed out in a row, up to the last one. */
  failures: number
  /** The end of the first of them. */
  failingSince: EpochMs | null
  /** The last time an execution succeeded that was attempted more than once. */
  recoveredAt: EpochMs | null
}

export interface LastExecution {
  executionId: string
  outcome: Outcome
  finishedAt: EpochMs
  httpStatus: number | null
  errorType: ErrorType | null
  /** The first characters of it. */
  errorMessage: string | null
}

/** The final attempt of an execution. */
export interface EndedExecution extends LastExecution {
  attempt: number
}

export const healthMessageLengthMax = 300

/** A job is called flaky for so long. */
export const flakyMs = dayMs

/** One execution more has ended. One that is older than the last known execution changes nothing. */
export function addEnded(health: JobHealth | null, ended: EndedExecution): JobHealth | null {
  const { attempt, ...last } = ended
  if (last.outcome === 'cancelled' || last.outcome === 'skipped') return health
  if (health !== null && last.executionId <= health.last.executionId) return health
  const recoveredAt = health?.recoveredAt ?? null
  if (last.outcome === 'succeeded') {
    return {
      last,
      failures: 0,
      failingSince: null,
      recoveredAt: attempt > 1 ? latest(last, recoveredAt) : recoveredAt,
    }
  }
  const since = health?.failingSince ?? last.finishedAt
  const failingSince = since < last.finishedAt ? since : last.finishedAt
  return { last, failures: (health?.failures ?? 0) + 1, failingSince, recoveredAt }
}

function latest({ finishedAt }: LastExecution, before: EpochMs | null): EpochMs {
  return before !== null && before > finishedAt ? before : finishedAt
}

interface Known {
  status: JobStatus
  schedule: StoredSchedule
}

/**
 * Null: nothing is known, or nothing more is expected of the job: it is deleted, or completed, unless it was to run once.
 * `countsAsFailing` of the SQL fragments is the same.
 */
export function healthOf(job: Known, health: JobHealth | null, now: EpochMs): JobHealthWord | null {
  if (health === null || job.status === 'DELETED') return null
  if (job.status === 'COMPLETED' && !runsOnce(job)) return null
  if (health.failures > 0) return 'FAILING'
  return health.recoveredAt !== null && health.recoveredAt > now - flakyMs ? 'FLAKY' : 'HEALTHY'
}

export function statusOfLast({ outcome }: LastExecution): 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' {
  if (outcome === 'succeeded') return 'SUCCEEDED'
  return outcome === 'timed_out' ? 'TIMED_OUT' : 'FAILED'
}
