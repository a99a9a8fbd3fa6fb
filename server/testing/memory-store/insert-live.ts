// A row of `live` as it begins: ready unless said otherwise, unclaimed, no attempt spent.
import { isLimited, type JobVersion } from '../../src/domain/jobs/job.ts'
import type { LiveRow } from './rows.ts'

type Identity = 'executionId' | 'jobId' | 'version' | 'tenantId' | 'kind' | 'slot'
type Place = 'route' | 'lane' | 'priority' | 'enqueuedAt' | 'rank'

export function makeLive(given: Pick<LiveRow, Identity | Place> & Partial<LiveRow>): LiveRow {
  return {
    state: 'ready',
    readyAt: null,
    fence: 0,
    attempt: 0,
    losses: 0,
    host: null,
    skipAt: null,
    idempotencyKey: null,
    retryOf: null,
    concurrencyKey: null,
    operationId: null,
    runId: null,
    cancelledAt: null,
    cancelMessage: null,
    ...atRest,
    totalDeadline: null,
    ...given,
  }
}

/** Fields that belong to an attempt alone: they are cleared once the attempt is over. */
export const atRest = {
  workerId: null,
  callerId: null,
  startedAt: null,
  deadline: null,
  silentAt: null,
  heardAt: null,
  progress: null,
  progressText: null,
} as const

/** Whether an execution of this version that is made now may go at once; `isFree`: nothing of the job is in its way. */
export function entryState(
  version: JobVersion,
  { isFree }: { isFree: boolean },
): Pick<LiveRow, 'state' | 'concurrencyKey'> {
  const goes = !isLimited(version) && (version.overlapPolicy === 'ALLOW' || isFree)
  return { state: goes ? 'ready' : 'waiting', concurrencyKey: version.concurrencyKey }
}
